//! Groups of a column whose rows are in ascending order, such as the lines of an order or the measurements of a second: rows of a group follow one
//! another, so no table of groups is needed, and groups are complete as soon as another one begins.
//!
//! `SortedGroupsExec` takes the place of an aggregate's steps over a scan, and of the exchange of rows between them:
//!
//! ```text
//! AggregateExec: mode=FinalPartitioned         SortedGroupsExec
//!   RepartitionExec: Hash(key)             →     DataSourceExec: StoreScan
//!     AggregateExec: mode=Partial
//!       DataSourceExec: StoreScan
//! ```
//!
//! Nobody has to declare the order: whether a column is in order is found by reading it, once for each state of a table
//! ([`TableStatistics::is_ascending`](crate::scan::TableStatistics::is_ascending)). A scan hands its rows out in units, runs of zones, and a group
//! may reach from one unit into the next, which another partition reads. The keys of such groups are known before: the last row of a unit and the first one
//! of the next have the same. Their states are put together by the partition that ends last.
//!
//! - `rule` finds such aggregates; `exec`: the operator; `stream`: one partition; `shared_groups`: the groups that lie in several units

mod exec;
mod rule;
mod shared_groups;
mod stream;

pub use rule::SortedGroups;
