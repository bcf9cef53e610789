//! Converts types and values between Arrow and plans.
//!
//! Substrait has no unsigned numbers, no half floats, no time zones but UTC, no durations, no lists of a fixed length and no decimals of
//! more than 38 digits. These are extension types: Arrow's where it has one, otherwise ours.
//!
//! | Arrow | on the wire |
//! |---|---|
//! | texts and bytes of every layout | `string`, `binary` |
//! | `Dictionary`, `RunEndEncoded` | the type of the values |
//! | `UInt8` … `UInt64`, `Float16`, `Null`, `Date64` | `u8` … `u64`, `fp16`, `null`, `date_millis` of [`ARROW_TYPES`] |
//! | `Timestamp` of another zone than UTC | `timestamp_zone<precision, zone>` of [`OUR_TYPES`] |
//! | `Duration` | `duration<precision>` of ours |
//! | `FixedSizeList` | `fixed_list<length, item>` of ours |
//! | `FixedSizeList` that is an `arrow.fixed_shape_tensor` | `tensor<item, length of each dimension>` of ours |
//! | `Decimal256` | `decimal256<precision, scale>` of ours |
//!
//! - `names.rs` names of columns, depth first, and those of the extension types
//! - `read.rs` types of plans, `extension.rs` extension types
//! - `write.rs` types for plans
//! - `literal.rs` and `plain.rs` values for plans

mod extension;
mod literal;
mod names;
mod plain;
mod read;
mod write;

use crate::refusal::Refusal;

pub(crate) use extension::known_zone;
pub use literal::{i64_literal, literal};
pub use names::{ARROW_TYPES, Names, OUR_TYPES, names_of};
pub(crate) use read::{TypeReader, text_length, time_unit};
pub use write::{TypeAnchors, is_plain_tensor, named_struct, type_of, type_of_field};

/// Why a type or a value cannot be expressed in a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unrepresentable {
    pub what: String,
    pub why: String,
}

impl Unrepresentable {
    pub(crate) fn new(what: impl Into<String>, why: impl Into<String>) -> Unrepresentable {
        Unrepresentable { what: what.into(), why: why.into() }
    }
}

impl From<Unrepresentable> for Refusal {
    fn from(no_form: Unrepresentable) -> Refusal {
        Refusal::new(no_form.what, no_form.why)
    }
}
