//! One writer or many readers per store, and an error that names the process in the way.
//!
//! The file `lock` in the store's directory is locked with flock(2), which the kernel releases
//! however the process ends, so a lock is never stale. The file stays when the store is closed:
//! deleting it would let two processes hold locks on two different files of the same name.
//!
//! A writer also writes its own description into the file, and a server its address as a second line. Readers do not,
//! because opening a store read-only must not write; they are found in /proc/locks. That table is what the kernel knows,
//! so it comes first for writers too; the written lines help where the table does not show the holder (another
//! container or host).

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Name of the lock file in a store's directory.
pub const LOCK_FILE: &str = "lock";

const COMMAND_CHARS_MAX: usize = 120;
const RECORD_BYTES_MAX: u64 = 4096;

/// What the opener wants to do; it decides with whom the store can be shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockKind {
    /// To write: nobody else may have the store open.
    Exclusive,
    /// To read: other readers are welcome, a writer is not.
    Shared,
}

/// A process that has the store open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    pub pid: u32,
    /// What it does with the store.
    pub kind: LockKind,
    /// Its command line if it is visible or was written to the file, shortened; empty if unknown.
    pub command: String,
    /// When it took the lock, in seconds since 1970, if it was written to the file.
    pub since_unix_s: Option<u64>,
    /// Where it serves the store, if it does.
    pub uri: Option<String>,
}

/// Why a store could not be locked.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    #[error("{}", in_use(store, *kind, holders))]
    InUse { store: PathBuf, kind: LockKind, holders: Vec<Holder> },
    #[error("cannot lock \"{}\": {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// A held lock; released on drop.
#[derive(Debug)]
pub struct StoreLock {
    /// `None` for a reader of a directory that cannot be written and has no lock file: there can be no writer
    /// either.
    file: Option<File>,
    kind: LockKind,
}

impl LockError {
    /// The holders, as a part of a sentence.
    pub fn who(&self) -> String {
        match self {
            LockError::InUse { holders, .. } => holders_text(holders),
            LockError::Io { .. } => holders_text(&[]),
        }
    }
}

/// A lock that no process seems to hold, or a child of this process: a starting process shares the files of its
/// parent until it executes its own program, even files that the parent has closed meanwhile.
const NOBODY_TRIES: u32 = 20;
const NOBODY_PAUSE: Duration = Duration::from_millis(5);

fn is_child(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The state and the parent follow the name, which may contain spaces and brackets.
    let parent = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1));
    parent.and_then(|parent| parent.parse().ok()) == Some(std::process::id())
}

impl StoreLock {
    /// Locks the store in the directory `store`; it does not wait for another holder.
    ///
    /// # Errors
    ///
    /// [`LockError::InUse`] if another process, or another open store of this one, is in the way;
    /// [`LockError::Io`] if the lock file cannot be opened, created or locked.
    pub fn acquire(store: &Path, kind: LockKind) -> Result<StoreLock, LockError> {
        let path = store.join(LOCK_FILE);
        let io_error = |source| LockError::Io { path: path.clone(), source };
        let Some(file) = open_lock_file(&path, kind).map_err(io_error)? else {
            return Ok(StoreLock { file: None, kind });
        };
        let lock = || match kind {
            LockKind::Exclusive => file.try_lock(),
            LockKind::Shared => file.try_lock_shared(),
        };
        let mut locked = lock();
        for _ in 0..NOBODY_TRIES {
            if !matches!(locked, Err(TryLockError::WouldBlock)) || !find_holders(&file).iter().all(|holder| is_child(holder.pid)) {
                break;
            }
            std::thread::sleep(NOBODY_PAUSE);
            locked = lock();
        }
        match locked {
            Ok(()) => {}
            Err(TryLockError::Error(source)) => return Err(io_error(source)),
            Err(TryLockError::WouldBlock) => {
                let holders = find_holders(&file);
                return Err(LockError::InUse { store: store.to_owned(), kind, holders });
            }
        }
        let lock = StoreLock { file: Some(file), kind };
        lock.write_record("");
        Ok(lock)
    }

    /// Lets others know where this process serves the store.
    pub fn announce(&self, uri: &str) {
        self.write_record(&format!("{uri}\n"));
    }

    fn write_record(&self, server: &str) {
        if let (Some(file), LockKind::Exclusive) = (&self.file, self.kind)
            && write_record(file, server).is_err()
        {
            // The lock is held without the record, and a full disk must not keep a user from freeing space.
            let _ = file.set_len(0);
        }
    }

    /// The mode in which the lock is held.
    pub fn kind(&self) -> LockKind {
        self.kind
    }
}

impl Drop for StoreLock {
    fn drop(&mut self) {
        if let (Some(file), LockKind::Exclusive) = (&self.file, self.kind) {
            // Only a courtesy: a record that is left behind is not read while no process holds the lock.
            let _ = file.set_len(0);
        }
    }
}

fn open_lock_file(path: &Path, kind: LockKind) -> io::Result<Option<File>> {
    let mut writing = OpenOptions::new();
    writing.read(true).write(true).create(true).truncate(false);
    if kind == LockKind::Exclusive {
        return writing.open(path).map(Some);
    }
    match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        opened => return opened.map(Some),
    }
    match writing.open(path) {
        Err(error) if is_read_only(&error) => Ok(None),
        opened => opened.map(Some),
    }
}

