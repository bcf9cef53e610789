//! Casts that Arrow does wrongly, or otherwise than PostgreSQL, as a function in their place.
//!
//! - [`nested`] — lists, structs and maps: the values that are shown, and no others
//! - [`texts`] — texts as times, timestamps, intervals, lists and floats; [`list_text`] takes those of lists apart
//! - [`moments`] — timestamps with fewer digits or without their zone, and times on clocks of a zone
//! - [`list_values`] — lists that would be taken for their one element, and values for a list of one
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

/// The expression that does what the cast says; None where Arrow's cast does. `zone` is the session's.
pub fn own_cast(expr: &Expr, schema: &DFSchema, zone: Option<&str>) -> Result<Option<Expr>> {
    let (source, field, safe) = match expr {
        Expr::Cast(cast) => (&cast.expr, &cast.field, false),
        Expr::TryCast(cast) => (&cast.expr, &cast.field, true),
        _ => return Ok(None),
    };
    // Before the type is asked for: of a long expression that takes long.
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
    // Some functions look for a constant in their arguments, and zone statistics are compared with one.
    if let Expr::Literal(value, None) = source.as_ref()
        && field.metadata().is_empty()
        && let Ok(made) = scalar_as(value, &from, field, safe)
    {
        return Ok(Some(Expr::Literal(made, None)));
    }
    let function = cast_function(from, Arc::clone(field), safe);
    Ok(Some(Expr::ScalarFunction(ScalarFunction::new_udf(Arc::new(function), vec![source.as_ref().clone()]))))
}

/// The function that does what a cast does, whoever could do it.
pub fn cast_function(source: FieldRef, field: FieldRef, safe: bool) -> ScalarUDF {
    ScalarUDF::from(OwnCast::new(source, field, safe))
}

/// `arrow_cast` and its kin as the casts that they are, which DataFusion makes of them when nobody looks any more.
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

/// What a call of the function is as a cast: the field that is wanted, and whether what does not fit is NULL.
pub fn cast_of(function: &ScalarUDF) -> Option<(&FieldRef, bool)> {
    function.inner().downcast_ref::<OwnCast>().map(|function| (&function.field, function.safe))
}

/// A value as the cast makes it, whoever does that.
pub fn scalar_as(value: &ScalarValue, from: &Field, to: &Field, safe: bool) -> Result<ScalarValue> {
    match is_done_here(from, to) {
        true => ScalarValue::try_from_array(&cast_shown(&value.to_array()?, from, to, safe)?, 0),
        false => scalar_nearest(value, to.data_type()),
    }
}

/// Values as those that are wanted, where Arrow's cast would make something else of them; None where it does what it should.
pub fn own_values(array: &ArrayRef, from: &Field, to: &Field) -> Option<Result<ArrayRef>> {
    is_done_here(from, to).then(|| cast_shown(array, from, to, false))
}

/// Other casts are Arrow's.
fn may_be_own(to: &DataType) -> bool {
    use DataType::{Date32, Float32, Float64, Interval, Time64, Timestamp};
    to.is_nested() || matches!(to, Timestamp(..) | Date32 | Time64(_) | Interval(_) | Float32 | Float64)
}

/// An instant in the session's zone, where its date or time of day is wanted and it is in another zone.
fn in_zone(source: &Expr, from: &DataType, to: &DataType, zone: Option<&str>) -> Option<Expr> {
    let DataType::Timestamp(unit, Some(own)) = from else { return None };
    let is_local = matches!(to, DataType::Timestamp(_, None) | DataType::Date32 | DataType::Time64(_));
    let zone = zone.filter(|zone| is_local && *zone != own.as_ref())?;
    Some(cast(source.clone(), DataType::Timestamp(*unit, Some(Arc::from(zone)))))
}
