//! The statements of an engine's sessions while they run: seen in `system.queries`, ended by KILL or by a limit of time,
//! and waiting for their turn where only so many may run at once.
//!
//! - [`registry`] — the statements there are, and how each comes and goes; [`query`] one of them
//! - [`kind`] — what sort of thing one does; [`record`] what is kept of it beyond its end
//! - [`gate`] — whether a statement may go on, and from where on nothing ends it any more
//! - [`queue`] — the places there are to run, and who has them; [`placed`] the stream that asks for one
//! - [`watch`] — the thread that looks at limits of time; [`kill`] the statement KILL
//! - [`whose`] — who runs a statement; [`text`] what is shown of its words; [`totals`] those that have ended
//!
//! **Invariant:** a statement is stopped or committed, never both: `Gate::seal` comes before every commit that a statement makes by
//! itself, and a statement that was stopped first does not get through (`a_write_that_was_stopped_leaves_nothing`).

mod gate;
mod kill;
mod kind;
mod placed;
mod query;
mod queue;
mod record;
mod registry;
mod text;
mod totals;
mod watch;
mod whose;

pub(crate) use gate::{Gate, Stop};
pub(crate) use kill::{is_kill, killed_by};
pub use kind::StatementKind;
pub(crate) use placed::{Placed, reads_system_alone};
pub(crate) use query::{Held, Query, spilled_bytes};
pub(crate) use queue::Limits;
pub(crate) use record::StatementRecord;
pub use registry::StatementCounts;
pub(crate) use registry::{Entry, Queries, Shown};
pub(crate) use text::hides_something;
pub use totals::{Outcome, StatementEnd};
pub(crate) use whose::Whose;
