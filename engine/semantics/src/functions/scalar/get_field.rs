//! `get_field`: the field of a struct, or the value of a key in a map. It is NULL if the struct or map is NULL. DataFusion's returns what
//! lies beneath such a NULL, where `CASE` and `nullif` leave hidden values. It also compares interval keys by months, days and the rest,
//! does not support a key that differs from row to row, and searches a nested key only in the first entry.

use std::sync::{Arc, LazyLock};

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, MapArray, UInt64Array};
use arrow::compute::{cast, nullif, take};
use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use datafusion::functions::core::get_field as datafusion_get_field;
use datafusion::functions::core::getfield::GetFieldFunc;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{ColumnarValue, Expr, ExpressionPlacement, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl};

use super::described_by_function;
use crate::functions::intervals::{has_intervals, lengths, with_lengths_of_keys};
use crate::functions::nested_order::comparator;
use crate::functions::nested_types::fields_of;
use common::error::EngineError;
use common::masked_values::hidden_beneath;
use common::type_names::declared_name;

static GET_FIELD: LazyLock<Arc<ScalarUDF>> = LazyLock::new(|| Arc::new(ScalarUDF::from(GetField { inner: datafusion_get_field() })));

pub fn get_field() -> &'static Arc<ScalarUDF> {
    &GET_FIELD
}

/// Replaces DataFusion's `get_field`, which planners use without a lookup by name. True if it replaced one.
pub fn take_own_field(expr: &mut Expr) -> bool {
    let Expr::ScalarFunction(call) = expr else { return false };
    let is_theirs = call.func.inner().is::<GetFieldFunc>();
    if is_theirs {
        call.func = Arc::clone(get_field());
    }
    is_theirs
}

