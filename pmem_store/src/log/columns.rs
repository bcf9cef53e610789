//! Columns that rows are added to one by one.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayData, ArrayRef, AsArray, BooleanBufferBuilder, ByteView, GenericByteViewArray, NullBufferBuilder, downcast_primitive,
    make_array,
};
use arrow::buffer::{Buffer, MutableBuffer, ScalarBuffer};
use arrow::datatypes::{BinaryViewType, ByteViewType, DataType, Field, StringViewType, ToByteSlice};

use crate::error::Result;

/// Longer values lie outside their view.
const INLINE_BYTES_MAX: u32 = 12;

/// Values are copied, so it holds nothing of the arrays they came in.
#[derive(Debug)]
pub(super) struct Column {
    data_type: DataType,
    is_nullable: bool,
    nulls: NullBufferBuilder,
    values: Values,
}

#[derive(Debug)]
enum Values {
    /// Of the same size each.
    Fixed(MutableBuffer),
    Bits(BooleanBufferBuilder),
    Views {
        views: Vec<u128>,
        long: Vec<u8>,
    },
}

impl Column {
    /// None for a type of another kind.
    pub fn new(field: &Field) -> Option<Column> {
        let values = match field.data_type() {
            DataType::Boolean => Values::Bits(BooleanBufferBuilder::new(0)),
            DataType::Utf8View | DataType::BinaryView => Values::Views { views: Vec::new(), long: Vec::new() },
            other if other.is_primitive() => Values::Fixed(MutableBuffer::new(0)),
            _ => return None,
        };
        let (data_type, is_nullable) = (field.data_type().clone(), field.is_nullable());
        Some(Column { data_type, is_nullable, nulls: NullBufferBuilder::new(0), values })
    }

    /// Of the fixed part of a value, and of what says that it is NULL.
    pub fn row_bits(&self) -> usize {
        let value_bits = match &self.values {
            Values::Fixed(_) => 8 * self.data_type.primitive_width().unwrap_or_default(),
            Values::Bits(_) => 1,
            Values::Views { .. } => u128::BITS as usize,
        };
        value_bits + 1
    }

    /// Whether the array is one of this column.
    pub fn takes(&self, array: &ArrayRef) -> bool {
        *array.data_type() == self.data_type && (self.is_nullable || array.null_count() == 0)
    }

    pub fn push(&mut self, array: &ArrayRef) {
        match array.nulls() {
            None => self.nulls.append_n_non_nulls(array.len()),
            Some(nulls) => self.nulls.append_buffer(nulls),
        }
        match &mut self.values {
            Values::Fixed(values) => values.extend_from_slice(fixed_values(array)),
            Values::Bits(values) => values.append_buffer(array.as_boolean().values()),
            Values::Views { views, long } => match self.data_type {
                DataType::Utf8View => push_views(array.as_string_view(), views, long),
                _ => push_views(array.as_binary_view(), views, long),
            },
        }
    }

    /// The column as it is, of `rows` rows; none are left.
    pub fn take(&mut self, rows: usize) -> Result<ArrayRef> {
        let nulls = self.nulls.finish();
        let fixed = |values: Buffer| {
            let data = ArrayData::builder(self.data_type.clone()).len(rows).nulls(nulls.clone()).add_buffer(values);
            Ok(make_array(data.build()?))
        };
        match &mut self.values {
            Values::Fixed(values) => fixed(std::mem::take(values).into()),
            Values::Bits(values) => fixed(values.finish().into_inner()),
            Values::Views { views, long } => {
                let (views, long) = (ScalarBuffer::from(std::mem::take(views)), std::mem::take(long));
                let buffers = if long.is_empty() { Vec::new() } else { vec![Buffer::from_vec(long)] };
                Ok(match self.data_type {
                    DataType::Utf8View => Arc::new(GenericByteViewArray::<StringViewType>::try_new(views, buffers, nulls)?),
                    _ => Arc::new(GenericByteViewArray::<BinaryViewType>::try_new(views, buffers, nulls)?),
                })
            }
        }
    }
}

/// The bytes of the values that do not lie in their views.
pub(super) fn long_bytes<T: ByteViewType>(array: &GenericByteViewArray<T>) -> usize {
    let lengths = array.views().iter().map(|view| *view as u32);
    lengths.filter(|length| *length > INLINE_BYTES_MAX).map(|length| length as usize).sum()
}

fn push_views<T: ByteViewType>(array: &GenericByteViewArray<T>, views: &mut Vec<u128>, long: &mut Vec<u8>) {
    for (row, view) in array.views().iter().enumerate() {
        let view = ByteView::from(*view);
        if array.is_null(row) {
            // Its view may be anything.
            views.push(0);
        } else if view.length <= INLINE_BYTES_MAX {
            views.push(view.as_u128());
        } else {
            views.push(ByteView { buffer_index: 0, offset: long.len() as u32, ..view }.as_u128());
            let start = view.offset as usize;
            long.extend_from_slice(&array.data_buffers()[view.buffer_index as usize][start..start + view.length as usize]);
        }
    }
}

fn fixed_values(array: &ArrayRef) -> &[u8] {
    macro_rules! values {
        ($type:ty) => {
            array.as_primitive::<$type>().values().as_ref().to_byte_slice()
        };
    }
    downcast_primitive! {
        array.data_type() => (values),
        _ => unreachable!("a column of values of the same size takes primitive arrays alone"),
    }
}
