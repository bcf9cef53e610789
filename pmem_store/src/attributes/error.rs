//! What can be wrong with an attribute.

use super::value::{KEY_BYTES_MAX, KEYS_MAX, VALUE_BYTES_MAX};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AttributeError {
    #[error("a tag has no name; give it one")]
    NoKey,
    #[error("the name of a tag has {found} bytes, more than {KEY_BYTES_MAX}; choose a shorter one")]
    LongKey { found: usize },
    #[error("the name of a tag cannot begin with a colon, as \"{0}\" does; choose another one")]
    ReservedKey(String),
    #[error("an object can have {KEYS_MAX} tags, and this one would have {found}; put the values into a table")]
    ManyKeys { found: usize },
    #[error("the value of tag \"{key}\" has {found} bytes, more than {VALUE_BYTES_MAX}; put it into a table")]
    LongValue { key: String, found: usize },
    #[error("the values of the list of tag \"{key}\" are of several types; write a list of one type")]
    MixedList { key: String },
    #[error("the tags of an object cannot be read: {what} at byte {offset}")]
    Damaged { offset: usize, what: &'static str },
}
