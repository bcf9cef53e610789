//! Writes rows to the store: INSERT, CREATE TABLE AS, COPY FROM and import all use this module.

mod cluster_key;
mod in_place;
mod replace;
mod rows;
mod scope;
mod sink;
mod staged_rows;
mod table_in_place;

pub use cluster_key::{key_of, sorted};
pub use replace::replace_rows;
pub use rows::{Declarations, RowWriter, WriteMode, WriteTarget, check_not_null};
pub use scope::WriteScope;
pub use sink::{insert_plan, nullable};
pub use staged_rows::{FEW_BYTES, FEW_ROWS, StagedRows};
pub use table_in_place::NewTable;
