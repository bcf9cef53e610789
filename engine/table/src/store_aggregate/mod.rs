//! Aggregates that run in the scan, on the bytes that a segment has.
//!
//! An aggregate of DataFusion gets the columns of a scan in their declared types: texts as views, decimals in 16 bytes. It hashes the keys of
//! each row and adds up 16-byte numbers. A segment has these keys as codes or small integers, and these numbers in a few bytes. So
//! `StoreAggregateExec` takes the place of the first step of an aggregate over a scan, which makes the states of groups (`Partial`; of a `Single` for one
//! partition a final step remains):
//!
//! ```text
//! AggregateExec: mode=Partial         StoreAggregateExec
//!   ProjectionExec               →      DataSourceExec: StoreScan
//!     DataSourceExec: StoreScan
//! ```
//!
//! It reads [`StoredRows`](crate::scan::StoredRows), a zone at a time: the rows that passed the scan's filter, as they are stored.
//!
//! - `groups` finds the group of each row from its codes: a table with an entry for each combination of codes that the dictionaries of the
//!   segment allow. Each entry is filled when the combination is first seen. Keys that are stored in another way, such as those of small
//!   writes, are looked up by their values.
//! - `integers` computes sums, differences and products of decimals in 64-bit integers, without a check per row: the widths of the stored
//!   columns bound the result, and a zone whose bound is too great is left to DataFusion's expressions.
//! - `sums` adds these up in 128 bits, for few groups those of a zone in 64 bits first.
//! - All else goes to the accumulators of DataFusion, which get the decoded values with the groups. The sums end there too, as states that
//!   are merged. So results and types are those of DataFusion, whichever way a zone took; a sum that exceeds its type on its way to one that does not is none.
//! - `rule` finds such aggregates: keys with few values, sums and counts.
//!
//! The number of groups is bounded: beyond [`GROUPS_MAX`], or the memory of the query, the states go on to the final aggregate, and the groups begin anew.

mod exec;
mod groups;
mod integers;
mod rule;
mod stream;
mod sums;

pub use rule::StoreAggregates;
pub(crate) use rule::{Input, is_plain, takes_long};

/// States of more groups than this are handed on.
const GROUPS_MAX: usize = 1 << 16;
