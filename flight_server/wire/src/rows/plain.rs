//! Types that every client reads: Utf8 and Binary in place of views, values in place of dictionaries, also inside of nested types.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, RecordBatch, RecordBatchOptions, UInt64Array, new_empty_array};
use arrow::buffer::OffsetBuffer;
use arrow::compute::{cast, take};
use arrow::datatypes::{BinaryType, BinaryViewType, DataType, Field, FieldRef, Fields, Schema, SchemaRef, StringViewType, Utf8Type};
use arrow::error::ArrowError;

use super::column_facts::annotated;
use super::jdbc;
use super::split::{MESSAGE_BYTES, pieces};
use super::views::{self, compact, plain};

/// The types in which results are sent and parameters are described.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct WireTypes {
    /// Sends Utf8View and BinaryView unchanged. Otherwise they become Utf8 and Binary, which every client reads.
    pub views: bool,
    /// Adapts the types to the JDBC driver, see `jdbc.rs`.
    pub jdbc: bool,
    /// Leaves out Flight SQL's metadata of columns, and sends a short report in a message of its own: for a
    /// result of one row, these would be most of the bytes.
    pub brief: bool,
}

/// The schema under which batches of `schema` are sent, with what JDBC and ADBC read of each column.
pub fn wire_schema(schema: &Schema, types: WireTypes) -> SchemaRef {
    let wire = wire(schema, |field| wire_field(field, types));
    if types.brief { Arc::new(wire) } else { Arc::new(annotated(&wire, None)) }
}

/// The schema that describes parameters to a client.
pub fn parameter_schema(schema: &Schema, types: WireTypes) -> SchemaRef {
    let wire = wire(schema, |field| {
        let plain = plain_type(field.data_type(), false);
        retyped(field, if types.jdbc { jdbc::parameter_type(&plain) } else { plain })
    });
    Arc::new(annotated(&wire, None))
}

fn wire(schema: &Schema, field: impl Fn(&FieldRef) -> FieldRef) -> Schema {
    let fields: Fields = schema.fields().iter().map(field).collect();
    Schema::new_with_metadata(fields, schema.metadata().clone())
}

/// A client that wants views gets them for every column of text or bytes, stored or computed; inside of nested types they become plain.
fn wire_field(field: &FieldRef, types: WireTypes) -> FieldRef {
    let plain = plain_field(field, types.jdbc);
    match plain.data_type() {
        // Clients support fixed-size lists of at least one element.
        DataType::FixedSizeList(item, 0) => Arc::new(Field::new(field.name(), DataType::List(Arc::clone(item)), field.is_nullable())),
        DataType::Utf8 | DataType::LargeUtf8 if types.views => retyped(field, DataType::Utf8View),
        DataType::Binary | DataType::LargeBinary if types.views => retyped(field, DataType::BinaryView),
        _ => plain,
    }
}

fn plain_field(field: &FieldRef, for_jdbc: bool) -> FieldRef {
    retyped(field, plain_type(field.data_type(), for_jdbc))
}

fn retyped(field: &FieldRef, data_type: DataType) -> FieldRef {
    match data_type {
        same if same == *field.data_type() => Arc::clone(field),
        other => Arc::new(Field::new(field.name(), other, field.is_nullable()).with_metadata(field.metadata().clone())),
    }
}

fn plain_type(kind: &DataType, for_jdbc: bool) -> DataType {
    let plain_field = |field: &FieldRef| plain_field(field, for_jdbc);
    match kind {
        DataType::Utf8View => DataType::Utf8,
        DataType::BinaryView => DataType::Binary,
        DataType::Dictionary(_, value) => plain_type(value, for_jdbc),
        DataType::List(field) => DataType::List(plain_field(field)),
        DataType::LargeList(field) => DataType::LargeList(plain_field(field)),
        DataType::FixedSizeList(field, size) => DataType::FixedSizeList(plain_field(field), *size),
        DataType::Map(field, sorted) => DataType::Map(plain_field(field), *sorted),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(plain_field).collect()),
        other if for_jdbc => jdbc::result_type(other),
        other => other.clone(),
    }
}

