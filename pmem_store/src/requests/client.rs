//! The client of a request to the process that writes.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use super::Request;
use super::lease::Lease;
use super::record::{Answer, REQUESTS_DIR, RequestFile, encode, read_record};
use crate::backup_report::BackupProgress;
use crate::error::{Result, StoreError};

/// The number of attempts to submit a request while the holder tidies up.
const ATTEMPTS: usize = 100;

/// A submitted request. Dropping it withdraws it: the holder stops its work, and a lease ends.
#[derive(Debug)]
pub struct PendingRequest {
    dir: PathBuf,
    id: String,
    /// Its lock shows the holder that a client waits.
    _lock: File,
}

/// The answer of the writing process so far.
#[derive(Debug)]
pub enum RequestState {
    Nothing,
    Taken(BackupProgress),
    Done(Answer),
}

impl PendingRequest {
    /// Submits a request to the process that has the store at `store` open for writing.
    pub fn submit(store: &Path, request: &Request) -> Result<PendingRequest> {
        let dir = store.join(REQUESTS_DIR);
        let failed = |error| StoreError::io("write a request in", &dir, error);
        let bytes = encode(request).map_err(failed)?;
        let mut attempts = 1;
        loop {
            match try_submit(store, &dir, &bytes) {
                // The holder removes an empty directory, and a file that is not locked yet looks like the remains of a dead client.
                Err(error) if is_tidied(&error) && store.is_dir() && attempts < ATTEMPTS => attempts += 1,
                result => return result.map_err(failed),
            }
        }
    }

    pub fn look(&self) -> Result<RequestState> {
        let done = RequestFile::Done.path(&self.dir, &self.id);
        match read_record(&done) {
            Ok(answer) => return Ok(RequestState::Done(answer)),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(StoreError::io("read", done, error)),
        }
        let path = RequestFile::Taken.path(&self.dir, &self.id);
        match read_record(&path) {
            Ok(progress) => Ok(RequestState::Taken(progress)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(RequestState::Nothing),
            // The file exists, and that is what matters.
            Err(_) => Ok(RequestState::Taken(BackupProgress::default())),
        }
    }

    /// The lease that the answer gives. It ends when it is dropped.
    pub fn into_lease(self, version: u64) -> Lease {
        Lease::new(self, version)
    }

    pub(super) fn catalog(&self) -> PathBuf {
        RequestFile::Catalog.path(&self.dir, &self.id)
    }
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        // The request goes first: a request without its answer would be executed.
        for kind in [RequestFile::Request, RequestFile::Taken, RequestFile::Done, RequestFile::Catalog] {
            let _ = fs::remove_file(kind.path(&self.dir, &self.id));
        }
        // It succeeds for the last request.
        let _ = fs::remove_dir(&self.dir);
    }
}

fn is_tidied(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::WouldBlock)
}

fn try_submit(store: &Path, dir: &Path, bytes: &[u8]) -> io::Result<PendingRequest> {
    match fs::create_dir(dir) {
        Ok(()) => give_directory_to_owner(dir, store),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    if !fs::symlink_metadata(dir)?.is_dir() {
        return Err(ErrorKind::NotADirectory.into());
    }
    let id = new_id();
    let new = RequestFile::New.path(dir, &id);
    let mut file = File::create_new(&new)?;
    let written = file.try_lock().map_err(io::Error::from).and_then(|()| file.write_all(bytes)).and_then(|()| {
        give_to_owner(&file, store);
        fs::rename(&new, RequestFile::Request.path(dir, &id))
    });
    written.inspect_err(|_| {
        let _ = fs::remove_file(&new);
        let _ = fs::remove_dir(dir);
    })?;
    Ok(PendingRequest { dir: dir.to_path_buf(), id, _lock: file })
}

/// If root submits a request, the holder must be able to read it and to answer. Otherwise the owner is right already.
///
/// Invariant: ownership is given only of what this process has created and has open. The path could lead to another file by now,
/// if the owner of the store puts a link in its place; nobody can move a directory of another user there.
fn give_to_owner(file: &File, store: &Path) {
    let (Ok(ours), Ok(theirs)) = (file.metadata(), fs::metadata(store)) else { return };
    if ours.uid() != theirs.uid() {
        let _ = fchown(file, Some(theirs.uid()), Some(theirs.gid()));
    }
}

fn give_directory_to_owner(dir: &Path, store: &Path) {
    let Ok(handle) = File::open(dir) else { return };
    // Opening follows a link; then the opened directory is not the one at the path itself.
    let inode = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
    if handle.metadata().map(inode).ok() == fs::symlink_metadata(dir).map(inode).ok() {
        give_to_owner(&handle, store);
    }
}

fn new_id() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_nanos());
    format!("{nanos:020}-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}
