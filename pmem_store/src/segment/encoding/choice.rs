//! How a column is stored, decided from the first rows of a segment.

use arrow::array::{Array, ArrayRef, AsArray, GenericByteViewArray};
use arrow::datatypes::{BinaryViewType, ByteViewType, DataType, Field, StringViewType};
use arrow::error::ArrowError;

use super::ColumnEncoding;
use super::dictionary::DictionaryBuilder;
use super::integers::{integer_width, range};
use crate::ZONE_ROWS;
use crate::segment::statistics::has_no_statistics;

/// Fewer rows stay as they are. Among them are those that are so wide that they end their segment: its size is chosen so that compaction does not
/// count it among the small ones.
pub(super) const ROWS_MIN: usize = ZONE_ROWS;
/// Of a dictionary that codes of two bytes index, when it begins.
const ENTRIES_MAX: usize = 16 << 10;
/// A value has to be there so often for a dictionary.
const REPEATS_MIN: usize = 4;
/// Longer texts are stored as views: what views take besides is little, and they are read in place.
const OFFSETS_LENGTH_MAX: usize = 256;
/// An array with 32-bit offsets has fewer bytes.
const OFFSETS_BYTES_MAX: usize = i32::MAX as usize / 2;

/// Whether values of a physical type can be stored in this way.
pub(super) fn is_possible(encoding: ColumnEncoding, physical: &DataType) -> bool {
    let is_view = matches!(physical, DataType::Utf8View | DataType::BinaryView);
    match encoding {
        ColumnEncoding::Plain => true,
        ColumnEncoding::Integers(width) => integer_width(physical).is_some_and(|own| width < own),
        ColumnEncoding::Dictionary(width) => is_view && width <= 2,
        ColumnEncoding::Offsets => is_view,
    }
}

/// `width_min`: the least bytes for a value or a code, as an earlier segment has needed.
pub(super) fn choose(column: &ArrayRef, field: &Field, width_min: usize) -> Result<ColumnEncoding, ArrowError> {
    // Contents of blobs, which are read where they lie.
    if has_no_statistics(field) {
        return Ok(ColumnEncoding::Plain);
    }
    Ok(match field.data_type() {
        DataType::Utf8View => of_texts::<StringViewType>(column.as_string_view(), width_min),
        DataType::BinaryView => of_texts::<BinaryViewType>(column.as_binary_view(), width_min),
        data_type => match integer_width(data_type).zip(range(column)?) {
            Some((own, range)) => of_integers(range, own, *data_type != DataType::Date32, width_min),
            None => ColumnEncoding::Plain,
        },
    })
}

/// Twice the range must fit if values are `growing`: later rows of the segment may have greater ones. Days of two bytes last until 2059.
fn of_integers((min, max): (i128, i128), own: usize, growing: bool, width_min: usize) -> ColumnEncoding {
    let fits = |width: &usize| {
        let end = 1i128 << (8 * width - 1 - usize::from(growing));
        min >= -end && max < end
    };
    let width = [1, 2, 4, 8].into_iter().filter(|width| *width >= width_min).find(fits);
    match width.filter(|width| *width < own) {
        Some(width) => ColumnEncoding::Integers(width),
        None => ColumnEncoding::Plain,
    }
}

fn of_texts<T: ByteViewType>(column: &GenericByteViewArray<T>, width_min: usize) -> ColumnEncoding {
    if let Some(width) = code_width(column, width_min) {
        return ColumnEncoding::Dictionary(width);
    }
    let bytes: usize = column.lengths().map(|length| length as usize).sum();
    match bytes <= OFFSETS_BYTES_MAX && bytes <= OFFSETS_LENGTH_MAX * column.len() {
        true => ColumnEncoding::Offsets,
        false => ColumnEncoding::Plain,
    }
}

/// The bytes of a code; `None` if the texts are too many, or too long, for a dictionary.
fn code_width<T: ByteViewType>(column: &GenericByteViewArray<T>, width_min: usize) -> Option<usize> {
    let width_of = |entries: usize| if entries <= 128 { 1 } else { 2 };
    let mut dictionary = DictionaryBuilder::new(ENTRIES_MAX);
    // Texts that hardly repeat are found early.
    let sample = column.slice(0, column.len().min(ZONE_ROWS));
    dictionary.codes(&sample)?;
    if dictionary.len() * 2 > sample.len() {
        return None;
    }
    dictionary.codes(column)?;
    let width = width_of(dictionary.len()).max(width_min);
    (width <= 2 && dictionary.len() * REPEATS_MIN <= column.len()).then_some(width)
}
