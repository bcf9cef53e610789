//! A comparison of a cast column keeps its exact meaning.
//!
//! DataFusion removes a cast from a column and casts the compared value instead: `CAST(s AS TIMESTAMP) = …` of seconds becomes `s = …`.
//! The value then loses the digits that do not fit the column, so a time of 1.5 s was found at 1 s. It also removes casts that round
//! (`CAST(price AS DECIMAL(6, 0)) = 2` did not find 1.50), casts to another zone, and TRY_CASTs that return NULL. Here such comparisons
//! are first rewritten to exact conditions on the column. They are ranges, so zone maps can skip data too.
//!
//! - [`conversion`] — casts as functions on whole numbers; [`condition`] — a comparison rewritten without the cast
//! - [`kept`] — a cast that stays, because its operand is volatile
//! - [`logical`] — logical expressions, and [`rule`] applies it to a plan; [`physical`] — filters of scans, which receive values while
//!   they run

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
