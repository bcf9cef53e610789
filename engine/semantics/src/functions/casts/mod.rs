//! Functions that replace casts which Arrow does wrongly, or differently from PostgreSQL.
//!
//! - [`nested`] — lists, structs and maps: only the visible values are cast
//! - [`texts`] — texts as times, timestamps, intervals, lists and floats; [`list_text`] parses those of lists
//! - [`moments`] — timestamps with fewer digits or without their zone, and local times in a zone
//! - [`list_values`] — refuses a list for its only element, and a value for a list of one
//! - [`function`] — the function

mod function;
mod list_text;
mod list_values;
mod moments;
mod nested;
mod texts;

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Expr, ExprSchemable, ScalarUDF, cast, try_cast};

use super::nearest_floats::scalar_nearest;
use function::OwnCast;
use list_values::check_lists;
pub use moments::{Moment, moments, out_of_range};
pub use nested::cast_shown;
use nested::is_done_here;

/// The expression that replaces the cast; `None` if Arrow's cast is right. `zone` is the session's.
pub fn own_cast(expr: &Expr, schema: &DFSchema, zone: Option<&str>) -> Result<Option<Expr>> {
    let (source, field, safe) = match expr {
        Expr::Cast(cast) => (&cast.expr, &cast.field, false),
        Expr::TryCast(cast) => (&cast.expr, &cast.field, true),
        _ => return Ok(None),
    };
    // Checked first: computing the type of a long expression is slow.
    let is_own = may_be_own(field.data_type());
    let is_plain = matches!(source.as_ref(), Expr::Literal(value, _) if !value.data_type().is_nested());
    if !is_own && (is_plain || matches!(source.as_ref(), Expr::BinaryExpr(_))) {
        return Ok(None);
    }
    let Ok((_, from)) = source.to_field(schema) else { return Ok(None) };
    check_lists(&from, field)?;
    if !is_own && !from.data_type().is_nested() {
        return Ok(None);
    }
    if let Some(instant) = in_zone(source, from.data_type(), field.data_type(), zone) {
        let outer = |source: Expr| match expr {
            Expr::TryCast(_) => try_cast(source, field.data_type().clone()),
            _ => cast(source, field.data_type().clone()),
        };
        let local = outer(instant);
        return Ok(Some(own_cast(&local, schema, zone)?.unwrap_or(local)));
    }
    if !is_done_here(&from, field) {
        return Ok(None);
    }
    // Some functions require constant arguments, and zone statistics are compared with constants.
    if let Expr::Literal(value, None) = source.as_ref()
        && field.metadata().is_empty()
        && let Ok(made) = scalar_as(value, &from, field, safe)
    {
        return Ok(Some(Expr::Literal(made, None)));
    }
    let function = cast_function(from, Arc::clone(field), safe);
    Ok(Some(Expr::ScalarFunction(ScalarFunction::new_udf(Arc::new(function), vec![source.as_ref().clone()]))))
}

/// The function that does the same as a cast, for every pair of types.
pub fn cast_function(source: FieldRef, field: FieldRef, safe: bool) -> ScalarUDF {
    ScalarUDF::from(OwnCast::new(source, field, safe))
}

/// `arrow_cast` and similar functions as casts. DataFusion does this too, but after our rules have run.
pub fn cast_by_name(expr: &Expr, schema: &DFSchema) -> Option<Expr> {
    let Expr::ScalarFunction(call) = expr else { return None };
    let tries = match call.func.name() {
        "arrow_cast" | "cast_to_type" => false,
        "arrow_try_cast" | "try_cast_to_type" => true,
        _ => return None,
    };
    let (source, wanted) = (call.args.first()?, expr.get_type(schema).ok()?);
    let is_same = source.get_type(schema).is_ok_and(|found| found == wanted);
    (!is_same).then(|| if tries { try_cast(source.clone(), wanted) } else { cast(source.clone(), wanted) })
}

/// A call of the function as a cast: the target field, and whether a value that does not fit becomes NULL.
pub fn cast_of(function: &ScalarUDF) -> Option<(&FieldRef, bool)> {
    function.inner().downcast_ref::<OwnCast>().map(|function| (&function.field, function.safe))
}

/// Casts a value, by our function or by Arrow.
pub fn scalar_as(value: &ScalarValue, from: &Field, to: &Field, safe: bool) -> Result<ScalarValue> {
    match is_done_here(from, to) {
        true => ScalarValue::try_from_array(&cast_shown(&value.to_array()?, from, to, safe)?, 0),
        false => scalar_nearest(value, to.data_type()),
    }
}

/// Casts the values where Arrow's cast would be wrong; `None` if Arrow's cast is right.
pub fn own_values(array: &ArrayRef, from: &Field, to: &Field) -> Option<Result<ArrayRef>> {
    is_done_here(from, to).then(|| cast_shown(array, from, to, false))
}

/// Other casts are Arrow's.
fn may_be_own(to: &DataType) -> bool {
    use DataType::{Date32, Float32, Float64, Interval, Time64, Timestamp};
    to.is_nested() || matches!(to, Timestamp(..) | Date32 | Time64(_) | Interval(_) | Float32 | Float64)
}

/// Moves an instant of another zone into the session's zone before its date or time of day is taken.
fn in_zone(source: &Expr, from: &DataType, to: &DataType, zone: Option<&str>) -> Option<Expr> {
    let DataType::Timestamp(unit, Some(own)) = from else { return None };
    let is_local = matches!(to, DataType::Timestamp(_, None) | DataType::Date32 | DataType::Time64(_));
    let zone = zone.filter(|zone| is_local && *zone != own.as_ref())?;
    Some(cast(source.clone(), DataType::Timestamp(*unit, Some(Arc::from(zone)))))
}