/// Sets the function in a call, and in the nested calls of its struct argument.
fn set_function(expr: &mut Expr, function: &Arc<ScalarUDF>) {
    let Expr::ScalarFunction(call) = expr else { return };
    if call.func.name() == function.name() {
        call.func = Arc::clone(function);
        call.args.iter_mut().take(1).for_each(|base| set_function(base, function));
    }
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct GetField {
    inner: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for GetField {
    described_by_function!();

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        self.inner.schema_name(args)
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(types)
    }

    fn placement(&self, args: &[ExpressionPlacement]) -> ExpressionPlacement {
        self.inner.placement(args)
    }

    /// DataFusion merges nested calls into one, and recognizes only its own function.
    fn simplify(&self, mut args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        args.iter_mut().take(1).for_each(|base| set_function(base, &self.inner));
        Ok(match self.inner.simplify(args, info)? {
            ExprSimplifyResult::Simplified(mut expr) => {
                set_function(&mut expr, get_field());
                ExprSimplifyResult::Simplified(expr)
            }
            ExprSimplifyResult::Original(mut args) => {
                args.iter_mut().take(1).for_each(|base| set_function(base, get_field()));
                ExprSimplifyResult::Original(args)
            }
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let mut path = args.args.iter().cloned();
        let Some(mut value) = path.next() else { return self.inner.invoke_with_args(args) };
        let is_constant = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if is_constant { 1 } else { args.number_rows };
        for key in path {
            let base = match (value, &key) {
                // A constant map is not copied for each row.
                (ColumnarValue::Scalar(map @ ScalarValue::Map(_)), ColumnarValue::Array(_)) => map.to_array()?,
                (value, _) => value.into_array(rows)?,
            };
            let key = match (base.as_map_opt(), key) {
                (Some(map), ColumnarValue::Scalar(constant)) if !constant.is_null() && !map.key_type().is_nested() => {
                    ColumnarValue::Scalar(ScalarValue::try_from_array(&as_keys(&constant.to_array()?, map.key_type())?, 0)?)
                }
                (Some(map), key) => {
                    value = ColumnarValue::Array(of_each_key(map, &key.into_array(rows)?)?);
                    continue;
                }
                (None, key) => key,
            };
            let parents = base.nulls().cloned();
            let (base, key) = match &key {
                ColumnarValue::Scalar(constant) if base.as_map_opt().is_some() && has_intervals(&constant.data_type()) => {
                    let length = ScalarValue::try_from_array(&lengths(&constant.to_array()?)?, 0)?;
                    (with_lengths_of_keys(&base)?, ColumnarValue::Scalar(length))
                }
                _ => (base, key),
            };
            let step = ScalarFunctionArgs { args: vec![ColumnarValue::Array(base), key], ..args.clone() };
            value = match (self.inner.invoke_with_args(step)?, parents) {
                (ColumnarValue::Array(field), Some(parents)) => ColumnarValue::Array(hidden_beneath(&field, &parents)?),
                (field, _) => field,
            };
        }
        Ok(value)
    }
}

/// The values for a key per row, of a map per row or of one map.
fn of_each_key(map: &MapArray, keys: &ArrayRef) -> Result<ArrayRef> {
    Ok(take(map.values(), &entries_of_keys(map, keys)?, None)?)
}

/// For a key per row, and a map per row or one map: the position of the key among all entries, or NULL.
pub fn entries_of_keys(map: &MapArray, keys: &ArrayRef) -> Result<UInt64Array> {
    let keys = as_keys(keys, map.key_type())?;
    let order = comparator(map.keys(), &keys)?;
    let offsets = map.value_offsets();
    let positions = (0..keys.len()).map(|row| {
        let map_row = if map.len() == 1 { 0 } else { row };
        let is_there = map.is_valid(map_row) && keys.is_valid(row);
        let mut entries = offsets[map_row] as usize..offsets[map_row + 1] as usize;
        entries.find(|entry| is_there && order(*entry, row).is_eq()).map(|entry| entry as u64)
    });
    Ok(positions.collect())
}

/// Casts keys to the key type if the two are alike ([`is_alike`]). A key without an equal value in that type becomes NULL and matches
/// nothing: 1.5 does not become the whole number 1. Between other types without elements or fields it is an error, and if only one of the
/// two has them. Other keys keep their type.
fn as_keys(keys: &ArrayRef, wanted: &DataType) -> Result<ArrayRef> {
    let given = keys.data_type();
    if given == wanted {
        return Ok(Arc::clone(keys));
    }
    if given.is_null() || (given.is_string() && wanted.is_string()) {
        return Ok(cast(keys, wanted)?);
    }
    if is_alike(given, wanted) {
        let own_keys = cast(keys, wanted)?;
        let order = comparator(&cast(&own_keys, given)?, keys)?;
        let is_other: BooleanArray = (0..keys.len()).map(|row| Some(order(row, row).is_ne())).collect();
        return Ok(nullif(&own_keys, &is_other)?);
    }
    let is_plain = |data_type: &DataType| data_type.is_primitive() || data_type.is_string() || *data_type == DataType::Boolean;
    if is_plain(given) && is_plain(wanted) || given.is_nested() != wanted.is_nested() {
        let [given, wanted] = [given, wanted].map(declared_name);
        let hint = Some(format!("write CAST(x AS {wanted})"));
        return Err(EngineError::data(format!("the keys of this map are {wanted}, and this one is {given}"), hint).into_datafusion());
    }
    Ok(Arc::clone(keys))
}

/// Whether a cast to the type and back shows if a value fits.
fn is_alike(given: &DataType, wanted: &DataType) -> bool {
    let is_moment = |data_type: &DataType| matches!(data_type, DataType::Date32 | DataType::Timestamp(_, None));
    match (fields_of(given), fields_of(wanted)) {
        ([given_element], [wanted_element]) if given.is_list() && wanted.is_list() => {
            is_alike(given_element.data_type(), wanted_element.data_type())
        }
        _ => {
            given == wanted
                || (given.is_string() && wanted.is_string())
                || (given.is_numeric() && wanted.is_numeric())
                || (is_moment(given) && is_moment(wanted))
        }
    }
}
