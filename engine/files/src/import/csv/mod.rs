//! Delimited text.
//!
//! [`records`] splits bytes into records and fields and knows the physical line of each; [`dialect`]
//! finds the delimiter and where the table begins; [`plan`] the header and the types; [`notation`] reads dates and numbers in
//! other notations; [`reader`] makes batches. We split the
//! records ourselves because neither `arrow-csv` nor the `csv` crate can tell `""` (an empty text)
//! from nothing (NULL), name the line of a bad value, or continue after it.

mod dialect;
mod header;
mod notation;
mod plan;
mod reader;
mod records;

pub use dialect::looks_delimited;
pub use plan::{CsvPlan, plan};
pub use reader::CsvBatches;
