//! The index of a segment over a column of packed attributes: for each key, in the order of the values, the rows that have the value.
//!
//! It lies in a file beside the segment, an Arrow table with a row for each key, and is read where it lies: opening it reads the
//! checksum of the file, a search only what it needs. A segment never changes, so neither does its index; who reads it leaves out the
//! rows that were deleted since. Inverted indexes per immutable segment are those of search engines such as Lucene.

mod build;
mod postings;
mod reader;
mod thread;

pub use build::with_attribute_index;
pub use reader::{AttributeIndex, KeyIndex};
pub(super) use thread::AttributeIndexThread;