/// Converts columns of views with contiguous values to plain ones, if the client wants those. Then their sizes are known, and they
/// are split without visiting each value again.
pub fn without_views(batch: RecordBatch, wire: &SchemaRef) -> RecordBatch {
    let mut columns = batch.columns().to_vec();
    let mut is_other = false;
    for (array, field) in columns.iter_mut().zip(wire.fields()) {
        let plain = match (array.data_type(), field.data_type()) {
            (DataType::Utf8View, DataType::Utf8) => views::lying_plain::<StringViewType, Utf8Type>(array.as_string_view()),
            (DataType::BinaryView, DataType::Binary) => views::lying_plain::<BinaryViewType, BinaryType>(array.as_binary_view()),
            _ => None,
        };
        if let Some(plain) = plain {
            *array = plain;
            is_other = true;
        }
    }
    if !is_other {
        return batch;
    }
    let schema = batch.schema();
    let fields = schema.fields().iter().zip(&columns).map(|(field, array)| retyped(field, array.data_type().clone()));
    let schema = Schema::new_with_metadata(fields.collect::<Fields>(), schema.metadata().clone());
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::new(schema), columns, &options).unwrap_or(batch)
}

/// **Invariant:** a piece has fewer bytes than 32-bit offsets reach, see `PIECE_BYTES_MAX` of `outgoing`.
pub fn to_wire(batch: &RecordBatch, wire: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let columns = batch.columns().iter().zip(wire.fields()).map(|(array, field)| wire_array(array, field.data_type()));
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(wire), columns.collect::<Result<_, _>>()?, &options)
}

fn wire_array(array: &ArrayRef, wire_type: &DataType) -> Result<ArrayRef, ArrowError> {
    match (array.data_type(), wire_type) {
        (DataType::Utf8View, DataType::Utf8View) => Ok(compact(array.as_string_view())),
        (DataType::BinaryView, DataType::BinaryView) => Ok(compact(array.as_binary_view())),
        (DataType::Utf8View, DataType::Utf8) => plain::<StringViewType, Utf8Type>(array.as_string_view()),
        (DataType::BinaryView, DataType::Binary) => plain::<BinaryViewType, BinaryType>(array.as_binary_view()),
        (same, _) if same == wire_type => Ok(Arc::clone(array)),
        (DataType::FixedSizeList(_, 0), DataType::List(item)) => {
            let (offsets, none) = (OffsetBuffer::new_zeroed(array.len()), new_empty_array(item.data_type()));
            Ok(Arc::new(ListArray::try_new(Arc::clone(item), offsets, none, array.nulls().cloned())?))
        }
        (flat, _) if flat.is_unsigned_integer() => cast(array, wire_type),
        // Casting a nested array casts all of its values, including those outside of the slice.
        _ => cast(&gathered(array)?, wire_type),
    }
}

fn gathered(array: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let rows = UInt64Array::from_iter_values(0..array.len() as u64);
    take(array, &rows, None)
}

/// Splits a batch into pieces that fit into a message, in the types of the wire.
pub fn for_wire(batch: RecordBatch, wire: &SchemaRef) -> Vec<Result<RecordBatch, ArrowError>> {
    pieces(batch, MESSAGE_BYTES).iter().map(|piece| to_wire(piece, wire)).collect()
}

#[cfg(test)]
mod tests {
    use arrow::array::{DictionaryArray, ListBuilder, StringArray, StringViewArray, StringViewBuilder, StructArray, UInt32Builder};
    use arrow::datatypes::{Decimal128Type, Int8Type, Int64Type, TimeUnit};

    use super::*;

    const VIEWS: WireTypes = WireTypes { views: true, jdbc: false, brief: false };
    const JDBC: WireTypes = WireTypes { views: false, jdbc: true, brief: false };

    fn wire_value(array: ArrayRef, types: WireTypes) -> ArrayRef {
        let batch = RecordBatch::try_from_iter_with_nullable([("c", array, true)]).unwrap();
        let wire = wire_schema(&batch.schema(), types);
        Arc::clone(to_wire(&batch, &wire).unwrap().column(0))
    }

    #[test]
    fn lists_of_a_fixed_size_without_elements_are_lists() {
        let item = Arc::new(Field::new_list_field(DataType::Int64, true));
        let nulls = Some(vec![true, false].into());
        let none = Arc::new(arrow::array::Int64Array::from(Vec::<i64>::new()));
        let fixed = arrow::array::FixedSizeListArray::try_new_with_length(item, 0, none, nulls, 2).unwrap();
        let sent = wire_value(Arc::new(fixed), WireTypes::default());
        assert!(matches!(sent.data_type(), DataType::List(_)));
        assert_eq!((sent.len(), sent.null_count(), sent.as_list::<i32>().value(0).len()), (2, 1, 0));
    }

