//! The log of small writes: appended rows are read in place, flushed rows survive a crash, and
//! other rows are never incomplete after it.

mod appending;
mod crashes;
mod flushing;
mod helpers;
mod recovery;
mod speed;
mod staging;
mod types;
mod views;
