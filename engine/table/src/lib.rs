//! How the rows of a stored table are read and written, and what they must satisfy.
//!
//! - [`scan`] — reads a table in place
//! - [`constraints`] — rules for its rows, and the values of columns that a statement omits
//! - [`definition`] — the statements that recreate it
//! - [`time_zone`], [`physical`] — its rows in the types that a session sees, and in the types of a segment
//!
//! It knows no sessions, no statements and no maintenance: these are in `engine`.

pub mod blocking;
pub mod constraints;
pub mod definition;
pub mod physical;
pub mod scan;
pub mod time_zone;
