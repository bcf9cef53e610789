//! What functions are called in plans.

pub mod kinds;
pub mod own;
pub mod standard;
