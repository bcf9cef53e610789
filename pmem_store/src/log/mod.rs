//! The log of small writes of one table: appended, durable with one flush for all who wait, readable
//! in place at once, and sealed into a segment later by others. This folder alone knows the bytes of
//! a log; `docs/format.md` shows them, `docs/durability.md` says why they survive.
//!
//! - `tail_log`: making, opening and reading; `append`: writing; `group_commit`: who flushes
//! - `format`: the bytes; `encode` and `decode`: rows to a record and back; `recover`: where it ends
//! - `staged` and `columns`: rows that are no record yet; `commits`: whose the rows of a record are
//! - `copy`: the bytes of its records for a backup, and back
//! - `summary`: how far a log goes; `loss`: what damage has taken of it
//! - `index`: where each record lies; `data`: what a log shares with its views; `view` and `chunks`: its rows as batches
//!
//! **Invariant:** bytes before the end of the log never change, so readers need no lock once they
//! know the end. Bytes beyond it are never looked at.

mod append;
mod chunks;
mod columns;
mod commits;
mod copy;
mod data;
mod decode;
mod encode;
mod error;
mod format;
mod group_commit;
mod index;
mod loss;
mod recover;
mod staged;
mod stored;
mod summary;
mod tail_log;
mod view;

pub use append::Appended;
pub(crate) use copy::{place_log, verify_log};
pub use encode::PreparedRecord;
pub use error::AppendError;
pub use format::LogIdentity;
pub(crate) use index::LogCommit;
pub(crate) use summary::LogEnd;
pub use summary::LogInfo;
pub use tail_log::TailLog;
pub use view::LogView;
