//! Functions of lists of intervals, which compare these by their length: they are called of other values, that compare so.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, ListArray, PrimitiveArray};
use arrow::datatypes::{
    DECIMAL256_MAX_PRECISION, DataType, Decimal256Type, Field, FieldRef, IntervalMonthDayNano, IntervalMonthDayNanoType, i256,
};
use datafusion::common::{DFSchema, Result, exec_err};
use datafusion::logical_expr::{
    ColumnarValue, Documentation, Expr, ExprSchemable, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};

use super::length::{length_of, lengths};
use super::{has_intervals, is_interval};
use common::interval_text::DAY_NANOSECONDS;
use common::names::ANY_EQUALS;

type Intervals = PrimitiveArray<IntervalMonthDayNanoType>;

const RANK: DataType = DataType::Decimal256(DECIMAL256_MAX_PRECISION, 0);

/// What a function is called of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Instead {
    /// Lengths: it says where an interval is.
    Lengths,
    /// Lengths, and with them what the intervals were: it gives some of them by their order.
    Ranks,
    /// The first of those that are as long, in each row.
    First,
    /// That one of the second argument.
    Second,
}

fn instead(function: &str) -> Option<Instead> {
    Some(match function {
        "array_has" | ANY_EQUALS | "array_has_all" | "array_has_any" | "array_position" | "array_positions" => Instead::Lengths,
        "array_sort" | "array_max" | "array_min" => Instead::Ranks,
        "array_distinct" | "array_union" | "array_intersect" | "array_except" => Instead::First,
        "array_remove" | "array_remove_n" | "array_remove_all" | "array_replace" | "array_replace_n" | "array_replace_all" => {
            Instead::Second
        }
        _ => return None,
    })
}

/// The call of the function that compares by length, where its lists are of intervals.
pub fn of_intervals(expr: &Expr, schema: &DFSchema) -> Option<Expr> {
    let Expr::ScalarFunction(call) = expr else { return None };
    let instead = instead(call.func.name()).filter(|_| call.func.inner().downcast_ref::<OfIntervals>().is_none())?;
    let is_such = |arg: &Expr| {
        arg.get_type(schema).is_ok_and(|data_type| match instead {
            Instead::Lengths => data_type.is_list() && has_intervals(&data_type),
            _ => is_list(&data_type),
        })
    };
    call.args.iter().any(is_such).then(|| {
        let function = ScalarUDF::from(OfIntervals { inner: Arc::clone(&call.func), instead });
        function.call(call.args.clone())
    })
}

fn is_list(data_type: &DataType) -> bool {
    matches!(data_type, DataType::List(field) if is_interval(field.data_type()))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct OfIntervals {
    inner: Arc<ScalarUDF>,
    instead: Instead,
}

impl OfIntervals {
    fn arguments(&self, arrays: &[ArrayRef]) -> Result<Vec<ArrayRef>> {
        match self.instead {
            Instead::Lengths => arrays.iter().map(lengths).collect(),
            Instead::Ranks => arrays.iter().map(|array| with_values(array, |intervals| Ok(ranks(intervals)))).collect(),
            Instead::First => one_for_all(arrays, None),
            Instead::Second => one_for_all(arrays, Some(1)),
        }
    }
}

impl ScalarUDFImpl for OfIntervals {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(types)
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(types)
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        self.inner.return_field_from_args(args)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let wanted = Arc::clone(&args.return_field);
        let rows = args.number_rows;
        let arrays = args.args.iter().map(|arg| arg.to_array(rows)).collect::<Result<Vec<_>>>()?;
        let arrays = self.arguments(&arrays)?;
        let retyped = |field: &Field, data_type: &DataType| Arc::new(field.clone().with_data_type(data_type.clone()));
        let arg_fields: Vec<FieldRef> =
            args.arg_fields.iter().zip(&arrays).map(|(field, array)| retyped(field, array.data_type())).collect();
        let found = match (wanted.data_type(), self.instead) {
            (data_type, Instead::Ranks) if is_interval(data_type) => retyped(&wanted, &RANK),
            (DataType::List(item), Instead::Ranks) => retyped(&wanted, &DataType::List(retyped(item, &RANK))),
            _ => Arc::clone(&wanted),
        };
        let values = arrays.into_iter().map(ColumnarValue::Array).collect();
        let made = self.inner.invoke_with_args(ScalarFunctionArgs { args: values, arg_fields, return_field: found, ..args })?;
        match self.instead {
            Instead::Ranks => Ok(ColumnarValue::Array(unranked(&made.into_array(rows)?)?)),
            _ => Ok(made),
        }
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }
}

