//! The server side of requests: the process that has the store open for writing.

use std::collections::HashSet;
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::Request;
use super::record::{Answer, REQUESTS_DIR, RequestFile, decode, parse_name};
use crate::backup_report::BackupProgress;

/// The number of files that one look reads, besides those of answered requests.
const FILES_MAX: usize = 1_000;

/// The incoming requests. Nothing here fails: what cannot be read or written is logged once.
#[derive(Debug)]
pub struct Inbox {
    dir: PathBuf,
    /// The files that were logged already. It is cleared once there are no files.
    warned: HashSet<PathBuf>,
}

/// A request without an answer whose client still waits.
#[derive(Debug)]
pub struct OpenRequest {
    pub id: String,
    /// The request, or a sentence that says what is wrong with it.
    pub request: Result<Request, String>,
}

impl Inbox {
    pub fn new(store: &Path) -> Inbox {
        Inbox { dir: store.join(REQUESTS_DIR), warned: HashSet::new() }
    }

    /// All requests that wait, the oldest first; their clients learn that they were seen. It takes one system call if
    /// there are none.
    pub fn look(&mut self) -> Vec<OpenRequest> {
        let files = self.tidy();
        let mut waiting: Vec<OpenRequest> = Vec::new();
        for (id, _) in files.into_iter().filter(|(_, kind)| *kind == RequestFile::Request) {
            let is_there = |kind: RequestFile| kind.path(&self.dir, &id).exists();
            if is_there(RequestFile::Done) {
                continue;
            }
            if !is_there(RequestFile::Taken) {
                self.tell(&id, BackupProgress::default());
            }
            let request = decode(&RequestFile::Request.path(&self.dir, &id));
            waiting.push(OpenRequest { id, request });
        }
        waiting.sort_by(|a, b| a.id.cmp(&b.id));
        waiting
    }

    /// Reports the progress of a request.
    pub fn tell(&mut self, id: &str, progress: BackupProgress) {
        self.write(RequestFile::Taken, id, &progress);
    }

    /// Writes the answer; returns whether the client can read it.
    pub fn answer(&mut self, id: &str, answer: &Answer) -> bool {
        self.write(RequestFile::Done, id, answer)
    }

    /// Removes the answers of the previous holder, which are void.
    pub(super) fn forget_holder(&mut self) {
        for (id, kind) in self.tidy() {
            if kind == RequestFile::Taken {
                self.remove(&kind.path(&self.dir, &id));
            }
        }
    }

    /// The files of requests whose clients wait. All other files of requests are removed, and the directory with
    /// the last file; foreign files stay.
    fn tidy(&mut self) -> Vec<(String, RequestFile)> {
        let mut files = match self.files() {
            Ok(files) => files,
            Err(error) => {
                match error.kind() {
                    ErrorKind::NotFound => self.warned.clear(),
                    _ => self.warn_once(&self.dir.clone(), &error, "requests of other processes cannot be read"),
                }
                return Vec::new();
            }
        };
        let is_waited_for = |(id, kind): &&(String, RequestFile)| match kind {
            RequestFile::Request | RequestFile::New => is_locked(&kind.path(&self.dir, id)),
            _ => false,
        };
        let alive: HashSet<String> = files.iter().filter(is_waited_for).map(|(id, _)| id.clone()).collect();
        let is_dead = |(id, kind): &mut (String, RequestFile)| *kind == RequestFile::Unfinished || !alive.contains(id.as_str());
        for (id, kind) in files.extract_if(.., is_dead) {
            self.remove(&kind.path(&self.dir, &id));
        }
        if files.is_empty() {
            // It fails if there are other files.
            let _ = fs::remove_dir(&self.dir);
        }
        files
    }

    fn files(&self) -> io::Result<Vec<(String, RequestFile)>> {
        if !fs::symlink_metadata(&self.dir)?.is_dir() {
            return Err(ErrorKind::NotADirectory.into());
        }
        let names = fs::read_dir(&self.dir)?.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut files: Vec<_> = names.filter_map(|name| parse_name(&name).map(|(id, kind)| (id.to_string(), kind))).collect();
        // The files of one request stay together.
        files.sort_by(|a, b| a.0.cmp(&b.0));
        // A lease has its files for as long as it lives: many of them hide no new request.
        let done: HashSet<String> = files.iter().filter(|(_, kind)| *kind == RequestFile::Done).map(|(id, _)| id.clone()).collect();
        let cut = files.iter().filter(|(id, _)| !done.contains(id)).nth(FILES_MAX).map(|(id, _)| id.clone());
        files.retain(|(id, _)| cut.as_ref().is_none_or(|cut| id < cut));
        Ok(files)
    }

    fn write(&mut self, kind: RequestFile, id: &str, record: &impl Serialize) -> bool {
        let (new, path) = (RequestFile::Unfinished.path(&self.dir, id), kind.path(&self.dir, id));
        let written = serde_json::to_vec(record).map_err(io::Error::from);
        let written = written.and_then(|bytes| write_anew(&new, &bytes)).and_then(|()| fs::rename(&new, &path));
        match written {
            Ok(()) => true,
            Err(error) => {
                self.warn_once(&path, &error, "could not answer a request of another process");
                false
            }
        }
    }

    fn remove(&mut self, path: &Path) {
        match fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                self.warn_once(path, &error, "could not remove a request that nobody waits for")
            }
            _ => tracing::debug!(path = %path.display(), "removed of a request that nobody waits for"),
        }
    }

    fn warn_once(&mut self, path: &Path, error: &io::Error, what: &str) {
        if self.warned.insert(path.to_path_buf()) {
            tracing::warn!(path = %path.display(), %error, "{what}");
        }
    }
}

/// It follows no link, and waits for no reader at the other end of a pipe.
fn write_anew(path: &Path, bytes: &[u8]) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    File::create_new(path)?.write_all(bytes)
}

/// Whether its client waits. No client waits for what is not a file.
pub(super) fn is_locked(request: &Path) -> bool {
    if !fs::symlink_metadata(request).is_ok_and(|metadata| metadata.is_file()) {
        return false;
    }
    match File::open(request).map(|file| file.try_lock_shared()) {
        Ok(Ok(())) => false,
        Ok(Err(TryLockError::WouldBlock)) => true,
        // It is unknown whether the client waits. An answer that the request cannot be read is better than no answer.
        Ok(Err(TryLockError::Error(_))) => true,
        // So it is if this process may not read it, or has no file descriptor left: its files must not be removed.
        Err(error) => error.kind() != ErrorKind::NotFound,
    }
}
