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
pub use packed::{pack, unpack, value_of, visit_packed};
pub use sort_key::{ValueClass, put_sort_key};
pub use value::{AttributeValue, KEY_BYTES_MAX, KEYS_MAX, Scalar, VALUE_BYTES_MAX, check_key};
