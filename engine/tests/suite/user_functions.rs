//! Functions and procedures that users write in SQL.

mod calls;
mod catalog;
mod procedures;
mod tables;
