//! The arrays that a process has left in its file of results. Nothing in it is trusted.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::ptr::NonNull;
use std::sync::Arc;

use arrow::array::{ArrayData, ArrayDataBuilder, ArrayRef, RecordBatch, RecordBatchOptions, make_array};
use arrow::buffer::Buffer;
use arrow::datatypes::{DataType, SchemaRef};
use arrow::ipc::convert::try_schema_from_ipc_buffer;
use memmap2::MmapOptions;
use rustix::fs::{SealFlags, fcntl_add_seals};
use serde::Deserialize;

use super::error::{PythonError, invalid};
use super::session_requests::{SessionRequest, WriteMode};
use common::user_functions::as_type;

/// A description of arrays, or an error.
const TEXT_BYTES_MAX: u64 = 16 << 20;
/// Fewer bytes are copied sooner than a file is made for the next result.
const IN_PLACE_BYTES_MIN: usize = 1 << 20;
/// What a function says of itself is cut here.
const MESSAGE_BYTES_MAX: usize = 16 << 10;

/// The answer to a request.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Reply {
    pub error: Option<String>,
    pub traceback: Option<String>,
    batches: Vec<(Vec<ArrayDescription>, usize)>,
    /// What a procedure asks for before it has ended; the batches are its rows.
    request: Option<RequestDescription>,
}

#[derive(Deserialize)]
struct RequestDescription {
    /// The statement, or the name of the table.
    text: String,
    /// How rows are written into the table.
    mode: Option<WriteMode>,
    schema: Option<String>,
    /// Of the source, counted from 1.
    line: usize,
    /// Where a message of Arrow's IPC format lies with the columns of the rows: a row with the values of the parameters, or those to be written.
    columns: (usize, usize),
}

/// `[length, nulls, offset, buffers, children]`; a buffer is `[start, bytes]`.
#[derive(Deserialize)]
struct ArrayDescription(usize, i64, usize, Vec<Option<(usize, usize)>>, Vec<ArrayDescription>);

/// What lies in the file of results.
pub struct Content {
    pub buffer: Buffer,
    /// Whether the buffer is the file itself, which can take no other results any more.
    pub is_sealed: bool,
}

impl Content {
    /// The first bytes of the file, copied, as the process can change it. Many bytes stay where they are, if it can be kept from that: it has
    /// mapped the file otherwise.
    fn sealed_or_copied(file: &File, bytes: usize) -> Result<Content, PythonError> {
        let seals = SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW;
        let mut is_sealed = false;
        if bytes >= IN_PLACE_BYTES_MIN {
            // What lies behind would be kept with it.
            if file.metadata()?.len() > bytes as u64 {
                file.set_len(bytes as u64)?;
            }
            is_sealed = fcntl_add_seals(file, seals).is_ok();
        }
        if is_sealed && file.metadata()?.len() == bytes as u64 {
            // SAFETY: the seals let nobody change or shorten the file. Held by `a_large_result_stays_where_it_is`.
            let map = unsafe { MmapOptions::new().len(bytes).populate().map_copy_read_only(file) }?;
            let start = NonNull::from(map.as_ref()).cast();
            // SAFETY: the buffer owns the mapping, which has so many bytes. Held by `a_large_result_stays_where_it_is`.
            let buffer = unsafe { Buffer::from_custom_allocation(start, bytes, Arc::new(map)) };
            return Ok(Content { buffer, is_sealed });
        }
        let mut content = vec![0; bytes];
        file.read_exact_at(&mut content, 0)?;
        Ok(Content { buffer: Buffer::from_vec(content), is_sealed })
    }
}

impl Reply {
    /// The text of a reply, and what lies before it.
    pub fn read(file: &File, start: u64, bytes: u64, bytes_max: u64) -> Result<(Reply, Content), PythonError> {
        let end = start.checked_add(bytes).filter(|_| start <= bytes_max && bytes <= TEXT_BYTES_MAX);
        let end = end.and_then(|end| usize::try_from(end).ok()).ok_or_else(|| invalid("it is larger than the limit"))?;
        let Content { buffer, is_sealed } = Content::sealed_or_copied(file, end)?;
        let mut reply: Reply = serde_json::from_slice(&buffer[start as usize..]).map_err(|error| invalid(&error.to_string()))?;
        for text in [&mut reply.error, &mut reply.traceback].into_iter().flatten() {
            text.truncate(text.floor_char_boundary(MESSAGE_BYTES_MAX));
        }
        Ok((reply, Content { buffer: buffer.slice_with_length(0, start as usize), is_sealed }))
    }