fn is_read_only(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

fn write_record(mut file: &File, server: &str) -> io::Result<()> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs());
    let record = format!("{} {since} {}\n{server}", std::process::id(), own_command());
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(record.as_bytes())
}

fn read_record(file: &File) -> Option<Holder> {
    let mut text = String::new();
    let mut file = file;
    file.seek(SeekFrom::Start(0)).ok()?;
    file.take(RECORD_BYTES_MAX).read_to_string(&mut text).ok()?;
    let mut lines = text.lines();
    let mut parts = lines.next()?.splitn(3, ' ');
    Some(Holder {
        pid: parts.next()?.parse().ok()?,
        kind: LockKind::Exclusive,
        since_unix_s: parts.next()?.parse().ok(),
        command: parts.next().unwrap_or_default().to_owned(),
        uri: lines.next().map(str::to_owned),
    })
}

/// The processes holding a lock on `file`; empty if the system does not show them.
fn find_holders(file: &File) -> Vec<Holder> {
    let recorded = read_record(file);
    let holders: Vec<Holder> = kernel_holders(file)
        .into_iter()
        .map(|(pid, kind)| {
            let recorded = recorded.as_ref().filter(|recorded| recorded.pid == pid);
            let written = recorded.map(|recorded| recorded.command.clone()).unwrap_or_default();
            Holder {
                pid,
                kind,
                command: live_command(pid).unwrap_or(written),
                since_unix_s: recorded.and_then(|recorded| recorded.since_unix_s),
                uri: recorded.and_then(|recorded| recorded.uri.clone()),
            }
        })
        .collect();
    if holders.is_empty() { recorded.into_iter().collect() } else { holders }
}

/// The processes with a flock on `file`'s inode, from /proc/locks.
fn kernel_holders(file: &File) -> Vec<(u32, LockKind)> {
    let (Ok(metadata), Ok(table)) = (file.metadata(), std::fs::read_to_string("/proc/locks")) else {
        return Vec::new();
    };
    // The device column shows the file system's own number, which on btrfs and overlayfs differs from
    // that of stat. So the inode decides, and a process whose open files are visible must really have the
    // file open.
    let mut holders: Vec<(u32, LockKind)> = table
        .lines()
        .filter_map(|line| flock_of_inode(line, metadata.ino()))
        .filter(|&(pid, _)| has_open(pid, &metadata).unwrap_or(true))
        .collect();
    holders.sort_unstable_by_key(|&(pid, _)| pid);
    holders.dedup();
    holders
}

/// `1: FLOCK  ADVISORY  WRITE 15986 fe:00:10019268 0 EOF`; a waiting process has `->` before FLOCK
/// and holds nothing.
fn flock_of_inode(line: &str, inode: u64) -> Option<(u32, LockKind)> {
    let mut fields = line.split_whitespace().skip(1);
    if fields.next()? != "FLOCK" {
        return None;
    }
    let kind = if fields.nth(1)? == "WRITE" { LockKind::Exclusive } else { LockKind::Shared };
    let pid = fields.next()?.parse().ok().filter(|&pid| pid != 0)?;
    let lock_inode: u64 = fields.next()?.rsplit(':').next()?.parse().ok()?;
    (lock_inode == inode).then_some((pid, kind))
}

/// `None` if the process's open files are not visible.
fn has_open(pid: u32, metadata: &std::fs::Metadata) -> Option<bool> {
    let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?;
    Some(descriptors.flatten().any(|descriptor| {
        std::fs::metadata(descriptor.path()).is_ok_and(|open| open.ino() == metadata.ino() && open.dev() == metadata.dev())
    }))
}

fn live_command(pid: u32) -> Option<String> {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let words = line.split(|&byte| byte == 0).filter(|word| !word.is_empty());
    let words: Vec<String> = words.map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    (!words.is_empty()).then(|| shorten(words))
}

fn own_command() -> String {
    shorten(std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect())
}

/// One printable line: the program without its folder, then its arguments.
fn shorten(mut words: Vec<String>) -> String {
    if let Some(program) = words.first_mut() {
        *program = program.rsplit('/').next().unwrap_or_default().to_owned();
    }
    let line = words.join(" ").replace(|c: char| c.is_control(), " ");
    match line.char_indices().nth(COMMAND_CHARS_MAX) {
        Some((end, _)) => format!("{} …", &line[..end]),
        None => line,
    }
}

fn holders_text(holders: &[Holder]) -> String {
    match holders {
        [] => "another process, which this system does not show".to_owned(),
        [first, rest @ ..] => {
            let command = if first.command.is_empty() { String::new() } else { format!(" ({})", first.command) };
            let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
            format!("process {}{command}{more}", first.pid)
        }
    }
}

fn in_use(store: &Path, kind: LockKind, holders: &[Holder]) -> String {
    let holder_list = holders_text(holders);
    // A lock on the whole store for reading is possible beside readers only.
    let only_readers = holders.iter().all(|holder| holder.kind == LockKind::Shared);
    let way_out = if kind == LockKind::Exclusive && only_readers && !holders.is_empty() {
        "close it, or open the store read-only".to_owned()
    } else if let Some(uri) = holders.iter().find_map(|holder| holder.uri.as_deref()) {
        format!("ask that server with --connect {uri}, or close it first")
    } else if holders.iter().any(|holder| holder.command.contains(" serve")) {
        "ask that server with --connect, or close it first".to_owned()
    } else {
        "close it first".to_owned()
    };
    format!("the store \"{}\" is in use by {holder_list}; {way_out}", store.display())
}
