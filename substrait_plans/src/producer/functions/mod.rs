//! The names of functions in plans.

pub mod kinds;
pub mod own;
pub mod standard;
pub mod user;
