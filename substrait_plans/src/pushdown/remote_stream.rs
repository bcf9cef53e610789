//! Converts rows from a node to the columns and types that the plan here expects.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::Result;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt};

use super::metrics::RemoteMetrics;
use super::node::{NodeError, NodeReport, NodeRows, failed};

/// How received columns are matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    /// By position, for a plan: it returns the expected columns in order.
    Place,
    /// By name, for a table, whose columns may have changed.
    Name,
}

/// What is taken from each batch.
pub struct Columns {
    /// The index of the received column, and its target type.
    picks: Vec<(usize, DataType)>,
    schema: SchemaRef,
}

impl Columns {
    /// `expected` has the columns that should come, and `projection` those that are used.
    ///
    /// # Errors
    ///
    /// The node sends other columns, or types with other values than the expected types. A nullable column where none is expected is an
    /// error only once it contains a NULL: a node knows less about some results.
    pub fn new(node: &str, came: &Schema, expected: &Schema, projection: Option<&[usize]>, found_by: Match) -> Result<Columns, NodeError> {
        let unlike = |what: String| NodeError::Unlike { node: node.to_string(), what };
        if found_by == Match::Place && came.fields().len() != expected.fields().len() {
            let (came, expected) = (came.fields().len(), expected.fields().len());
            return Err(unlike(format!("{came} columns where the plan has {expected}")));
        }
        let used: Vec<usize> = projection.map_or_else(|| (0..expected.fields().len()).collect(), <[usize]>::to_vec);
        let pick = |place: &usize| {
            let declared = expected.field(*place);
            let at = match found_by {
                Match::Place => *place,
                Match::Name => came.index_of(declared.name()).map_err(|_| unlike(format!("no column \"{}\"", declared.name())))?,
            };
            let found = came.field(at).data_type();
            match is_same(found, declared.data_type(), found_by) {
                true => Ok((at, declared.data_type().clone())),
                false => Err(unlike(format!("the column \"{}\" as {found} where {} was expected", declared.name(), declared.data_type()))),
            }
        };
        let picks = used.iter().map(pick).collect::<Result<_, NodeError>>()?;
        let fields: Vec<_> = used.iter().map(|place| Arc::clone(&expected.fields()[*place])).collect();
        Ok(Columns { picks, schema: Arc::new(Schema::new_with_metadata(fields, expected.metadata().clone())) })
    }

    fn of(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let columns = self.picks.iter().map(|(at, declared)| as_declared(batch.column(*at), declared));
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns.collect::<Result<_>>()?, &options)?)
    }
}

fn as_declared(array: &ArrayRef, declared: &DataType) -> Result<ArrayRef> {
    if array.data_type() == declared {
        return Ok(Arc::clone(array));
    }
    // A value outside the declared type is an error and not NULL.
    Ok(cast_with_options(array, declared, &CastOptions { safe: false, ..CastOptions::default() })?)
}

/// Whether both types have the same values, perhaps in another representation. The result of a plan may have another width; but a table
/// column with another type is a different column.
fn is_same(found: &DataType, declared: &DataType, found_by: Match) -> bool {
    use DataType::*;
    let is_text = |kind: &DataType| matches!(kind, Utf8 | LargeUtf8 | Utf8View);
    let is_bytes = |kind: &DataType| matches!(kind, Binary | LargeBinary | BinaryView);
    match (found, declared) {
        (one, other) if one == other => true,
        (one, other) if is_text(one) && is_text(other) => true,
        (one, other) if is_bytes(one) && is_bytes(other) => true,
        (Timestamp(one, Some(_)), Timestamp(other, Some(_))) => one == other,
        (Dictionary(_, one), other) => is_same(one, other, found_by),
        (one, Dictionary(_, other)) => is_same(one, other, found_by),
        (List(one) | LargeList(one) | FixedSizeList(one, _), List(other) | LargeList(other) | FixedSizeList(other, _)) => {
            is_same(one.data_type(), other.data_type(), found_by)
        }
        (Map(one, _), Map(other, _)) => are_same_entries(one, other, found_by),
        // Struct fields match by name. Plans contain these names, so they come back unchanged.
        (Struct(one), Struct(other)) => {
            let is_same_field = |(one, other): (&Arc<Field>, &Arc<Field>)| {
                one.name() == other.name() && is_same(one.data_type(), other.data_type(), found_by)
            };
            one.len() == other.len() && one.iter().zip(other).all(is_same_field)
        }
        (one, other) => found_by == Match::Place && is_of_another_width(one, other),
    }
}

