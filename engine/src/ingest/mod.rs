//! Loads external rows into tables.

pub mod load;
pub mod sent;
