//! Rows into the store: INSERT, CREATE TABLE AS, COPY FROM and import all go through here.

mod cluster_key;
mod in_place;
mod rows;
mod scope;
mod sink;
mod table_in_place;
mod written;

pub(crate) use cluster_key::{key_of, sorted};
pub(crate) use rows::{Declarations, RowWriter, Target, WriteTarget, check_not_null};
pub(crate) use scope::WriteScope;
pub(crate) use sink::{insert_plan, nullable};
pub(crate) use table_in_place::NewTable;
pub(crate) use written::{FEW_BYTES, FEW_ROWS, Written};
