//! JSON: one object per line, objects one after another, or one array of objects or other values.
//!
//! [`frames`] splits the bytes into records and knows the line of each, [`parser`] reads tokens,
//! [`shape`] infers nested types, [`nodes`] builds nested columns, [`reader`] makes batches. We do
//! not use `arrow-json` here: it reads `1.5` as 1 in a column of integers, accepts invalid
//! JSON (`[1 2]`), and cannot say which line or column is wrong.

mod frames;
mod lexemes;
mod list_node;
mod nodes;
mod parser;
mod plan;
mod reader;
mod shape;
mod struct_node;

pub use plan::{JsonPlan, plan};
pub use reader::JsonBatches;
