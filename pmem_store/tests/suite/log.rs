//! The log of small writes: what was appended is read in place, what was flushed survives, and what
//! was not is never there by half.

mod appending;
mod crashes;
mod flushing;
mod helpers;
mod recovery;
mod speed;
mod staging;
mod types;
mod views;
