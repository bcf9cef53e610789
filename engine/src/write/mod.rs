//! Rows into the store: INSERT, CREATE TABLE AS, COPY FROM and import all go through here.

mod rows;
mod sink;

pub(crate) use rows::{RowWriter, Target, WriteTarget, blocking};
pub(crate) use sink::insert_plan;