/// Plans have no names for keys and values.
fn are_same_entries(found: &Field, declared: &Field, found_by: Match) -> bool {
    match (found.data_type(), declared.data_type()) {
        (DataType::Struct(one), DataType::Struct(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one.data_type(), other.data_type(), found_by))
        }
        _ => false,
    }
}

fn is_of_another_width(found: &DataType, declared: &DataType) -> bool {
    use DataType::*;
    match (found, declared) {
        (Null, _) => true,
        (one, other) if one.is_integer() && other.is_integer() => true,
        (Float16 | Float32, Float32 | Float64) => true,
        (one, other) => match (scale(one), scale(other)) {
            (Some(one), Some(other)) => one == other,
            _ => false,
        },
    }
}

/// The scale of a decimal.
fn scale(kind: &DataType) -> Option<i8> {
    match kind {
        DataType::Decimal32(_, scale) | DataType::Decimal64(_, scale) => Some(*scale),
        DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale) => Some(*scale),
        _ => None,
    }
}

/// The batches of a node as they arrive. Dropping the stream cancels the remote work.
pub struct RemoteStream {
    batches: BoxStream<'static, Result<RecordBatch, NodeError>>,
    report: Arc<NodeReport>,
    columns: Columns,
    metrics: RemoteMetrics,
}

impl RemoteStream {
    pub fn new(rows: NodeRows, columns: Columns, metrics: RemoteMetrics) -> RemoteStream {
        RemoteStream { batches: rows.batches, report: rows.report, columns, metrics }
    }
}

impl Stream for RemoteStream {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = ready!(self.batches.poll_next_unpin(context));
        self.metrics.update(&self.report);
        Poll::Ready(next.map(|batch| {
            let batch = self.columns.of(&batch.map_err(failed)?)?;
            self.metrics.baseline.output_rows().add(batch.num_rows());
            Ok(batch)
        }))
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{AsArray, Int64Array, StringArray};

    use super::*;

    fn schema(fields: &[(&str, DataType)]) -> Schema {
        Schema::new(fields.iter().map(|(name, kind)| Field::new(*name, kind.clone(), true)).collect::<Vec<_>>())
    }

    fn refused(came: &[(&str, DataType)], expected: &[(&str, DataType)], found_by: Match) -> String {
        let columns = Columns::new("quiver://n:1", &schema(came), &schema(expected), None, found_by);
        columns.err().map_or_else(|| "taken".to_string(), |error| error.to_string())
    }

    #[test]
    fn values_of_another_form_are_taken_and_other_values_are_refused() {
        use DataType::*;
        let pair = |found, declared| refused(&[("c", found)], &[("x", declared)], Match::Place);
        assert_eq!(pair(Utf8, Utf8View), "taken");
        assert_eq!(pair(Decimal128(10, 2), Decimal128(38, 2)), "taken");
        assert_eq!(pair(DataType::new_list(Utf8, true), DataType::new_list(Utf8View, false)), "taken");
        for (found, declared) in [(Int64, Utf8), (Float64, Int64), (Decimal128(10, 2), Decimal128(10, 3)), (Utf8, Binary), (Int64, Date64)]
        {
            assert!(pair(found.clone(), declared).starts_with("the node quiver://n:1 sends the column \"x\" as"), "{found}");
        }
        assert_eq!(refused(&[], &[("x", Int64)], Match::Place), "the node quiver://n:1 sends 0 columns where the plan has 1");
    }