    /// What a procedure asks its session for; `None` if the reply is its result.
    pub fn session_request(&mut self, content: &Buffer) -> Result<Option<SessionRequest>, PythonError> {
        let Some(RequestDescription { text, mode, schema, line, columns: (start, bytes) }) = self.request.take() else { return Ok(None) };
        let end = start.checked_add(bytes).filter(|end| *end <= content.len());
        let message = end.map(|end| &content.as_slice()[start..end]).ok_or_else(|| invalid("its columns lie outside of the file"))?;
        let columns: SchemaRef = Arc::new(try_schema_from_ipc_buffer(message)?);
        let batches = std::mem::take(self).batches(content, &columns)?;
        Ok(Some(match mode {
            Some(mode) => SessionRequest::Write { schema, table: text, mode, line, columns, batches },
            None => SessionRequest::Statement { text, line, values: batches.into_iter().next().filter(|row| row.num_columns() > 0) },
        }))
    }

    /// The batches of the result, which has these columns.
    pub fn batches(self, content: &Buffer, schema: &SchemaRef) -> Result<Vec<RecordBatch>, PythonError> {
        let batch = |(columns, rows): (Vec<ArrayDescription>, usize)| -> Result<RecordBatch, PythonError> {
            if columns.len() != schema.fields().len() {
                return Err(invalid("it has another number of columns"));
            }
            let columns = columns.iter().zip(schema.fields()).map(|(column, field)| array(content, column, field.data_type()));
            let columns = columns.collect::<Result<Vec<ArrayRef>, _>>()?;
            let options = RecordBatchOptions::new().with_row_count(Some(rows));
            Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
        };
        self.batches.into_iter().map(batch).collect()
    }
}

