//! The array that a module has left in its memory. Nothing in it is trusted.

use arrow::array::{ArrayData, ArrayDataBuilder};
use arrow::buffer::{Buffer, MutableBuffer};
use arrow::datatypes::DataType;
use arrow::util::bit_util::ceil;

use super::error::WasmError;
use super::guest_memory::GuestMemory;
use super::layout::*;
use super::to_guest::fixed_width;

/// Nested types are not deeper in SQL.
const DEPTH_MAX: usize = 128;

/// The array of this type at an address, copied and validated.
pub fn array(memory: &GuestMemory<'_>, address: u32, data_type: &DataType) -> Result<ArrayData, WasmError> {
    let data = read(memory, address, data_type, DEPTH_MAX)?;
    data.validate_full()?;
    Ok(data)
}

fn read(memory: &GuestMemory<'_>, at: u32, data_type: &DataType, depth: usize) -> Result<ArrayData, WasmError> {
    let field = |offset: u32| memory.i64(at.checked_add(offset).ok_or_else(|| invalid("an array lies outside of the memory"))?);
    let count = |offset: u32, what: &str| -> Result<usize, WasmError> {
        let value = field(offset)?;
        usize::try_from(value).ok().filter(|value| *value <= memory.0.len() * 8).ok_or_else(|| invalid(&format!("its {what} is {value}")))
    };
    if depth == 0 {
        return Err(invalid("it is nested too deep"));
    }
    let (len, first) = (count(ARRAY_LENGTH, "length")?, count(ARRAY_OFFSET, "offset")?);
    let (buffers, children) = (count(ARRAY_BUFFER_COUNT, "number of buffers")?, count(ARRAY_CHILD_COUNT, "number of children")?);
    let (expected_buffers, expected_children) = shape_of(data_type);
    if (buffers, children) != (expected_buffers, expected_children) {
        return Err(invalid(&format!(
            "{data_type} has {expected_buffers} buffers and {expected_children} children, and it has {buffers} and {children}"
        )));
    }
    let (of_buffers, of_children) = (memory.u32(at + ARRAY_BUFFERS)?, memory.u32(at + ARRAY_CHILDREN)?);
    let pointer = |of: u32, index: usize| memory.u32(of.checked_add(4 * index as u32).ok_or_else(|| invalid("a pointer is too great"))?);
    let buffer = |index: usize, len: usize| -> Result<Buffer, WasmError> {
        let address = pointer(of_buffers, index)?;
        // A pointer to nothing is no error where there is nothing.
        let bytes = if len == 0 { &[][..] } else { memory.bytes(address, len)? };
        Ok(copied(bytes))
    };
    let rows = first.checked_add(len).ok_or_else(|| invalid("its length is too great"))?;
    let sized = |count: usize, width: usize| count.checked_mul(width).ok_or_else(|| invalid("its length is too great"));
    let mut data = ArrayDataBuilder::new(data_type.clone()).len(len).offset(first);
    if expected_buffers > 0 && pointer(of_buffers, 0)? != 0 && field(ARRAY_NULL_COUNT)? != 0 {
        data = data.null_bit_buffer(Some(buffer(0, ceil(rows, 8))?));
    }
    let child = |index: usize, data_type: &DataType| read(memory, pointer(of_children, index)?, data_type, depth - 1);
    let offsets = |width: usize| -> Result<(Buffer, usize), WasmError> {
        let offsets = buffer(1, sized(rows + 1, width)?)?;
        let mut last = [0; 8];
        last[..width].copy_from_slice(&offsets[offsets.len() - width..]);
        Ok((offsets, usize::try_from(i64::from_le_bytes(last)).map_err(|_| invalid("an offset is negative"))?))
    };
    data = match data_type {
        DataType::Null => data,
        DataType::Boolean => data.add_buffer(buffer(1, ceil(rows, 8))?),
        DataType::Utf8 | DataType::Binary => {
            let (offsets, bytes) = offsets(4)?;
            data.add_buffer(offsets).add_buffer(buffer(2, bytes)?)
        }
        DataType::LargeUtf8 | DataType::LargeBinary => {
            let (offsets, bytes) = offsets(8)?;
            data.add_buffer(offsets).add_buffer(buffer(2, bytes)?)
        }
        DataType::List(field) | DataType::Map(field, _) => data.add_buffer(offsets(4)?.0).add_child_data(child(0, field.data_type())?),
        DataType::LargeList(field) => data.add_buffer(offsets(8)?.0).add_child_data(child(0, field.data_type())?),
        DataType::FixedSizeList(field, _) => data.add_child_data(child(0, field.data_type())?),
        DataType::Struct(fields) => {
            let children = fields.iter().enumerate().map(|(index, field)| child(index, field.data_type()));
            data.child_data(children.collect::<Result<_, _>>()?)
        }
        other => data.add_buffer(buffer(1, sized(rows, fixed_width(other)?)?)?),
    };
    Ok(data.build()?)
}

/// The numbers of buffers and children.
fn shape_of(data_type: &DataType) -> (usize, usize) {
    match data_type {
        DataType::Null => (0, 0),
        DataType::Utf8 | DataType::Binary | DataType::LargeUtf8 | DataType::LargeBinary => (3, 0),
        DataType::List(_) | DataType::LargeList(_) | DataType::Map(..) => (2, 1),
        DataType::FixedSizeList(..) => (1, 1),
        DataType::Struct(fields) => (1, fields.len()),
        _ => (2, 0),
    }
}

fn invalid(what: &str) -> WasmError {
    WasmError::NoArray(what.to_string())
}

/// Aligned, whatever the module's addresses are.
fn copied(bytes: &[u8]) -> Buffer {
    let mut buffer = MutableBuffer::with_capacity(bytes.len());
    buffer.extend_from_slice(bytes);
    buffer.into()
}