    #[test]
    fn columns_of_a_table_are_found_by_name_and_those_of_a_plan_by_place() {
        let came = schema(&[("b", DataType::Utf8), ("new", DataType::Int64), ("a", DataType::Int64)]);
        let expected = schema(&[("a", DataType::Int64), ("b", DataType::Utf8View)]);
        let columns = Columns::new("n", &came, &expected, None, Match::Name).unwrap();
        let arrays: Vec<ArrayRef> = vec![
            Arc::new(StringArray::from(vec!["x", "y"])),
            Arc::new(Int64Array::from(vec![7, 8])),
            Arc::new(Int64Array::from(vec![1, 2])),
        ];
        let batch = columns.of(&RecordBatch::try_new(Arc::new(came), arrays).unwrap()).unwrap();
        assert_eq!(batch.schema().as_ref(), &expected);
        assert_eq!(batch.column(0).as_primitive::<arrow::datatypes::Int64Type>().values(), &[1, 2]);
        assert_eq!(batch.column(1).as_string_view().value(1), "y");
        assert_eq!(
            refused(&[("a", DataType::Int64)], &[("b", DataType::Int64)], Match::Name),
            "the node quiver://n:1 sends no column \"b\""
        );
    }

    #[test]
    fn a_column_of_a_table_that_has_another_type_now_is_another_column() {
        use DataType::*;
        let pair = |found, declared, found_by| refused(&[("c", found)], &[("c", declared)], found_by);
        for (found, declared) in [(Int64, Int32), (Int32, Int64), (Float32, Float64), (Decimal128(10, 2), Decimal128(12, 2)), (Null, Utf8)]
        {
            assert_eq!(pair(found.clone(), declared.clone(), Match::Place), "taken");
            let error = pair(found.clone(), declared.clone(), Match::Name);
            assert_eq!(error, format!("the node quiver://n:1 sends the column \"c\" as {found} where {declared} was expected"));
        }
        assert_eq!(pair(Utf8, Utf8View, Match::Name), "taken");
    }

    #[test]
    fn fields_of_a_struct_are_those_of_the_same_names() {
        let of = |names: [&str; 2]| DataType::Struct(names.iter().map(|name| Field::new(*name, DataType::Int64, true)).collect());
        let list = |names| DataType::new_list(of(names), true);
        for found_by in [Match::Name, Match::Place] {
            let pair = |found, declared| refused(&[("c", found)], &[("c", declared)], found_by) == "taken";
            assert!(pair(of(["a", "b"]), of(["a", "b"])));
            for other in [["b", "a"], ["a", "z"]] {
                assert!(!pair(of(other), of(["a", "b"])), "{other:?}");
                assert!(!pair(list(other), list(["a", "b"])), "{other:?}");
            }
        }
    }

    #[test]
    fn a_null_where_none_may_be_is_an_error() {
        let came = schema(&[("c", DataType::Int64)]);
        let expected = Schema::new(vec![Field::new("c", DataType::Int64, false)]);
        let columns = Columns::new("n", &came, &expected, None, Match::Place).unwrap();
        let of = |value| columns.of(&RecordBatch::try_new(Arc::new(came.clone()), vec![Arc::new(Int64Array::from(vec![value]))]).unwrap());
        assert!(of(Some(7)).is_ok());
        assert!(of(None).is_err());
    }

    #[test]
    fn a_value_too_large_for_the_declared_type_is_an_error() {
        let (came, expected) = (schema(&[("c", DataType::Int64)]), schema(&[("c", DataType::Int8)]));
        let columns = Columns::new("n", &came, &expected, None, Match::Place).unwrap();
        let batch = RecordBatch::try_new(Arc::new(came), vec![Arc::new(Int64Array::from(vec![300]))]).unwrap();
        assert!(columns.of(&batch).is_err());
    }
}
