//! Arrays as a module sees them: the structs of the C data interface and the buffers, next to each other in its memory.

use arrow::array::{ArrayData, layout};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::DataType;
use arrow::ffi::FFI_ArrowSchema;

use super::error::WasmError;
use super::layout::*;

/// At least the bytes that [`GuestWriter`] needs for these.
pub fn size_bytes(data: &ArrayData) -> Result<usize, WasmError> {
    // Each buffer begins at a multiple of the alignment, and bitmaps begin at a byte.
    const NODE_BYTES: usize = 5 * (ALIGNMENT as usize + 8) + ARRAY_BYTES as usize + SCHEMA_BYTES as usize + 256;
    fn nodes(data: &ArrayData) -> usize {
        1 + data.child_data().iter().map(nodes).sum::<usize>()
    }
    Ok(data.get_slice_memory_size()? + nodes(data) * NODE_BYTES)
}

/// Fills a piece of the module's memory from its beginning.
pub struct GuestWriter<'a> {
    memory: &'a mut [u8],
    next: u32,
    end: u32,
}

impl<'a> GuestWriter<'a> {
    /// The piece is in the memory.
    pub fn new(memory: &'a mut [u8], start: u32, len: u32) -> Result<GuestWriter<'a>, WasmError> {
        let end = start.checked_add(len).filter(|end| *end as usize <= memory.len());
        let end =
            end.ok_or_else(|| WasmError::NoArray(format!("quiver_alloc({len}) returned {start}, which is not in the module's memory")))?;
        Ok(GuestWriter { memory, next: start, end })
    }

    fn place(&mut self, len: usize, alignment: u32) -> Result<u32, WasmError> {
        let start = self.next.checked_next_multiple_of(alignment);
        let end = start.and_then(|start| start.checked_add(u32::try_from(len).ok()?)).filter(|end| *end <= self.end);
        let (Some(start), Some(end)) = (start, end) else {
            return Err(WasmError::NoArray("the arguments do not fit into the memory that was reserved for them".into()));
        };
        self.next = end;
        Ok(start)
    }

    /// Zeros.
    pub fn zeros(&mut self, len: u32) -> Result<u32, WasmError> {
        let start = self.place(len as usize, ALIGNMENT)?;
        self.memory[start as usize..(start + len) as usize].fill(0);
        Ok(start)
    }

    pub fn put(&mut self, bytes: &[u8], alignment: u32) -> Result<u32, WasmError> {
        let start = self.place(bytes.len(), alignment)?;
        self.memory[start as usize..][..bytes.len()].copy_from_slice(bytes);
        Ok(start)
    }

    fn text(&mut self, text: &str) -> Result<u32, WasmError> {
        let start = self.put(text.as_bytes(), 1)?;
        self.put(&[0], 1)?;
        Ok(start)
    }

    fn set_u32(&mut self, address: u32, value: u32) {
        self.memory[address as usize..][..4].copy_from_slice(&value.to_le_bytes());
    }

    fn set_i64(&mut self, address: u32, value: usize) {
        self.memory[address as usize..][..8].copy_from_slice(&(value as i64).to_le_bytes());
    }

    pub fn schema(&mut self, schema: &FFI_ArrowSchema) -> Result<u32, WasmError> {
        let at = self.zeros(SCHEMA_BYTES)?;
        self.fill_schema(at, schema)?;
        Ok(at)
    }

    fn fill_schema(&mut self, at: u32, schema: &FFI_ArrowSchema) -> Result<(), WasmError> {
        let (format, name) = (self.text(schema.format())?, self.text(schema.name().unwrap_or_default())?);
        let children: Vec<&FFI_ArrowSchema> = schema.children().collect();
        self.set_u32(at + SCHEMA_FORMAT, format);
        self.set_u32(at + SCHEMA_NAME, name);
        self.set_i64(at + SCHEMA_FLAGS, schema.flags().map_or(0, |flags| flags.bits() as usize));
        self.set_i64(at + SCHEMA_CHILD_COUNT, children.len());
        let pointers = self.zeros(4 * children.len() as u32)?;
        self.set_u32(at + SCHEMA_CHILDREN, pointers);
        for (child, pointer) in children.into_iter().zip((pointers..).step_by(4)) {
            let at = self.schema(child)?;
            self.set_u32(pointer, at);
        }
        Ok(())
    }

    /// An array. Its offset is 0 there.
    pub fn array(&mut self, data: &ArrayData) -> Result<u32, WasmError> {
        let at = self.zeros(ARRAY_BYTES)?;
        let nulls = match data.nulls().filter(|nulls| nulls.null_count() > 0) {
            Some(nulls) => self.put(nulls.inner().sliced().as_slice(), ALIGNMENT)?,
            None => 0,
        };
        let (first, len) = (data.offset(), data.len());
        let (mut buffers, mut children) = (vec![nulls], Vec::new());
        match data.data_type() {
            DataType::Null => buffers.clear(),
            DataType::Boolean => {
                let values = BooleanBuffer::new(data.buffers()[0].clone(), first, len).sliced();
                buffers.push(self.put(values.as_slice(), ALIGNMENT)?);
            }
            DataType::Utf8 | DataType::Binary => {
                let range = self.offsets::<4>(data, &mut buffers)?;
                buffers.push(self.put(&data.buffers()[1].as_slice()[range], ALIGNMENT)?);
            }
            DataType::LargeUtf8 | DataType::LargeBinary => {
                let range = self.offsets::<8>(data, &mut buffers)?;
                buffers.push(self.put(&data.buffers()[1].as_slice()[range], ALIGNMENT)?);
            }
            DataType::List(_) | DataType::Map(..) => {
                let range = self.offsets::<4>(data, &mut buffers)?;
                children.push(data.child_data()[0].slice(range.start, range.len()));
            }
            DataType::LargeList(_) => {
                let range = self.offsets::<8>(data, &mut buffers)?;
                children.push(data.child_data()[0].slice(range.start, range.len()));
            }
            DataType::FixedSizeList(_, size) => {
                let size = *size as usize;
                children.push(data.child_data()[0].slice(first * size, len * size));
            }
            DataType::Struct(_) => children.extend(data.child_data().iter().map(|child| child.slice(first, len))),
            other => {
                let width = fixed_width(other)?;
                buffers.push(self.put(&data.buffers()[0].as_slice()[first * width..(first + len) * width], ALIGNMENT)?);
            }
        }
        self.set_i64(at + ARRAY_LENGTH, len);
        self.set_i64(at + ARRAY_NULL_COUNT, data.null_count());
        self.set_i64(at + ARRAY_BUFFER_COUNT, buffers.len());
        self.set_i64(at + ARRAY_CHILD_COUNT, children.len());
        let pointers = self.zeros(4 * (buffers.len() + children.len()) as u32)?;
        for (buffer, pointer) in buffers.iter().zip((pointers..).step_by(4)) {
            self.set_u32(pointer, *buffer);
        }
        let of_children = pointers + 4 * buffers.len() as u32;
        self.set_u32(at + ARRAY_BUFFERS, pointers);
        self.set_u32(at + ARRAY_CHILDREN, of_children);
        for (child, pointer) in children.iter().zip((of_children..).step_by(4)) {
            let at = self.array(child)?;
            self.set_u32(pointer, at);
        }
        Ok(at)
    }

    /// The offsets of `WIDTH` bytes, from 0; returns which values they are about.
    fn offsets<const WIDTH: usize>(&mut self, data: &ArrayData, buffers: &mut Vec<u32>) -> Result<std::ops::Range<usize>, WasmError> {
        let offsets = data.buffers()[0].as_slice();
        let at = |row: usize| -> usize {
            let mut value = [0; 8];
            if let Some(bytes) = offsets.get(row * WIDTH..(row + 1) * WIDTH) {
                value[..WIDTH].copy_from_slice(bytes);
            }
            u64::from_le_bytes(value) as usize
        };
        let (first, len) = (data.offset(), data.len());
        let range = at(first)..at(first + len);
        let start = self.place((len + 1) * WIDTH, ALIGNMENT)?;
        for row in 0..=len {
            let value = (at(first + row) - range.start).to_le_bytes();
            self.memory[start as usize + row * WIDTH..][..WIDTH].copy_from_slice(&value[..WIDTH]);
        }
        buffers.push(start);
        Ok(range)
    }
}

/// The bytes of a value of a type whose values all have as many.
pub fn fixed_width(data_type: &DataType) -> Result<usize, WasmError> {
    use arrow::array::BufferSpec::FixedWidth;
    match (data_type, layout(data_type).buffers.as_slice()) {
        (DataType::FixedSizeBinary(size), _) => Ok(*size as usize),
        (DataType::Utf8View | DataType::BinaryView | DataType::Dictionary(..) | DataType::RunEndEncoded(..) | DataType::Union(..), _) => {
            Err(WasmError::UnsupportedType(data_type.to_string()))
        }
        (_, [FixedWidth { byte_width, .. }]) => Ok(*byte_width),
        _ => Err(WasmError::UnsupportedType(data_type.to_string())),
    }
}
