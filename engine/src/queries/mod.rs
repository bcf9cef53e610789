//! The statements of an engine's sessions while they run: seen in `system.queries`, ended by KILL or by a limit of time,
//! and waiting for their turn where only so many may run at once.
//!
//! - [`registry`] — the statements there are, and how each comes and goes; [`query`] one of them
//! - [`kind`] — what sort of thing one does; [`record`] what is kept of it beyond its end
//! - [`commit_guard`] — whether a statement may go on, and from where on nothing ends it any more
//! - [`admission_queue`] — the places there are to run, and who has them; [`admitted_stream`] the stream that asks for one
//! - [`timeouts`] — the thread that looks at limits of time; [`kill`] the statement KILL
//! - [`principal`] — who runs a statement; [`text`] what is shown of its words; [`totals`] those that have ended
//!
//! **Invariant:** a statement is stopped or committed, never both: `CommitGuard::seal` comes before every commit that a statement makes by
//! itself, and a statement that was stopped first does not get through (`a_write_that_was_stopped_leaves_nothing`).

mod admission_queue;
mod admitted_stream;
mod commit_guard;
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
pub(crate) use commit_guard::{CommitGuard, StopReason};
pub(crate) use kill::{is_kill, killed_by};
pub use kind::StatementKind;
pub(crate) use principal::Principal;
pub(crate) use query::{Query, ResultStream, spilled_bytes};
pub(crate) use record::StatementRecord;
pub use registry::StatementCounts;
pub(crate) use registry::{Queries, StatementEntry, StatementInfo};
pub(crate) use text::hides_something;
pub use totals::{Outcome, StatementEnd};
