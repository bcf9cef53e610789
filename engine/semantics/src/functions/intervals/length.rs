//! The length of an interval as a number.

use std::sync::{Arc, LazyLock};

use arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray, make_array};
use arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DataType, Decimal128Type, Field, FieldRef, IntervalMonthDayNano, IntervalMonthDayNanoType,
};
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};

use super::{has_intervals, is_interval};
use crate::functions::nested_types::with_field;
use common::interval_text::DAY_NANOSECONDS;

const LENGTH: DataType = DataType::Decimal128(DECIMAL128_MAX_PRECISION, 0);

static FUNCTION: LazyLock<Arc<ScalarUDF>> =
    LazyLock::new(|| Arc::new(ScalarUDF::from(Length { signature: Signature::any(1, Volatility::Immutable) })));

/// In nanoseconds.
pub fn length_of(interval: IntervalMonthDayNano) -> i128 {
    (i128::from(interval.months) * 30 + i128::from(interval.days)) * DAY_NANOSECONDS + i128::from(interval.nanoseconds)
}

pub fn length(interval: Expr) -> Expr {
    Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(&FUNCTION), vec![interval]))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Length {
    signature: Signature,
}

/// The lengths of lists, structs and maps: the same value with lengths in place of the intervals inside.
pub fn lengths(values: &ArrayRef) -> Result<ArrayRef> {
    if is_interval(values.data_type()) {
        let lengths: PrimitiveArray<Decimal128Type> = values.as_primitive::<IntervalMonthDayNanoType>().unary(length_of);
        return Ok(Arc::new(lengths.with_data_type(LENGTH)));
    }
    if !has_intervals(values.data_type()) {
        return Ok(Arc::clone(values));
    }
    let data = values.to_data();
    let inner = data.child_data().iter().map(|inner| Ok(lengths(&make_array(inner.clone()))?.to_data()));
    let inner = inner.collect::<Result<Vec<_>>>()?;
    Ok(make_array(data.into_builder().data_type(type_of_lengths(values.data_type())).child_data(inner).build()?))
}

/// The map with its keys, and only these, replaced by their lengths.
pub fn with_lengths_of_keys(array: &ArrayRef) -> Result<ArrayRef> {
    let Some(map) = array.as_map_opt() else { return lengths(array) };
    let keys = lengths(map.keys())?;
    let entries_type = with_field(map.entries().data_type(), 0, keys.data_type().clone());
    let map_type = with_field(array.data_type(), 0, entries_type.clone());
    let columns = vec![keys.to_data(), map.values().to_data()];
    let entries = map.entries().to_data().into_builder().data_type(entries_type).child_data(columns).build()?;
    Ok(make_array(array.to_data().into_builder().data_type(map_type).child_data(vec![entries]).build()?))
}

fn type_of_lengths(data_type: &DataType) -> DataType {
    let field = |field: &FieldRef| Arc::new(field.as_ref().clone().with_data_type(type_of_lengths(field.data_type())));
    match data_type {
        DataType::List(item) => DataType::List(field(item)),
        DataType::LargeList(item) => DataType::LargeList(field(item)),
        DataType::FixedSizeList(item, width) => DataType::FixedSizeList(field(item), *width),
        DataType::Map(entry, is_sorted) => DataType::Map(field(entry), *is_sorted),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(field).collect()),
        interval if is_interval(interval) => LENGTH,
        other => other.clone(),
    }
}

impl ScalarUDFImpl for Length {
    fn name(&self) -> &str {
        "interval_length"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        Ok(type_of_lengths(&arg_types[0]))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let field = &args.arg_fields[0];
        Ok(Arc::new(Field::new(self.name(), type_of_lengths(field.data_type()), field.is_nullable())))
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.as_slice() {
            [ColumnarValue::Array(intervals)] => Ok(ColumnarValue::Array(lengths(intervals)?)),
            [ColumnarValue::Scalar(interval)] => {
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&lengths(&interval.to_array()?)?, 0)?))
            }
            _ => internal_err!("{} of {} arguments", self.name(), args.args.len()),
        }
    }
}