    #[test]
    fn views_are_plain_also_inside_of_others() {
        let mut lists = ListBuilder::new(StringViewBuilder::new());
        lists.append_value([Some("a text that is too long for a view"), None]);
        lists.append_null();
        lists.append_value([Some("b")]);
        let lists: ArrayRef = Arc::new(lists.finish());
        let pair: ArrayRef =
            Arc::new(StructArray::from(vec![(Arc::new(Field::new("l", lists.data_type().clone(), true)), Arc::clone(&lists))]));
        let sent = wire_value(pair.slice(1, 2), WireTypes::default());
        let DataType::Struct(fields) = sent.data_type() else { panic!("{}", sent.data_type()) };
        assert_eq!(*fields[0].data_type(), DataType::new_list(DataType::Utf8, true));
        let list = sent.as_struct().column(0).as_list::<i32>();
        assert!(list.is_null(0));
        assert_eq!(list.value(1).as_string::<i32>().value(0), "b");
    }

    #[test]
    fn a_slice_of_views_is_sent_without_the_rest() {
        let texts: Vec<String> = (0..1_000).map(|n| format!("{n} and so on, longer than a view has room for")).collect();
        let texts: ArrayRef = Arc::new(StringViewArray::from_iter_values(texts));
        let sent = wire_value(texts.slice(7, 2), VIEWS);
        assert_eq!(*sent.data_type(), DataType::Utf8View);
        assert!(sent.get_buffer_memory_size() < 10_000, "{}", sent.get_buffer_memory_size());
        assert!(sent.as_string_view().value(0).starts_with("7 and"));
    }

    #[test]
    fn computed_text_and_bytes_are_views_too_if_the_client_wants_views() {
        let long = "a text that is too long for a view";
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["left out", long, "b"]));
        let dictionary: ArrayRef = Arc::new(DictionaryArray::<Int8Type>::from_iter([long, long, "b"]));
        let bytes = cast(&texts, &DataType::Binary).unwrap();
        for (array, wire_type) in [(&texts, DataType::Utf8View), (&dictionary, DataType::Utf8View), (&bytes, DataType::BinaryView)] {
            let sent = wire_value(array.slice(1, 2), VIEWS);
            assert_eq!(*sent.data_type(), wire_type);
            let sent = cast(&sent, &DataType::Utf8).unwrap();
            assert_eq!(sent.as_string::<i32>().iter().flatten().collect::<Vec<_>>(), [long, "b"]);
        }
        let sent = wire_value(texts.slice(1, 2), VIEWS);
        let contents =
            sent.as_string_view().data_buffers().iter().map(|buffer| String::from_utf8_lossy(buffer).into_owned()).collect::<String>();
        assert!(contents.contains(long) && !contents.contains("left out"), "{contents}");
    }

    #[test]
    fn a_dictionary_is_sent_as_its_values() {
        let dictionary: DictionaryArray<Int8Type> = ["x", "y", "x"].into_iter().collect();
        let sent = wire_value(Arc::new(dictionary), WireTypes::default());
        assert_eq!(sent.as_string::<i32>().iter().flatten().collect::<Vec<_>>(), ["x", "y", "x"]);
    }

    #[test]
    fn unsigned_integers_are_signed_and_wide_enough_for_jdbc() {
        let sent = wire_value(Arc::new(UInt64Array::from(vec![Some(u64::MAX), None])), JDBC);
        assert_eq!(sent.as_primitive::<Decimal128Type>().value(0), i128::from(u64::MAX));
        assert!(sent.is_null(1));
        let mut lists = ListBuilder::new(UInt32Builder::new());
        lists.append_value([Some(u32::MAX)]);
        let sent = wire_value(Arc::new(lists.finish()), JDBC);
        assert_eq!(sent.as_list::<i32>().value(0).as_primitive::<Int64Type>().value(0), i64::from(u32::MAX));
        let sent = wire_value(Arc::new(UInt64Array::from(vec![1])), WireTypes::default());
        assert_eq!(*sent.data_type(), DataType::UInt64);
    }

    #[test]
    fn parameters_have_types_that_jdbc_can_bind() {
        let parameter_type = |data_type, types| {
            let schema = Schema::new(vec![Field::new("$1", data_type, true)]);
            parameter_schema(&schema, types).field(0).data_type().clone()
        };
        let instant = |unit| DataType::Timestamp(unit, Some("+00:00".into()));
        assert_eq!(parameter_type(instant(TimeUnit::Nanosecond), JDBC), instant(TimeUnit::Millisecond));
        assert_eq!(parameter_type(instant(TimeUnit::Nanosecond), WireTypes::default()), instant(TimeUnit::Nanosecond));
        assert_eq!(parameter_type(DataType::Null, JDBC), DataType::Utf8);
        assert_eq!(parameter_type(DataType::Null, VIEWS), DataType::Null);
        assert_eq!(parameter_type(DataType::Utf8View, VIEWS), DataType::Utf8);
        assert_eq!(parameter_type(DataType::UInt8, JDBC), DataType::UInt8);
    }
}
