//! The arrays that a process has left in its file of results. Nothing in it is trusted.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use arrow::array::{ArrayData, ArrayDataBuilder, ArrayRef, RecordBatch, RecordBatchOptions, make_array};
use arrow::buffer::Buffer;
use arrow::datatypes::{DataType, SchemaRef};
use serde::Deserialize;

use super::error::{PythonError, invalid};

/// A description of arrays, or an error.
const TEXT_BYTES_MAX: u64 = 16 << 20;
/// What a function says of itself is cut here.
const MESSAGE_BYTES_MAX: usize = 16 << 10;

/// The answer to a request.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Reply {
    pub error: Option<String>,
    pub traceback: Option<String>,
    batches: Vec<(Vec<ArrayDescription>, usize)>,
}

/// `[length, nulls, offset, buffers, children]`; a buffer is `[start, bytes]`.
#[derive(Deserialize)]
struct ArrayDescription(usize, i64, usize, Vec<Option<(usize, usize)>>, Vec<ArrayDescription>);

impl Reply {
    /// The text of a reply, and what lies before it, copied: the process can change the file.
    pub fn read(file: &File, start: u64, bytes: u64, bytes_max: u64) -> Result<(Reply, Buffer), PythonError> {
        let end = start.checked_add(bytes).filter(|_| start <= bytes_max && bytes <= TEXT_BYTES_MAX);
        let end = end.and_then(|end| usize::try_from(end).ok()).ok_or_else(|| invalid("it is larger than the limit"))?;
        let mut content = vec![0; end];
        file.read_exact_at(&mut content, 0)?;
        let mut reply: Reply = serde_json::from_slice(&content[start as usize..]).map_err(|error| invalid(&error.to_string()))?;
        for text in [&mut reply.error, &mut reply.traceback].into_iter().flatten() {
            text.truncate(text.floor_char_boundary(MESSAGE_BYTES_MAX));
        }
        content.truncate(start as usize);
        Ok((reply, Buffer::from_vec(content)))
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
        // Only an array of NULLs has no validity.
        if at == 0 && !data_type.is_null() {
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
    use arrow::array::{AsArray, Int64Array};
    use arrow::datatypes::{Field, Int64Type, Schema};

    use super::*;

    fn batches(data_type: &DataType, reply: &str) -> Result<Vec<RecordBatch>, PythonError> {
        let content = Buffer::from_vec(vec![1_i64, 2, 3, -1]);
        let schema = Arc::new(Schema::new(vec![Field::new("a", data_type.clone(), true)]));
        serde_json::from_str::<Reply>(reply).map_err(|error| invalid(&error.to_string()))?.batches(&content, &schema)
    }

    #[test]
    fn an_array_is_made_of_its_description() {
        let found = batches(&DataType::Int64, r#"{"batches": [[[[2, 0, 1, [null, [0, 32]], []]], 2]]}"#).unwrap();
        assert_eq!(found[0].column(0).as_primitive::<Int64Type>(), &Int64Array::from(vec![2, 3]));
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