/// The array with other values for its intervals, or those in its lists.
fn with_values(array: &ArrayRef, made: impl Fn(&ArrayRef) -> Result<ArrayRef>) -> Result<ArrayRef> {
    match array.data_type() {
        data_type if is_interval(data_type) => made(array),
        DataType::List(item) if is_interval(item.data_type()) => {
            let lists = array.as_list::<i32>();
            let values = made(lists.values())?;
            let item = Arc::new(item.as_ref().clone().with_data_type(values.data_type().clone()));
            Ok(Arc::new(ListArray::try_new(item, lists.offsets().clone(), values, lists.nulls().cloned())?))
        }
        _ => Ok(Arc::clone(array)),
    }
}

fn ranks(intervals: &ArrayRef) -> ArrayRef {
    let rank = |interval: IntervalMonthDayNano| {
        let parts = (u128::from(interval.months.cast_unsigned()) << 32) | u128::from(interval.days.cast_unsigned());
        (i256::from_i128(length_of(interval)) << 64_u8) | i256::from_parts(parts, 0)
    };
    let ranks: PrimitiveArray<Decimal256Type> = intervals.as_primitive::<IntervalMonthDayNanoType>().unary(rank);
    Arc::new(ranks.with_data_type(RANK))
}

/// The intervals of [`ranks`].
fn unranked(array: &ArrayRef) -> Result<ArrayRef> {
    match array.data_type() {
        DataType::Decimal256(..) => {
            let intervals: Intervals = array.as_primitive::<Decimal256Type>().unary(interval_of_rank);
            Ok(Arc::new(intervals))
        }
        DataType::List(item) => {
            let lists = array.as_list::<i32>();
            let values = unranked(lists.values())?;
            let item = Arc::new(item.as_ref().clone().with_data_type(values.data_type().clone()));
            Ok(Arc::new(ListArray::try_new(item, lists.offsets().clone(), values, lists.nulls().cloned())?))
        }
        other => exec_err!("{other} is no rank of an interval"),
    }
}

fn interval_of_rank(rank: i256) -> IntervalMonthDayNano {
    let (parts, _) = rank.to_parts();
    let (months, days) = (((parts >> 32) as u32).cast_signed(), (parts as u32).cast_signed());
    let length: i256 = rank >> 64_u8;
    let length = length.to_i128().unwrap_or_default();
    let rest = length - (i128::from(months) * 30 + i128::from(days)) * DAY_NANOSECONDS;
    IntervalMonthDayNano::new(months, days, rest as i64)
}

/// In each row, intervals that are as long become one of them: that of the argument at `place`, or else the first.
fn one_for_all(arrays: &[ArrayRef], place: Option<usize>) -> Result<Vec<ArrayRef>> {
    let of = |array: &ArrayRef| match array.data_type() {
        data_type if is_interval(data_type) => Some((None, array.as_primitive::<IntervalMonthDayNanoType>().clone())),
        data_type if is_list(data_type) => {
            let lists = array.as_list::<i32>();
            Some((Some(lists.offsets().clone()), lists.values().as_primitive::<IntervalMonthDayNanoType>().clone()))
        }
        _ => None,
    };
    let all: Vec<_> = arrays.iter().map(of).collect();
    let mut made: Vec<Vec<Option<IntervalMonthDayNano>>> =
        all.iter().map(|found| found.iter().flat_map(|(_, intervals)| intervals.iter()).collect()).collect();
    for row in 0..arrays.first().map_or(0, |array| array.len()) {
        let mut chosen: HashMap<i128, IntervalMonthDayNano> = HashMap::new();
        if let Some(Some(interval)) = place.map(|place| made[place].get(row).copied().flatten()) {
            chosen.insert(length_of(interval), interval);
        }
        for (found, values) in all.iter().zip(&mut made) {
            let Some((offsets, _)) = found else { continue };
            let range = offsets.as_ref().map_or(row..row + 1, |offsets| offsets[row] as usize..offsets[row + 1] as usize);
            for interval in values[range].iter_mut().flatten() {
                match place {
                    Some(_) => *interval = chosen.get(&length_of(*interval)).copied().unwrap_or(*interval),
                    None => *interval = *chosen.entry(length_of(*interval)).or_insert(*interval),
                }
            }
        }
    }
    let of_row = |(array, values): (&ArrayRef, Vec<Option<IntervalMonthDayNano>>)| {
        with_values(array, |_| Ok(Arc::new(values.iter().copied().collect::<Intervals>())))
    };
    arrays.iter().zip(made).map(of_row).collect()
}