/// The batch in the types of SQL.
pub fn typed(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, PythonError> {
    let columns = batch.columns().iter().zip(schema.fields()).map(|(column, field)| as_type(column, field.data_type()));
    Ok(RecordBatch::try_new(Arc::clone(schema), columns.collect::<Result<_, _>>()?)?)
}

fn array(content: &Buffer, description: &ArrayDescription, data_type: &DataType) -> Result<ArrayRef, PythonError> {
    let data = data(content, description, data_type)?;
    data.validate_full()?;
    Ok(make_array(data))
}

fn data(content: &Buffer, description: &ArrayDescription, data_type: &DataType) -> Result<ArrayData, PythonError> {
    let ArrayDescription(length, nulls, offset, buffers, children) = description;
    let expected = children_of(data_type);
    if children.len() != expected.len() {
        return Err(invalid("it has another number of children than its type"));
    }
    let mut builder = ArrayDataBuilder::new(data_type.clone()).len(*length).offset(*offset);
    for (at, buffer) in buffers.iter().enumerate() {
        let buffer = match buffer {
            None => None,
            Some((start, bytes)) => {
                let end = start.checked_add(*bytes).filter(|end| *end <= content.len());
                if end.is_none() {
                    return Err(invalid("a buffer lies outside of the file"));
                }
                Some(content.slice_with_length(*start, *bytes))
            }
        };
        if data_type.is_null() {
            continue;
        }
        if at == 0 {
            let bits = offset.checked_add(*length);
            if buffer.as_ref().is_some_and(|buffer| bits.is_none_or(|bits| bits > buffer.len() * 8)) {
                return Err(invalid("its validity is too short"));
            }
            builder = builder.null_bit_buffer(buffer.filter(|_| *nulls != 0));
        } else {
            builder = builder.add_buffer(buffer.unwrap_or_else(|| Buffer::from_vec(Vec::<u8>::new())));
        }
    }
    let children = children.iter().zip(expected).map(|(child, data_type)| data(content, child, data_type));
    Ok(builder.child_data(children.collect::<Result<_, _>>()?).align_buffers(true).build()?)
}

fn children_of(data_type: &DataType) -> Vec<&DataType> {
    match data_type {
        DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) | DataType::Map(field, _) => {
            vec![field.data_type()]
        }
        DataType::Struct(fields) => fields.iter().map(|field| field.data_type()).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use arrow::array::{AsArray, Int64Array};
    use arrow::datatypes::{Field, Int64Type, Schema};
    use rustix::fs::{MemfdFlags, memfd_create};

    use super::*;

    fn batches(data_type: &DataType, reply: &str) -> Result<Vec<RecordBatch>, PythonError> {
        let content = Buffer::from_vec(vec![1_i64, 2, 3, -1]);
        let schema = Arc::new(Schema::new(vec![Field::new("a", data_type.clone(), true)]));
        serde_json::from_str::<Reply>(reply).map_err(|error| invalid(&error.to_string()))?.batches(&content, &schema)
    }

    #[test]
    fn what_a_procedure_asks_for_is_not_trusted() {
        let content = Buffer::from_vec(vec![1_i64, 2, 3, -1]);
        for columns in ["[0, 32]", "[24, 8]", "[0, 0]", "[18446744073709551615, 2]", "[0, 33]"] {
            let reply = format!(r#"{{"batches": [], "request": {{"text": "SELECT 1", "line": 1, "columns": {columns}}}}}"#);
            let mut reply: Reply = serde_json::from_str(&reply).unwrap();
            assert!(reply.session_request(&content).is_err(), "{columns}");
        }
    }

    #[test]
    fn an_array_is_made_of_its_description() {
        let found = batches(&DataType::Int64, r#"{"batches": [[[[2, 0, 1, [null, [0, 32]], []]], 2]]}"#).unwrap();
        assert_eq!(found[0].column(0).as_primitive::<Int64Type>(), &Int64Array::from(vec![2, 3]));
    }

    #[test]
    fn a_large_result_stays_where_it_is() {
        let made = |bytes: usize| {
            let file = File::from(memfd_create("results", MemfdFlags::ALLOW_SEALING).unwrap());
            (&file).write_all(&[&vec![7; bytes], b"{}".as_slice()].concat()).unwrap();
            file
        };
        for (bytes, is_large) in [(1 << 10, false), (2 << 20, true)] {
            let file = made(bytes);
            let (_, content) = Reply::read(&file, bytes as u64, 2, u64::MAX).unwrap();
            assert_eq!((content.is_sealed, content.buffer.len()), (is_large, bytes));
            // The process cannot change what is not copied.
            assert_eq!((file.write_all_at(b"x", 0).is_err(), file.set_len(0).is_err()), (is_large, is_large));
            drop(file);
            assert!(content.buffer.iter().all(|byte| *byte == 7));
            assert!(Reply::read(&made(bytes), bytes as u64, 3, u64::MAX).is_err());
        }
        // Whoever has mapped it could still write.
        let file = made(2 << 20);
        // SAFETY: nobody shortens the file while it is mapped. Held by `a_large_result_stays_where_it_is`.
        let mut map = unsafe { memmap2::MmapMut::map_mut(&file) }.unwrap();
        let (_, content) = Reply::read(&file, 2 << 20, 2, u64::MAX).unwrap();
        map.fill(8);
        assert!(!content.is_sealed && content.buffer.iter().all(|byte| *byte == 7));
    }

    #[test]
    fn what_a_process_leaves_behind_is_no_array_unless_it_is_one() {
        let list = DataType::new_list(DataType::Int64, true);
        for (data_type, array) in [
            (&DataType::Int64, "[5, 0, 0, [null, [0, 32]], []]"),
            (&DataType::Int64, "[2, 0, 3, [null, [0, 32]], []]"),
            (&DataType::Int64, "[2, 0, 18446744073709551615, [null, [0, 32]], []]"),
            (&DataType::Int64, "[18446744073709551615, 0, 0, [null, [0, 32]], []]"),
            (&DataType::Int64, "[2, 0, 0, [null, [24, 16]], []]"),
            (&DataType::Int64, "[2, 0, 0, [null, [18446744073709551615, 16]], []]"),
            (&DataType::Int64, "[4, 1, 0, [[0, 0], [0, 32]], []]"),
            (&DataType::Int64, "[2, 0, 0, [null], []]"),
            (&DataType::Int64, "[2, 0, 0, [], []]"),
            (&DataType::Int64, "[2, 0, 0, [null, [0, 32], [0, 32]], []]"),
            (&DataType::Int64, "[2, 0, 0, [null, [0, 32]], [[2, 0, 0, [null, [0, 32]], []]]]"),
            (&DataType::Boolean, "[1000, 1, 0, [[0, 1], [0, 32]], []]"),
            (&DataType::Utf8, "[2, 0, 0, [null, [8, 16], [0, 8]], []]"),
            (&DataType::Utf8, "[1, 0, 0, [null, [4, 8], [24, 2]], []]"),
            (&list, "[2, 0, 0, [null, [8, 16]], [[2, 0, 0, [null, [0, 32]], []]]]"),
            (&list, "[2, 0, 0, [null, [8, 16]], []]"),
        ] {
            let reply = format!(r#"{{"batches": [[[{array}], 2]]}}"#);
            assert!(batches(data_type, &reply).is_err(), "{data_type}: {array}");
        }
        for reply in ["", r#"{"batches": [[[], 2]]}"#, r#"{"batches": 7}"#, r#"{"batches": [[[[2, 0, 0, [null, [0, 32]], []]], 3]]}"#] {
            assert!(batches(&DataType::Int64, reply).is_err(), "{reply}");
        }
    }
}
