//! The rewrite of one cast.

use arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result, internal_err};
use datafusion::logical_expr::{Expr, ExprSchemable};

use super::convert::{scalar_nearest, with_floats};
use super::function::nearest_floats;

/// The type that the operand is converted to before the rest of the cast; `None` if no decimal becomes a float.
pub fn wanted_floats(expr: &Expr, schema: &DFSchema) -> Option<DataType> {
    let (source, to) = match expr {
        Expr::Cast(cast) => (&cast.expr, cast.field.data_type()),
        Expr::TryCast(cast) => (&cast.expr, cast.field.data_type()),
        _ => return None,
    };
    // Computing the type of a long expression is slow.
    if !may_want_floats(expr) {
        return None;
    }
    with_floats(&source.get_type(schema).ok()?, to)
}

pub fn may_want_floats(expr: &Expr) -> bool {
    let to = match expr {
        Expr::Cast(cast) => cast.field.data_type(),
        Expr::TryCast(cast) => cast.field.data_type(),
        _ => return false,
    };
    may_hold_floats(to)
}

fn may_hold_floats(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => may_hold_floats(values),
        DataType::RunEndEncoded(_, values) => may_hold_floats(values.data_type()),
        _ => data_type.is_floating() || data_type.is_nested(),
    }
}

/// The cast with its operand converted to the type of [`wanted_floats`], or just that operand if nothing is left to cast.
pub fn nearest_float_cast(mut expr: Expr, wanted: DataType) -> Result<Expr> {
    let (source, to) = match &mut expr {
        Expr::Cast(cast) => (&mut cast.expr, &cast.field),
        Expr::TryCast(cast) => (&mut cast.expr, &cast.field),
        other => return internal_err!("{other} is no cast"),
    };
    let is_all = wanted == *to.data_type() && to.metadata().is_empty();
    let made = match std::mem::take(source.as_mut()) {
        // Some functions require constant arguments, and zone statistics are compared with constants.
        Expr::Literal(value, None) => Expr::Literal(scalar_nearest(&value, &wanted)?, None),
        operand => nearest_floats(operand, wanted),
    };
    if is_all {
        return Ok(made);
    }
    **source = made;
    Ok(expr)
}
