//! Columns of a segment in fewer bytes than their values have, as Arrow types that any reader of Arrow understands.
//!
//! The *physical* type of a column is what writers give and readers get. The *stored* type is that of the file, chosen for each segment from its rows:
//!
//! | physical | stored | when |
//! |---|---|---|
//! | integers, dates, times, timestamps, durations, decimals of up to 16 bytes | integers of 1, 2, 4 or 8 bytes, signed as the physical ones | twice their range fits |
//! | Utf8View, BinaryView | `Dictionary<UInt8 or UInt16, Utf8 or Binary>` | there are few different values |
//! | Utf8View, BinaryView | Utf8, Binary | others, if they are short |
//!
//! The first batch of a segment decides. A batch that does not fit the decision begins another segment, whose columns are at least as wide; so
//! an [`Appender`](super::Appender) begins few segments for this reason. A field whose stored type differs has the physical one in its
//! metadata, as `quiver.type`.
//!
//! - `choice`: the decision; `encoder`: rows as they are stored; `integers`, `dictionary`: their values; `decode`: the way back

mod choice;
mod decode;
mod dictionary;
mod encoder;
mod integers;

use arrow::datatypes::{DataType, Field, Schema};

pub use decode::decode;
pub(super) use encoder::{LeastWidths, SegmentEncoder};

/// In the metadata of a field: the physical type, as Arrow writes types.
pub const TYPE_METADATA: &str = "quiver.type";

/// How a column is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnEncoding {
    Plain,
    /// Integers of so many bytes.
    Integers(usize),
    /// Codes of so many bytes, which are positions in a dictionary.
    Dictionary(usize),
    /// Texts or bytes one after the other, with offsets of 32 bits.
    Offsets,
}

impl ColumnEncoding {
    fn stored_type(self, physical: &DataType) -> DataType {
        let bytes = || if *physical == DataType::BinaryView { DataType::Binary } else { DataType::Utf8 };
        match self {
            ColumnEncoding::Plain => physical.clone(),
            ColumnEncoding::Integers(width) => integers(width, is_unsigned(physical)),
            ColumnEncoding::Dictionary(width) => DataType::Dictionary(Box::new(integers(width, true)), Box::new(bytes())),
            ColumnEncoding::Offsets => bytes(),
        }
    }

    fn stored_field(self, physical: &Field) -> Field {
        let mut metadata = physical.metadata().clone();
        // Rows may come from a file of a segment.
        metadata.remove(TYPE_METADATA);
        if self == ColumnEncoding::Plain {
            return physical.clone().with_metadata(metadata);
        }
        metadata.insert(TYPE_METADATA.to_string(), physical.data_type().to_string());
        physical.clone().with_data_type(self.stored_type(physical.data_type())).with_metadata(metadata)
    }
}

fn is_unsigned(data_type: &DataType) -> bool {
    matches!(data_type, DataType::UInt8 | DataType::UInt16 | DataType::UInt32 | DataType::UInt64)
}

fn integers(width: usize, is_unsigned: bool) -> DataType {
    match (width, is_unsigned) {
        (1, false) => DataType::Int8,
        (2, false) => DataType::Int16,
        (4, false) => DataType::Int32,
        (_, false) => DataType::Int64,
        (1, true) => DataType::UInt8,
        (2, true) => DataType::UInt16,
        (4, true) => DataType::UInt32,
        (_, true) => DataType::UInt64,
    }
}

/// The physical schema of a file; `None` if a field names a type that is none.
pub(super) fn physical_schema(stored: &Schema) -> Option<Schema> {
    let fields = stored.fields().iter().map(|field| {
        let Some(text) = field.metadata().get(TYPE_METADATA) else { return Some(field.as_ref().clone()) };
        let physical: DataType = text.parse().ok()?;
        let mut metadata = field.metadata().clone();
        metadata.remove(TYPE_METADATA);
        is_decodable(field.data_type(), &physical).then(|| Field::new(field.name(), physical, field.is_nullable()).with_metadata(metadata))
    });
    Some(Schema::new_with_metadata(fields.collect::<Option<Vec<_>>>()?, stored.metadata().clone()))
}

fn is_decodable(stored: &DataType, physical: &DataType) -> bool {
    let encodings = [1, 2, 4, 8].into_iter().flat_map(|width| [ColumnEncoding::Integers(width), ColumnEncoding::Dictionary(width)]);
    let mut encodings = encodings.chain([ColumnEncoding::Offsets]);
    encodings.any(|encoding| choice::is_possible(encoding, physical) && encoding.stored_type(physical) == *stored)
}

#[cfg(test)]
mod tests;
