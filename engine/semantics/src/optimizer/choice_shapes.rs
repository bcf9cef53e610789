//! CASE and coalesce() of tensors of one shape are tensors of that shape.
//!
//! DataFusion gives them the type of their branches without the metadata of the fields. If the shapes differ, the result is a list of
//! fixed size, as in a UNION.

use std::sync::Arc;

use arrow::datatypes::{Field, FieldRef};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Case, Cast, Expr, ExprSchemable, LogicalPlan, Union};

use super::recursive_shapes::reconciled;
use crate::functions::map_under_names;
use common::tensor_shape::{EXTENSION_METADATA, EXTENSION_NAME, shape_of};

/// The plan with shapes on its columns of CASE and coalesce(). It also accepts plans before type coercion, so that the columns of a view
/// have their shapes.
pub fn with_choice_shapes(plan: LogicalPlan) -> Result<LogicalPlan> {
    in_plans(plan, false)
}

/// The same for a plan in which the columns of a table have changed.
pub fn with_new_schemas(plan: LogicalPlan) -> Result<LogicalPlan> {
    in_plans(plan, true)
}

fn in_plans(plan: LogicalPlan, mut has_changed: bool) -> Result<LogicalPlan> {
    let done = plan.transform_up_with_subqueries(|plan| {
        let plan = match plan {
            LogicalPlan::RecursiveQuery(query) => reconciled(query)?,
            plan => in_plan(plan)?,
        };
        // The nodes above must also show the shapes.
        has_changed |= plan.transformed;
        if has_changed { plan.map_data(with_schema) } else { Ok(plan) }
    });
    done.map(|plan| plan.data)
}

/// The node with a schema recomputed from its inputs.
fn with_schema(plan: LogicalPlan) -> Result<LogicalPlan> {
    match plan {
        LogicalPlan::Union(union) => Union::try_new_with_loose_types(union.inputs).map(LogicalPlan::Union),
        // `reconciled` has done this already.
        plan @ LogicalPlan::RecursiveQuery(_) => Ok(plan),
        plan => plan.recompute_schema(),
    }
}

/// Only nodes that make columns: nothing else needs the shape.
fn in_plan(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    if !matches!(plan, LogicalPlan::Projection(_) | LogicalPlan::Aggregate(_) | LogicalPlan::Window(_)) {
        return Ok(Transformed::no(plan));
    }
    let schema = merge_schema(&plan.inputs());
    map_under_names(plan, |expr| with_shapes(expr, &schema))
}

/// Adds the shape to CASE and coalesce() in the expression, by a cast to the type that it already has.
pub fn with_shapes(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    expr.transform_up(|expr| match &expr {
        // The cast has been added before: plans are analyzed more than once.
        Expr::Cast(Cast { expr: inner, field }) => match inner.as_ref() {
            Expr::Cast(said) if said.field == *field && shape_of(field).is_some() => Ok(Transformed::yes(inner.as_ref().clone())),
            _ => Ok(Transformed::no(expr)),
        },
        _ => match shaped(&expr, schema)? {
            Some(field) => Ok(Transformed::yes(Expr::Cast(Cast::new_from_field(Box::new(expr), field)))),
            None => Ok(Transformed::no(expr)),
        },
    })
}

/// The field of a choice among NULLs and tensors of one shape.
fn shaped(expr: &Expr, schema: &DFSchema) -> Result<Option<FieldRef>> {
    let Some(choices) = choices(expr) else { return Ok(None) };
    let mut chosen: Option<FieldRef> = None;
    for choice in choices {
        // An expression without a type before coercion is handled after it.
        let Ok((_, field)) = choice.to_field(schema) else { return Ok(None) };
        let Some(shape) = shape_of(&field) else {
            if is_null(choice) {
                continue;
            }
            return Ok(None);
        };
        let is_other = |chosen: &FieldRef| shape_of(chosen).as_ref() != Some(&shape) || chosen.data_type() != field.data_type();
        if chosen.as_ref().is_some_and(is_other) {
            return Ok(None);
        }
        chosen.get_or_insert(field);
    }
    let Some(chosen) = chosen.filter(|chosen| expr.get_type(schema).is_ok_and(|data_type| data_type == *chosen.data_type())) else {
        return Ok(None);
    };
    let said = [EXTENSION_NAME, EXTENSION_METADATA].into_iter();
    let said = said.filter_map(|key| Some((key.to_string(), chosen.metadata().get(key)?.clone())));
    let field = Field::new("list", chosen.data_type().clone(), expr.nullable(schema)?);
    Ok(Some(Arc::new(field.with_metadata(said.collect()))))
}

fn choices(expr: &Expr) -> Option<Vec<&Expr>> {
    match expr {
        Expr::Case(Case { when_then_expr, else_expr, .. }) => {
            Some(when_then_expr.iter().map(|(_, then)| then.as_ref()).chain(else_expr.as_deref()).collect())
        }
        Expr::ScalarFunction(ScalarFunction { func, args }) => match (func.name(), args.as_slice()) {
            ("coalesce", args) => Some(args.iter().collect()),
            ("nvl2", [_, args @ ..]) => Some(args.iter().collect()),
            ("nullif", [first, ..]) => Some(vec![first]),
            _ => None,
        },
        _ => None,
    }
}

fn is_null(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(value, _) => value.is_null(),
        Expr::Cast(Cast { expr, .. }) => is_null(expr),
        Expr::Alias(alias) => is_null(&alias.expr),
        _ => false,
    }
}
