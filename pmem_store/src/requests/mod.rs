//! Requests of other processes to the one that has a store open for writing, by files in the store's directory
//! `requests`: only that process knows what is committed.
//!
//! - `record`: names and bytes; `client`: the process that asks; `server`: the process that holds the store
//! - `lease`: a version that a client reads beside the process that writes
//!
//! The way of a request: the client writes `<id>.json`, and keeps it locked with flock(2) for as long as it
//! waits. The holder writes to `<id>.taken` that it has seen the request, and its progress, and then writes the
//! answer to `<id>.done`. The client removes them all.
//!
//! **Invariant:** each file gets its name when it is complete; only the catalog of a lease is complete when the answer is there.
//!
//! **Invariant:** a request that no process has locked is void. So it ends with its client, however
//! that ends. A process id would not do, because it may be reused or belong to another container.
//!
//! **Invariant:** all answers are void when the holder has ended. They are not made durable, and the next process that
//! opens the store for writing starts again with the requests whose clients still wait. A lease that was given stays: it says what
//! no process may remove.
//!
//! Every user who may write into the store's directory is trusted, as with all its other files.

mod client;
mod lease;
mod record;
mod server;

use std::path::{Path, PathBuf};

pub use client::{PendingRequest, RequestState};
pub use lease::Lease;
pub(crate) use lease::{catalog_path, oldest_lease};
pub use record::Answer;
pub use server::{Inbox, OpenRequest};

/// What another process asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    Backup(BackupRequest),
    /// To read the last version.
    Lease,
}

/// A request to make `to` a backup of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupRequest {
    /// It is absolute, because the holder has another working directory.
    pub to: PathBuf,
    pub copies: bool,
}

/// To be called after the store was locked for writing: the answers of the last holder are void.
pub(crate) fn begin_anew(store: &Path) {
    Inbox::new(store).forget_holder();
}
