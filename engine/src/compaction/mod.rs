//! Tables stay quick to read while they change: logs become segments, and small or much-deleted
//! segments become few large ones, in the order of the cluster key. `docs/maintenance.md` is what
//! users know of it.
//!
//! The way of a compaction:
//!
//! 1. `segment_summary` says what is known of each segment, `key_range` where its keys lie;
//! 2. `pick` decides which of them are worth to be rewritten together: a job;
//! 3. `plan` is the query that reads the job's rows with their row ids, sorted where there is a key;
//! 4. `job` writes what it yields, notes in `row_mapping` where each row went, and commits;
//! 5. `permits` sees to it that a table has one compaction at a time, `runs` remembers them.
//!
//! `background` does it by itself, on a thread of its own; `optimize` on demand.
//!
//! **Invariant:** nothing of a table changes before the commit, which fails if one of the segments is
//! no more. Rows that are deleted meanwhile stay deleted, and whoever deletes rows of a segment that
//! was replaced finds them by their places.

mod background;
mod job;
mod key_range;
mod memory;
mod optimize;
mod permits;
mod pick;
mod plan;
mod rate_limiter;
mod row_mapping;
mod runs;
mod segment_summary;
mod stop_signal;

pub(crate) use background::Maintenance;
pub(crate) use optimize::{Optimized, Resources, checkpoint, optimize_table};
pub(crate) use runs::{CompactionOutcome, RunInfo};
