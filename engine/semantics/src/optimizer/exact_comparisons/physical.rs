//! Comparisons in filters of scans: a dynamic filter has values that no rule has seen, and a file reader casts columns itself. None of
//! them is volatile: DataFusion keeps volatile filters out of scans.

use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, CastExpr, Literal, TryCastExpr, case, is_not_null, is_null, lit};
use datafusion::physical_expr::simplifier::PhysicalExprSimplifier;
use datafusion::physical_expr::utils::collect_columns;

use super::condition::{Condition, LossyCast, Valid, compares};

/// The filter without comparisons whose meaning DataFusion's simplifier would change.
pub fn exact_filter(filter: Arc<dyn PhysicalExpr>, schema: &Schema) -> Result<Arc<dyn PhysicalExpr>> {
    filter
        .transform_up(|part| match exact(&part, schema)? {
            // The value below the cast may be a cast itself, which is now compared.
            Some(exact) => Ok(Transformed::yes(exact_filter(exact, schema)?)),
            None => Ok(Transformed::no(part)),
        })
        .data()
}

fn exact(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Result<Option<Arc<dyn PhysicalExpr>>> {
    let Some(binary) = expr.downcast_ref::<BinaryExpr>().filter(|binary| compares(*binary.op())) else { return Ok(None) };
    let (left, right) = (lossy(binary.left(), schema), lossy(binary.right(), schema));
    match (left, right, binary.op().swap()) {
        (Some((cast, value)), ..) => made(&cast, (binary.left(), value), *binary.op(), binary.right(), schema),
        (_, Some((cast, value)), Some(op)) => made(&cast, (binary.right(), value), op, binary.left(), schema),
        _ => Ok(None),
    }
}

/// The cast and its operand.
fn lossy<'a>(expr: &'a Arc<dyn PhysicalExpr>, schema: &Schema) -> Option<(LossyCast, &'a Arc<dyn PhysicalExpr>)> {
    let (value, to, is_try) = match (expr.downcast_ref::<CastExpr>(), expr.downcast_ref::<TryCastExpr>()) {
        (Some(cast), _) => (cast.expr(), cast.cast_type(), false),
        (_, Some(cast)) => (cast.expr(), cast.cast_type(), true),
        _ => return None,
    };
    Some((LossyCast::of(&value.data_type(schema).ok()?, to, is_try)?, value))
}

fn made(
    cast: &LossyCast,
    (cast_expr, value): (&Arc<dyn PhysicalExpr>, &Arc<dyn PhysicalExpr>),
    op: Operator,
    other: &Arc<dyn PhysicalExpr>,
    schema: &Schema,
) -> Result<Option<Arc<dyn PhysicalExpr>>> {
    let Some(constant) = constant(other, schema)? else { return Ok(None) };
    match op {
        Operator::IsDistinctFrom if constant.is_null() => return Ok(Some(is_not_null(Arc::clone(cast_expr))?)),
        Operator::IsNotDistinctFrom if constant.is_null() => return Ok(Some(is_null(Arc::clone(cast_expr))?)),
        _ => {}
    }
    let plain = match op {
        Operator::IsDistinctFrom | Operator::IsNotDistinctFrom => Operator::Eq,
        op => op,
    };
    let Some(condition) = cast.condition(plain, &constant) else { return Ok(None) };
    let exact = on(value, condition)?;
    let exact = match cast.valid() {
        Valid::All => exact,
        Valid::Where(valid) => case(None, vec![(on(value, valid)?, exact)], None)?,
        Valid::WhereCast => case(None, vec![(is_not_null(Arc::clone(cast_expr))?, exact)], None)?,
    };
    Ok(Some(if plain == op { exact } else { binary(exact, op, lit(true)) }))
}

fn constant(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Result<Option<ScalarValue>> {
    let expr = match expr.is::<Literal>() || !collect_columns(expr).is_empty() {
        true => Arc::clone(expr),
        false => PhysicalExprSimplifier::new(schema).simplify(Arc::clone(expr))?,
    };
    Ok(expr.downcast_ref::<Literal>().map(|literal| literal.value().clone()))
}

fn on(value: &Arc<dyn PhysicalExpr>, condition: Condition) -> Result<Arc<dyn PhysicalExpr>> {
    let compared = |op, constant: ScalarValue| binary(Arc::clone(value), op, lit(constant));
    let null = || lit(ScalarValue::Boolean(None));
    Ok(match condition {
        Condition::Is(op, constant) => compared(op, constant),
        Condition::Within(least, greatest) => binary(compared(Operator::GtEq, least), Operator::And, compared(Operator::LtEq, greatest)),
        Condition::Without(least, greatest) => binary(compared(Operator::Lt, least), Operator::Or, compared(Operator::Gt, greatest)),
        Condition::Always(false) => binary(is_null(Arc::clone(value))?, Operator::And, null()),
        Condition::Always(true) => binary(is_not_null(Arc::clone(value))?, Operator::Or, null()),
    })
}

fn binary(left: Arc<dyn PhysicalExpr>, op: Operator, right: Arc<dyn PhysicalExpr>) -> Arc<dyn PhysicalExpr> {
    Arc::new(BinaryExpr::new(left, op, right))
}
