//! The different texts of a column, numbered in the order in which they came.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, BinaryArray, GenericByteViewArray, MAX_INLINE_VIEW_LEN, StringArray};
use arrow::buffer::{Buffer, OffsetBuffer};
use arrow::datatypes::{ByteViewType, DataType};
use arrow::error::ArrowError;
use foldhash::fast::RandomState;

/// The bytes of all texts. They are verified when their segment is opened, and stay in memory while it is open.
const BYTES_MAX: usize = 64 << 10;

#[derive(Debug)]
pub(super) struct DictionaryBuilder {
    entries_max: usize,
    /// By their views, which have the whole text.
    short: HashMap<u128, u16, RandomState>,
    long: HashMap<Box<[u8]>, u16, RandomState>,
    bytes: Vec<u8>,
    offsets: Vec<i32>,
    /// The values of the last call, which stay the same array while no text is added.
    values: Option<ArrayRef>,
}

impl DictionaryBuilder {
    pub fn new(entries_max: usize) -> DictionaryBuilder {
        let (short, long) = (HashMap::default(), HashMap::default());
        DictionaryBuilder { entries_max, short, long, bytes: Vec::new(), offsets: vec![0], values: None }
    }

    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The codes of texts, 0 for NULL; `None` if the dictionary has no room for them all.
    pub fn codes<T: ByteViewType>(&mut self, array: &GenericByteViewArray<T>) -> Option<Vec<u16>> {
        let mut codes = Vec::with_capacity(array.len());
        let mut last = None;
        for (row, view) in array.views().iter().enumerate() {
            let code = match last {
                _ if array.is_null(row) => 0,
                // Only a short text is equal if its view is.
                Some((last, code)) if last == *view => code,
                _ if *view as u32 <= MAX_INLINE_VIEW_LEN => {
                    let code = match self.short.get(view) {
                        Some(code) => *code,
                        None => {
                            let code = self.add(AsRef::<[u8]>::as_ref(array.value(row)))?;
                            *self.short.entry(*view).or_insert(code)
                        }
                    };
                    last = Some((*view, code));
                    code
                }
                _ => {
                    let text: &[u8] = array.value(row).as_ref();
                    match self.long.get(text) {
                        Some(code) => *code,
                        None => {
                            let code = self.add(text)?;
                            *self.long.entry(text.into()).or_insert(code)
                        }
                    }
                }
            };
            codes.push(code);
        }
        Some(codes)
    }

    fn add(&mut self, text: &[u8]) -> Option<u16> {
        let code = self.len();
        if code >= self.entries_max || self.bytes.len() + text.len() > BYTES_MAX {
            return None;
        }
        self.values = None;
        self.bytes.extend_from_slice(text);
        self.offsets.push(i32::try_from(self.bytes.len()).ok()?);
        u16::try_from(code).ok()
    }

    /// The texts by their codes, as Utf8 or Binary.
    pub fn values(&mut self, data_type: &DataType) -> Result<ArrayRef, ArrowError> {
        if let Some(values) = &self.values {
            return Ok(Arc::clone(values));
        }
        let offsets = OffsetBuffer::new(self.offsets.clone().into());
        let bytes = Buffer::from(self.bytes.as_slice());
        let values: ArrayRef = match data_type {
            DataType::Utf8 => Arc::new(StringArray::try_new(offsets, bytes, None)?),
            _ => Arc::new(BinaryArray::try_new(offsets, bytes, None)?),
        };
        Ok(Arc::clone(self.values.insert(values)))
    }
}
