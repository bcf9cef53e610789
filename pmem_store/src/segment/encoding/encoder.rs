//! Batches of the physical schema as a segment stores them.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, DictionaryArray, RecordBatch, RecordBatchOptions, UInt8Array, UInt16Array};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Schema, SchemaRef};
use arrow::error::ArrowError;

use super::ColumnEncoding;
use super::choice::{ROWS_MIN, choose};
use super::dictionary::DictionaryBuilder;
use super::integers::narrow;

/// The least widths, in bytes, of the values or codes of each column in the next segment. With a width that is not less than that of the physical
/// type, integers are stored plainly; with more than two bytes, texts have no dictionary.
#[derive(Debug)]
pub(in crate::segment) struct LeastWidths {
    of_columns: Vec<usize>,
    misfits: usize,
}

impl LeastWidths {
    pub fn new(columns: usize) -> LeastWidths {
        LeastWidths { of_columns: vec![1; columns], misfits: 0 }
    }

    /// Values of some columns did not fit. From the second time on all columns get wider, so that there are few times, however many columns there are:
    /// a merge of small segments has fewer of them as its result.
    fn raise(&mut self, encodings: impl Iterator<Item = ColumnEncoding>, misfits: &[usize]) {
        self.misfits += 1;
        for (index, (width, encoding)) in self.of_columns.iter_mut().zip(encodings).enumerate() {
            *width = encoding.width().max(*width);
            if self.misfits > 1 || misfits.contains(&index) {
                *width *= 2;
            }
        }
    }
}

/// Encodes the batches of one segment.
#[derive(Debug)]
pub(in crate::segment) struct SegmentEncoder {
    stored: SchemaRef,
    columns: Vec<ColumnEncoder>,
}

#[derive(Debug)]
struct ColumnEncoder {
    encoding: ColumnEncoding,
    dictionary: Option<DictionaryBuilder>,
}

impl SegmentEncoder {
    /// Stores all columns as they are.
    pub fn plain(physical: &SchemaRef) -> SegmentEncoder {
        let columns = physical.fields().iter().map(|_| ColumnEncoder::new(ColumnEncoding::Plain)).collect();
        SegmentEncoder { stored: Arc::clone(physical), columns }
    }

    /// Chooses from the first batch of the segment.
    pub fn of(batch: &RecordBatch, widths: &LeastWidths) -> Result<SegmentEncoder, ArrowError> {
        let physical = batch.schema();
        if batch.num_rows() < ROWS_MIN {
            return Ok(SegmentEncoder::plain(&physical));
        }
        let columns = batch.columns().iter().zip(physical.fields()).zip(&widths.of_columns);
        let encodings = columns.map(|((column, field), width_min)| choose(column, field, *width_min)).collect::<Result<Vec<_>, _>>()?;
        let fields = physical.fields().iter().zip(&encodings).map(|(field, encoding)| encoding.stored_field(field));
        let stored = Schema::new_with_metadata(fields.collect::<Vec<_>>(), physical.metadata().clone());
        Ok(SegmentEncoder { stored: Arc::new(stored), columns: encodings.into_iter().map(ColumnEncoder::new).collect() })
    }

    pub fn stored(&self) -> &SchemaRef {
        &self.stored
    }

    /// `None` if values do not fit: then another segment has to begin, with the widths that are raised for it.
    pub fn encode(&mut self, batch: &RecordBatch, widths: &mut LeastWidths) -> Result<Option<RecordBatch>, ArrowError> {
        let mut arrays = Vec::with_capacity(batch.num_columns());
        let mut misfits = Vec::new();
        for (index, (column, encoder)) in batch.columns().iter().zip(&mut self.columns).enumerate() {
            match encoder.encode(column)? {
                Some(array) => arrays.push(array),
                None => misfits.push(index),
            }
        }
        if misfits.is_empty() {
            let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            return Ok(Some(RecordBatch::try_new_with_options(Arc::clone(&self.stored), arrays, &options)?));
        }
        widths.raise(self.columns.iter().map(|column| column.encoding), &misfits);
        Ok(None)
    }
}

impl ColumnEncoding {
    /// The least width with which a column is stored in this way again.
    fn width(self) -> usize {
        match self {
            ColumnEncoding::Integers(width) | ColumnEncoding::Dictionary(width) => width,
            // No dictionary has codes of four bytes.
            ColumnEncoding::Offsets => 4,
            // Integers of 16 bytes are the widest.
            ColumnEncoding::Plain => 16,
        }
    }
}

impl ColumnEncoder {
    fn new(encoding: ColumnEncoding) -> ColumnEncoder {
        let dictionary = match encoding {
            ColumnEncoding::Dictionary(1) => Some(DictionaryBuilder::new(1 << 8)),
            ColumnEncoding::Dictionary(_) => Some(DictionaryBuilder::new(1 << 16)),
            _ => None,
        };
        ColumnEncoder { encoding, dictionary }
    }

    /// `None` if a value does not fit.
    fn encode(&mut self, column: &ArrayRef) -> Result<Option<ArrayRef>, ArrowError> {
        match (self.encoding, &mut self.dictionary) {
            (ColumnEncoding::Integers(width), _) => narrow(column, width),
            (ColumnEncoding::Dictionary(width), Some(dictionary)) => in_dictionary(column, dictionary, width),
            (ColumnEncoding::Offsets, _) => match bytes_of(column) <= i32::MAX as usize {
                true => cast(column, &self.encoding.stored_type(column.data_type())).map(Some),
                false => Ok(None),
            },
            _ => Ok(Some(Arc::clone(column))),
        }
    }
}

fn bytes_of(column: &ArrayRef) -> usize {
    match column.data_type() {
        DataType::Utf8View => column.as_string_view().lengths().map(|length| length as usize).sum(),
        _ => column.as_binary_view().lengths().map(|length| length as usize).sum(),
    }
}

fn in_dictionary(column: &ArrayRef, dictionary: &mut DictionaryBuilder, width: usize) -> Result<Option<ArrayRef>, ArrowError> {
    let (codes, values_type) = match column.data_type() {
        DataType::Utf8View => (dictionary.codes(column.as_string_view()), DataType::Utf8),
        _ => (dictionary.codes(column.as_binary_view()), DataType::Binary),
    };
    let Some(codes) = codes else { return Ok(None) };
    let (values, nulls) = (dictionary.values(&values_type)?, column.nulls().cloned());
    Ok(Some(match width {
        1 => {
            // A dictionary for these codes has at most 256 texts.
            let codes: Vec<u8> = codes.into_iter().map(|code| code as u8).collect();
            Arc::new(DictionaryArray::try_new(UInt8Array::new(codes.into(), nulls), values)?)
        }
        _ => Arc::new(DictionaryArray::try_new(UInt16Array::new(codes.into(), nulls), values)?),
    }))
}
