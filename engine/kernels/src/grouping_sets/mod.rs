//! GROUP BY ROLLUP, CUBE and GROUPING SETS from the states of the finest set.
//!
//! DataFusion looks up the group of every row once for each set. If one of the sets has all keys, its groups are enough for all others: the
//! sum of a coarse group is the sum of the sums of its fine ones. So rows are grouped once, by all keys, and the states of these groups for
//! the other sets. Each set is made from the one with the fewest keys that has all of its own: in a ROLLUP from the set before it, whose
//! groups are fewer than those of all keys. With many sets, or little memory for each, one aggregate makes all of them from the finest.
//!
//! ```text
//! AggregateExec: mode=FinalPartitioned, gby=[a, b, __grouping_id]     as before
//!   RepartitionExec                                                   as before
//!     GroupingSetsExec: sets=[(a, b), (a), ()]                        the states of all sets, with NULL for other keys
//!       AggregateExec: mode=Partial, gby=[a, b]                       the only one that reads rows
//! ```
//!
//! The schema in the middle is that of DataFusion's `Partial` of several sets, and so are the numbers of the sets: the function that makes
//! them is the same. Nothing above notices the difference. A partition without rows has a row of the set `()` nevertheless: the `Partial` of
//! several sets makes it, of no rows.
//!
//! Left as they are:
//!
//! - sets of which none has all keys, as in GROUPING SETS ((a), (b)): their groups by all keys may be as many as the rows;
//! - DISTINCT, ORDER BY in a function, and functions that are not in `rule::MERGED`: their states grow with the rows, as those of `median`
//!   and `array_agg` do, are large, as those of `approx_distinct` are, or depend on the order of the rows, as those of `last_value` do;
//! - aggregates with a limit on their groups, which stop early;
//! - `Single` aggregates: DataFusion plans none with several sets.
//!
//! With about as many finest groups as rows, little is saved, and the rows have been grouped once more than before. `Partial` gives up on
//! that: after 100,000 rows, if more than 0.8 of them were new groups, it turns rows into states without looking for groups. DataFusion does
//! that only for a single set.
//!
//! Under a memory limit the aggregates of the other sets spill, where a `Partial` hands on what it has. Sums of floats are added in another order, so their
//! last digits may differ, and so may whether a sum of numbers with both signs overflows on its way; with several threads this is so anyway.
//!
//! - `rule`: finds such aggregates; `exec`: the operator; `stream`: the states of all sets, one set from another

mod exec;
mod rule;
mod stream;

pub use rule::GroupingSetStates;
pub(crate) use rule::is_merged;
