//! Turns a parsed statement into a logical plan.

mod cte_scopes;
pub mod error_span;
pub mod explain_error;
pub mod key_groups;
mod ordered_subqueries;
pub mod plan;
mod select_aliases;
pub mod summarize;
pub mod temporary_names;
pub mod views;
pub mod wildcards;
