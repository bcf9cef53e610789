//! Builds the index while the rows of a segment are written.

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashMap};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BinaryBuilder, BinaryViewArray, BooleanArray, ListArray, RecordBatch, StringArray, StructArray};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, Fields, Schema};
use foldhash::fast::RandomState;

use super::postings::put_rows;
use crate::attributes::{put_sort_key, visit_packed};
use crate::error::Result;
use crate::segment::with_mark;

/// In the metadata of a field: a segment has an index over this column.
const MARK: &str = "quiver.attribute_index";

/// The field of a column of packed attributes, whose segments get an index.
pub fn with_attribute_index(field: Field) -> Field {
    with_mark(field, MARK)
}

/// The column that is to be indexed.
pub(super) fn indexed_column(schema: &Schema) -> Option<usize> {
    schema.fields().iter().position(|field| field.metadata().contains_key(MARK) && *field.data_type() == DataType::BinaryView)
}

/// The values of so many rows are divided by their keys first, so that the values of one key, which are looked up one after the other, stay
/// in the caches of the processor.
const ROWS_AT_ONCE: usize = 32_768;

#[derive(Debug, Default)]
pub struct AttributeIndexBuilder {
    row_count: u32,
    keys: HashMap<Box<str>, KeyBuilder, RandomState>,
}

#[derive(Debug, Default)]
struct KeyBuilder {
    /// The number of each value, in the order in which they came.
    values: HashMap<ShortBytes, u32, RandomState>,
    /// Value and row, ascending by row. Rows are gathered by value at the end, which takes less than a list for each value that grows.
    rows: Vec<(u32, u32)>,
    /// A row has several values.
    has_lists: bool,
    incoming: IncomingValues,
}

/// Values of one key, as they came.
#[derive(Debug, Default)]
struct IncomingValues {
    /// The row of each value, and how many bytes it has.
    values: Vec<(u32, u32)>,
    bytes: Vec<u8>,
}

impl KeyBuilder {
    fn add_incoming(&mut self) {
        let mut incoming = std::mem::take(&mut self.incoming);
        let mut start = 0;
        for (row, length) in incoming.values.drain(..) {
            let end = start + length as usize;
            self.add(&incoming.bytes[start..end], row);
            start = end;
        }
        // The vectors keep their capacity for the next rows.
        incoming.bytes.clear();
        self.incoming = incoming;
    }

    fn add(&mut self, value: &[u8], row: u32) {
        let next = self.values.len() as u32;
        let number = match self.values.get(value) {
            Some(number) => *number,
            None => *self.values.entry(ShortBytes::new(value)).or_insert(next),
        };
        self.has_lists |= self.rows.last().is_some_and(|(_, last)| *last == row);
        self.rows.push((number, row));
    }

    /// The values, ascending, each with its rows, ascending.
    fn sorted(self) -> Vec<(ShortBytes, Vec<u32>)> {
        let mut counts = vec![0u32; self.values.len()];
        self.rows.iter().for_each(|(value, _)| counts[*value as usize] += 1);
        let mut of_values: Vec<Vec<u32>> = counts.into_iter().map(|count| Vec::with_capacity(count as usize)).collect();
        for (value, row) in self.rows {
            let rows = &mut of_values[value as usize];
            // A list may have a value several times.
            if rows.last() != Some(&row) {
                rows.push(row);
            }
        }
        let mut sorted: Vec<(ShortBytes, Vec<u32>)> =
            self.values.into_iter().map(|(value, number)| (value, std::mem::take(&mut of_values[number as usize]))).collect();
        sorted.sort_unstable_by(|one, other| one.0.bytes().cmp(other.0.bytes()));
        sorted
    }
}

/// Bytes without an allocation if they are as few as those of a number: a lookup then misses the cache once less.
#[derive(Debug)]
enum ShortBytes {
    Inline { length: u8, bytes: [u8; INLINE_BYTES] },
    Boxed(Box<[u8]>),
}

const INLINE_BYTES: usize = 14;

