//! Stored columns as values of their physical type.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, DictionaryArray, GenericByteArray, GenericByteViewArray, make_view};
use arrow::buffer::ScalarBuffer;
use arrow::compute::take;
use arrow::datatypes::{
    ArrowDictionaryKeyType, ArrowNativeType, BinaryType, BinaryViewType, ByteArrayType, ByteViewType, DataType, StringViewType, UInt8Type,
    UInt16Type, Utf8Type,
};
use arrow::error::ArrowError;

use super::integers::widen;

/// A column as it is stored, or some of its rows, as values of `to`: the physical type, or one that has the same values in more bytes, as Decimal128 has
/// those of Decimal64. Texts are views of the bytes of `stored`.
///
/// # Errors
///
/// `stored` is no such column.
pub fn decode(stored: &ArrayRef, to: &DataType) -> Result<ArrayRef, ArrowError> {
    match (stored.data_type(), to) {
        (from, to) if from == to => Ok(Arc::clone(stored)),
        (DataType::Utf8, DataType::Utf8View) => views_of_bytes::<Utf8Type, StringViewType>(stored.as_bytes()),
        (DataType::Binary, DataType::BinaryView) => views_of_bytes::<BinaryType, BinaryViewType>(stored.as_bytes()),
        (DataType::Dictionary(codes, _), DataType::Utf8View | DataType::BinaryView) => match codes.as_ref() {
            DataType::UInt8 => views_of_codes(stored.as_dictionary::<UInt8Type>(), to),
            DataType::UInt16 => views_of_codes(stored.as_dictionary::<UInt16Type>(), to),
            _ => Err(no_encoding(stored, to)),
        },
        _ => widen(stored, to)?.ok_or_else(|| no_encoding(stored, to)),
    }
}

fn no_encoding(stored: &ArrayRef, to: &DataType) -> ArrowError {
    ArrowError::SchemaError(format!("{} is not how values of {to} are stored", stored.data_type()))
}

/// Views into the bytes that these rows have. Its offsets do not change meanwhile: those in a mapping are copied by `Segment::zone`.
fn views_of_bytes<S, V>(stored: &GenericByteArray<S>) -> Result<ArrayRef, ArrowError>
where
    S: ByteArrayType<Offset = i32>,
    V: ByteViewType,
{
    let offsets = stored.value_offsets();
    let (first, last) = (offsets[0].as_usize(), offsets[stored.len()].as_usize());
    let bytes = stored.values().slice_with_length(first, last - first);
    let views = offsets.windows(2).map(|ends| {
        let (start, end) = (ends[0].as_usize() - first, ends[1].as_usize() - first);
        make_view(&bytes[start..end], 0, start as u32)
    });
    let views: ScalarBuffer<u128> = views.collect();
    // SAFETY: each view shows bytes of the buffer, between two offsets of an array whose values are of the same type. Held by
    // `every_encoding_reads_back_equal`.
    let array = unsafe { GenericByteViewArray::<V>::new_unchecked(views, [bytes], stored.nulls().cloned()) };
    Ok(Arc::new(array))
}

fn views_of_codes<K: ArrowDictionaryKeyType>(stored: &DictionaryArray<K>, to: &DataType) -> Result<ArrayRef, ArrowError> {
    // Few rows of many texts.
    if stored.len() < stored.values().len() {
        return decode(&take(stored.values(), stored.keys(), None)?, to);
    }
    let entries = decode(stored.values(), to)?;
    match to {
        DataType::Utf8View => Ok(gather(stored, entries.as_string_view())),
        _ => Ok(gather(stored, entries.as_binary_view())),
    }
}

fn gather<K, V>(stored: &DictionaryArray<K>, entries: &GenericByteViewArray<V>) -> ArrayRef
where
    K: ArrowDictionaryKeyType + ArrowPrimitiveType,
    V: ByteViewType,
{
    let views = entries.views();
    // Beneath a NULL there is a code that an empty dictionary does not have.
    let view = |code: &K::Native| views.get(code.as_usize()).copied().unwrap_or_default();
    let views: ScalarBuffer<u128> = stored.keys().values().iter().map(view).collect();
    // SAFETY: each view is one of `entries`, whose buffers these are, or that of an empty text. Held by `every_encoding_reads_back_equal`.
    let array = unsafe { GenericByteViewArray::<V>::new_unchecked(views, entries.data_buffers().to_vec(), stored.nulls().cloned()) };
    Arc::new(array)
}
