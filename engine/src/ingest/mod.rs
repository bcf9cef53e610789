//! Rows from outside into tables.

pub mod load;
pub mod sent;
