//! Subqueries that look at the row outside of them in any way, as joins.
//!
//! DataFusion makes joins of those whose conditions on the outer row can be moved above the rest of the subquery; so it refuses LIMIT, windows
//! and aggregates above such a condition, unless that is an equality, and subqueries that look at a row further outside. The others become
//! joins here, by the method of Neumann and Kemper ("Unnesting Arbitrary Queries", BTW 2015):
//!
//! - The *bindings* are the combinations of values, each once, that the columns have at which the subquery looks.
//! - They are joined to what the subquery reads, and moved up through its operators with it: groups are made for each binding, rows are numbered
//!   for each binding, and so on ([`bindings`]). Then nothing looks outside any more, and all bindings are answered at once.
//! - The answers are joined to the rows outside by their bindings ([`answers`]). These are computed twice: [`stable_rows`].
//!
//! [`outer_references`] finds what looks outside, [`row_numbers`] the order of a LIMIT. [`subqueries`] decides which subqueries need this, and puts the answers in their place.

mod answers;
mod bindings;
mod outer_references;
mod row_numbers;
mod stable_rows;
mod subqueries;

pub use subqueries::unnested_subqueries;
