//! Versions in SQL: tables as they were, snapshots with names, RESTORE, and how long versions stay.
//!
//! `FROM t FOR VERSION AS OF 3` is a table of its own to DataFusion: its name is `t` with the clause
//! behind it (`name.rs`), put there before the statement is parsed (`as_of.rs`) and found again by
//! the schema of the store, which finds the version of a `point.rs`.

mod as_of;
pub mod duration;
pub mod evaluate;
mod name;
pub mod point;
pub mod statement;

/// The name of the setting of the store that says how long versions stay.
pub const RETENTION: &str = "retention";

pub use as_of::{alias_version, alias_versions, name_versions};
pub use duration::{duration_ms, duration_text};
pub use evaluate::{constant, time_ms, time_text};
pub use name::{base_name, split_name, versioned_name};
pub use point::Point;
pub use statement::{VersionStatement, parse_versions};
