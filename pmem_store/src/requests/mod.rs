//! What other processes ask of the one that has a store open for writing, by files in the store's directory
//! `requests`: only that process knows what is committed.
//!
//! - `record`: names and bytes; `client`: the side of the asker; `server`: the side of the holder
//!
//! The way of a request: the asker writes `<id>.json`, which it keeps locked with flock(2) for as long as it
//! waits; the holder says in `<id>.taken` that it knows of it, and how far it is, and then in `<id>.done` what
//! came of it; the asker removes all three.
//!
//! **Invariant:** each file gets its name when it is whole.
//!
//! **Invariant:** a request that nobody has locked is nobody's any more. So it goes with its asker, however
//! that ends, and no process is asked by its number, which may be another one's or of another container.
//!
//! **Invariant:** all that is said here is void when the holder has ended. Nothing is made durable, and who
//! opens the store for writing begins anew with the requests whose askers still wait.
//!
//! Whoever may write into the store's directory is trusted, as with all its other files.

mod client;
mod record;
mod server;

use std::path::{Path, PathBuf};

pub use client::{PendingRequest, RequestState};
pub use record::Answer;
pub use server::{Inbox, OpenRequest};

/// To make `to` a backup of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BackupRequest {
    /// Absolute: the holder has another working directory.
    pub to: PathBuf,
    pub copies: bool,
}

/// For who has just locked the store at `store` for writing: nothing that the last holder said is true any more.
pub(crate) fn begin_anew(store: &Path) {
    Inbox::new(store).forget_holder();
}
