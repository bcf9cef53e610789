//! Keeps tables fast to read while they change: logs become segments, and small or much-deleted segments become few large ones, in the
//! order of the cluster key. `docs/maintenance.md` describes it for users.
//!
//! The steps of a compaction:
//!
//! 1. `segment_summary` summarises each segment, `key_range` its range of keys;
//! 2. `pick` decides which segments are worth rewriting together: a job;
//! 3. `plan` is the query that reads the job's rows with their row ids, sorted if there is a key;
//! 4. `job` writes the result, records in `row_mapping` where each row went, and commits;
//! 5. `permits` allows one compaction per table at a time, `runs` remembers them.
//!
//! `tier_policy` has the rules that move tables which are not used, `tier_moves` remembers the moves of segments to the tier of their table, and
//! `prefetches` the copies to memory of what belongs to something that was read.
//!
//! `background` runs compactions automatically on its own thread; `optimize` on demand.
//!
//! **Invariant:** nothing in a table changes before the commit, and the commit fails if one of the segments no longer exists. Rows
//! deleted meanwhile stay deleted, and a statement that deletes rows of a replaced segment finds them through the row mapping.

mod background;
mod job;
mod key_range;
mod memory;
mod optimize;
mod permits;
mod pick;
mod plan;
mod prefetches;
mod rate_limiter;
mod row_mapping;
mod runs;
mod segment_summary;
mod stop_signal;
mod tier_moves;
mod tier_policy;

pub(crate) use background::Maintenance;
pub(crate) use optimize::{Optimized, Resources, checkpoint, optimize_table};
pub(crate) use prefetches::{PrefetchInfo, Relation};
pub(crate) use runs::{CompactionOutcome, RunInfo};
pub(crate) use tier_moves::MoveInfo;
pub(crate) use tier_policy::TierPolicy;
