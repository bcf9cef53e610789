//! Leases: versions that other processes read beside the process that writes.
//!
//! **Invariant:** while a lease lives, no process removes a file that its catalog names. The lease is the request, whose answer names the
//! version, so it outlives the process that gave it, and ends with its client, however that ends.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::client::PendingRequest;
use super::record::{Answer, REQUESTS_DIR, RequestFile, parse_name, read_record};
use super::server::is_locked;

/// The right to read a version of a store that another process has open for writing.
#[derive(Debug)]
pub struct Lease {
    request: PendingRequest,
    version: u64,
}

impl Lease {
    pub(super) fn new(request: PendingRequest, version: u64) -> Lease {
        Lease { request, version }
    }

    pub fn version(&self) -> u64 {
        self.version
    }

    /// The catalog of the version.
    pub(crate) fn catalog(&self) -> PathBuf {
        self.request.catalog()
    }
}

/// Where the holder writes the catalog for the request `id`.
pub(crate) fn catalog_path(store: &Path, id: &str) -> PathBuf {
    RequestFile::Catalog.path(&store.join(REQUESTS_DIR), id)
}

/// The oldest version that a process reads under a lease. It takes one system call if there are no requests.
pub(crate) fn oldest_lease(store: &Path) -> Option<u64> {
    let dir = store.join(REQUESTS_DIR);
    let entries = match fs::read_dir(&dir) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return None,
        Err(_) => return Some(UNKNOWN),
    };
    let version = |entry: std::io::Result<fs::DirEntry>| match entry {
        Ok(entry) => leased_version(&dir, entry.file_name().to_str()?),
        Err(_) => Some(UNKNOWN),
    };
    entries.filter_map(version).min()
}

/// What cannot be read may be a lease of any version.
const UNKNOWN: u64 = 0;

/// `None` for a file that is not the answer to a lease, and for a lease that has ended.
fn leased_version(dir: &Path, name: &str) -> Option<u64> {
    let (id, kind) = parse_name(name)?;
    if kind != RequestFile::Done || !is_locked(&RequestFile::Request.path(dir, id)) {
        return None;
    }
    match read_record::<Answer>(&kind.path(dir, id)) {
        Ok(Answer::Lease { version }) => Some(version),
        Ok(Answer::Done(_) | Answer::Failed(_)) => None,
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(_) => Some(UNKNOWN),
    }
}
