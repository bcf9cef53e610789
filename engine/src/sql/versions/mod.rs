//! Versions in SQL: tables as they were, snapshots with names, RESTORE, and how long versions stay.
//!
//! `FROM t FOR VERSION AS OF 3` is a table of its own to DataFusion: its name is `t` with the clause
//! behind it (`name.rs`), put there before the statement is parsed (`as_of.rs`) and found again by
//! the schema of the store, which asks `point.rs` for the version.

mod as_of;
mod duration;
mod evaluate;
mod name;
mod point;
mod run;
mod statement;

pub use as_of::{alias_versions, name_versions, spell_out};
pub use duration::duration_text;
pub use name::{base_name, split_name, versioned_name};
pub use point::{PastTable, table_at};
pub use run::{RETENTION, listed_versions, run_versions};
pub use statement::{VersionStatement, parse_versions};
