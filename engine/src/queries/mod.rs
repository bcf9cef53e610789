//! The running statements of an engine's sessions: shown in `system.queries`, stopped by KILL or by a timeout, and queued if only so many
//! may run at once.
//!
//! - [`registry`] — the running statements, and how each begins and ends; [`query`] is one of them
//! - [`kind`] — the kinds of statements; [`record`] what is kept of one after its end
//! - [`admission_queue`] — the permits to run, and who has them; [`admitted_stream`] the stream that asks for one
//! - [`timeouts`] — the thread that enforces timeouts; [`kill`] the statement KILL
//! - [`principal`] — who runs a statement; [`text`] the shown part of its text; [`totals`] the outcomes of statements
//!
//! **Invariant:** a statement is stopped or committed, never both: `CommitGuard::begin_commit` comes before every commit of a statement,
//! and a statement that was stopped first does not get through (`a_write_that_was_stopped_leaves_nothing`).

mod admission_queue;
mod admitted_stream;
mod kill;
mod kind;
mod principal;
mod query;
mod record;
mod registry;
mod text;
mod timeouts;
mod totals;

pub(crate) use admission_queue::AdmissionLimits;
pub(crate) use admitted_stream::{AdmittedStream, reads_system_alone};
pub(crate) use kill::{is_kill, killed_by};
pub use kind::StatementKind;
pub(crate) use principal::Principal;
pub(crate) use query::{Query, ResultStream, spilled_bytes};
pub(crate) use record::StatementRecord;
pub use registry::StatementCounts;
pub(crate) use registry::{Queries, StatementEntry, StatementInfo};
pub(crate) use text::hides_something;
pub use totals::{Outcome, StatementEnd};
