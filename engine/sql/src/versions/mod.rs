//! Versions in SQL: older states of tables, named snapshots, RESTORE, and the retention of versions.
//!
//! To DataFusion, `FROM t FOR VERSION AS OF 3` is a separate table. Its name is `t` followed by the clause (`name.rs`). The name is
//! written before the statement is parsed (`as_of.rs`), and the schema of the store parses it again and finds the version of a point in
//! time (`point.rs`).

mod as_of;
pub mod duration;
pub mod evaluate;
mod name;
pub mod point;
pub mod statement;

/// The name of the store's setting for the retention of versions.
pub const RETENTION: &str = "retention";

pub use as_of::{alias_version, alias_versions, name_versions};
pub use duration::{duration_ms, duration_text};
pub use evaluate::{constant, time_ms, time_text};
pub use name::{base_name, split_name, versioned_name};
pub use point::Point;
pub use statement::{VersionStatement, parse_versions};
