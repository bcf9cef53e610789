//! CASE and coalesce() of tensors of one shape are tensors of that shape.
//!
//! DataFusion gives them the type of what they choose among, and nothing of what its fields say. Of several shapes they stay lists of
//! fixed size, as a UNION does.

use std::sync::Arc;

use arrow::datatypes::{Field, FieldRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Case, Cast, Expr, ExprSchemable, LogicalPlan, Union};
use datafusion::optimizer::AnalyzerRule;

use crate::kernels::arrays::{EXTENSION_METADATA, EXTENSION_NAME, shape_of};

#[derive(Debug)]
pub struct ChoiceShapes;

impl AnalyzerRule for ChoiceShapes {
    fn name(&self) -> &str {
        "choice_shapes"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        // A recursive query's own rows were planned without the shape, and both of its parts have one schema.
        if plan.exists(|plan| Ok(matches!(plan, LogicalPlan::RecursiveQuery(_))))? {
            return Ok(plan);
        }
        let mut has_changed = false;
        let done = plan.transform_up_with_subqueries(|plan| {
            let plan = in_plan(plan)?;
            has_changed |= plan.transformed;
            // What is above has the columns with their shapes too.
            if has_changed { plan.map_data(with_schema) } else { Ok(plan) }
        });
        done.map(|plan| plan.data)
    }
}

fn with_schema(plan: LogicalPlan) -> Result<LogicalPlan> {
    match plan {
        LogicalPlan::Union(union) => Union::try_new(union.inputs).map(LogicalPlan::Union),
        plan => plan.recompute_schema(),
    }
}

/// Only what makes columns: elsewhere nobody asks for the shape.
fn in_plan(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    if !matches!(plan, LogicalPlan::Projection(_) | LogicalPlan::Aggregate(_) | LogicalPlan::Window(_)) {
        return Ok(Transformed::no(plan));
    }
    let schema = merge_schema(&plan.inputs());
    plan.map_expressions(|expr| with_shapes(expr, &schema))
}

/// Says the shape of what CASE and coalesce() choose in the expression, by a cast to the type that it has already.
pub fn with_shapes(expr: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    expr.transform_up(|expr| match &expr {
        // Where it has been said before: plans are analysed more than once.
        Expr::Cast(Cast { expr: inner, field }) => match inner.as_ref() {
            Expr::Cast(said) if said.field == *field => Ok(Transformed::yes(inner.as_ref().clone())),
            _ => Ok(Transformed::no(expr)),
        },
        _ => match shaped(&expr, schema)? {
            Some(field) => Ok(Transformed::yes(Expr::Cast(Cast::new_from_field(Box::new(expr), field)))),
            None => Ok(Transformed::no(expr)),
        },
    })
}

/// The field of a choice among tensors of one shape, and NULLs.
fn shaped(expr: &Expr, schema: &DFSchema) -> Result<Option<FieldRef>> {
    let Some(choices) = choices(expr) else { return Ok(None) };
    let mut chosen: Option<FieldRef> = None;
    for choice in choices {
        let (_, field) = choice.to_field(schema)?;
        let Some(shape) = shape_of(&field) else {
            if is_null(choice) {
                continue;
            }
            return Ok(None);
        };
        if chosen.as_ref().is_some_and(|chosen| shape_of(chosen) != Some(shape)) {
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
