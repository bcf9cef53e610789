//! A column that is cast is compared with the value that was written, and with no other.
//!
//! DataFusion takes a cast from a column and casts the value it is compared with instead: `CAST(s AS TIMESTAMP) = …` of seconds becomes
//! `s = …`. The value then loses what has no room in the column, so that a time of 1.5 s was found at 1 s. It also takes casts away that
//! round (`CAST(price AS DECIMAL(6, 0)) = 2` found no 1.50), that count from another zone, and TRY_CASTs that make NULL of a value.
//! Here such comparisons are said exactly, in terms of the column, before DataFusion sees them: as ranges, which also lets zones be skipped.
//!
//! - [`conversion`] — what a cast makes of whole numbers; [`condition`] — a comparison with it, without it
//! - [`kept`] — a cast that is left to be evaluated, since what it casts is another value each time
//! - [`logical`] — expressions of plans, and [`rule`] all of a plan; [`physical`] — filters of scans, which learn of values while they run

mod condition;
mod conversion;
mod kept;
mod logical;
mod physical;
mod rule;
#[cfg(test)]
mod tests;

pub use kept::kept;
pub use logical::with_exact_comparisons;
pub use physical::exact_filter;
pub use rule::in_place_of_simplifying;