impl ShortBytes {
    fn new(from: &[u8]) -> ShortBytes {
        if from.len() > INLINE_BYTES {
            return ShortBytes::Boxed(from.into());
        }
        let mut bytes = [0; INLINE_BYTES];
        bytes[..from.len()].copy_from_slice(from);
        ShortBytes::Inline { length: from.len() as u8, bytes }
    }

    fn bytes(&self) -> &[u8] {
        match self {
            ShortBytes::Inline { length, bytes } => &bytes[..usize::from(*length)],
            ShortBytes::Boxed(bytes) => bytes,
        }
    }
}

impl Borrow<[u8]> for ShortBytes {
    fn borrow(&self) -> &[u8] {
        self.bytes()
    }
}

impl Hash for ShortBytes {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bytes().hash(state);
    }
}

impl PartialEq for ShortBytes {
    fn eq(&self, other: &ShortBytes) -> bool {
        self.bytes() == other.bytes()
    }
}

impl Eq for ShortBytes {}

impl AttributeIndexBuilder {
    /// Attributes that cannot be read are an error: a segment whose index lacks them would be searched in vain.
    pub fn add(&mut self, packed: &BinaryViewArray) -> Result<()> {
        for first in (0..packed.len()).step_by(ROWS_AT_ONCE) {
            self.split_by_key(&packed.slice(first, ROWS_AT_ONCE.min(packed.len() - first)))?;
            self.keys.values_mut().for_each(KeyBuilder::add_incoming);
        }
        Ok(())
    }

    fn split_by_key(&mut self, packed: &BinaryViewArray) -> Result<()> {
        for packed in packed {
            let row = self.row_count;
            self.row_count += 1;
            let keys = &mut self.keys;
            visit_packed(packed.unwrap_or_default(), &mut |key, value| {
                let of_key = match keys.get_mut(key) {
                    Some(of_key) => of_key,
                    None => keys.entry(key.into()).or_default(),
                };
                let IncomingValues { values, bytes } = &mut of_key.incoming;
                let start = bytes.len();
                put_sort_key(bytes, value);
                values.push((row, (bytes.len() - start) as u32));
            })?;
        }
        Ok(())
    }

    /// A row for each key, in their order: the key, and a list of its values with their rows, in the order of the values.
    pub fn finish(self) -> Result<RecordBatch> {
        let keys: BTreeMap<Box<str>, KeyBuilder> = self.keys.into_iter().collect();
        let has_lists: BooleanArray = keys.values().map(|of_key| Some(of_key.has_lists)).collect();
        let names = StringArray::from_iter_values(keys.keys());
        let (mut values, mut rows, mut lengths) = (BinaryBuilder::new(), BinaryBuilder::new(), Vec::with_capacity(keys.len()));
        let mut bytes = Vec::new();
        for of_key in keys.into_values() {
            let found = of_key.sorted();
            lengths.push(found.len());
            for (value, of_value) in found {
                values.append_value(value.bytes());
                bytes.clear();
                put_rows(&mut bytes, &of_value);
                rows.append_value(&bytes);
            }
        }
        let columns: Vec<ArrayRef> = vec![Arc::new(values.finish()), Arc::new(rows.finish())];
        let fields = Fields::from(vec![Field::new("value", DataType::Binary, false), Field::new("rows", DataType::Binary, false)]);
        let entries = StructArray::try_new(fields.clone(), columns, None)?;
        let entry = Arc::new(Field::new("entry", DataType::Struct(fields), false));
        let lists = ListArray::try_new(Arc::clone(&entry), OffsetBuffer::from_lengths(lengths), Arc::new(entries), None)?;
        let schema = Schema::new(vec![
            Field::new("key", DataType::Utf8, false),
            Field::new("has_lists", DataType::Boolean, false),
            Field::new("values", DataType::List(entry), false),
        ]);
        Ok(RecordBatch::try_new(Arc::new(schema), vec![Arc::new(names), Arc::new(has_lists), Arc::new(lists)])?)
    }
}
