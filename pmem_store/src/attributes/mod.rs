//! Attributes: the typed values by which an object is found, as one object stores them.
//!
//! All attributes of an object are one binary value of its row (`packed.rs`), so that an object is written and read at once.

mod collection;
mod error;
mod packed;
mod sort_key;
mod value;

pub use collection::Attributes;
pub use error::AttributeError;
pub(crate) use packed::{packed_attributes, position_of, put_attribute, put_scalar_attribute, value_of, visit_packed};
pub use sort_key::{ValueClass, put_sort_key};
pub use value::{AttributeValue, Scalar, check_key};
