//! One order for lists, structs and maps: that of ORDER BY, where NULL inside comes last.
//!
//! DataFusion's `<` puts NULL inside first, and its `min` and `max` skip values with one and fail for lists of structs. So `[1] < [NULL]`
//! was false although ORDER BY puts `[1]` before `[NULL]`. Here [`compared`] replaces the operators and [`own_extreme`] the aggregates;
//! [`keys`] separates NULL from NULL inside if ORDER BY puts them at different ends.

mod keys;

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{AggregateUDF, BinaryExpr, Expr, ExprSchemable, LogicalPlan, WindowFunctionDefinition};
use datafusion::optimizer::AnalyzerRule;

use crate::functions::extreme::own_extreme;
use crate::functions::map_under_names;
use crate::functions::nested_order::compared;

/// Runs once the types are known.
#[derive(Debug)]
pub struct NestedOrder;

impl AnalyzerRule for NestedOrder {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|plan| {
            let mut schema = merge_schema(&plan.inputs());
            if let LogicalPlan::TableScan(scan) = &plan {
                schema.merge(&DFSchema::try_from_qualified_schema(scan.table_name.clone(), &scan.source.schema())?);
            }
            let ordered = map_under_names(plan, |expr| expr.transform_up(|part| Ok(ordered(part, &schema))))?;
            ordered.transform_data(|plan| Ok(keys::in_plan(plan)))
        })
        .data()
    }

    fn name(&self) -> &str {
        "nested_order"
    }
}

/// For the comparisons that DataFusion makes of `x > ALL (SELECT …)` long after coercion.
pub fn in_filters(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    plan.map_subqueries(|subquery| {
        subquery.map_children(|child| {
            let LogicalPlan::Filter(filter) = &child else { return Ok(Transformed::no(child)) };
            let schema = Arc::clone(filter.input.schema());
            child.map_expressions(|expr| expr.transform_up(|part| Ok(comparison(part, &schema))))
        })
    })
}

/// Rewrites one comparison if it orders nested values.
pub fn comparison(expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match compared::function(op) {
            Some(function) if is_nested(&left, schema) => Transformed::yes(function.call(vec![*left, *right])),
            _ => Transformed::no(Expr::BinaryExpr(BinaryExpr { left, op, right })),
        },
        Expr::Between(between) if is_nested(&between.expr, schema) => {
            let within = compared::between(*between.expr, *between.low, *between.high);
            Transformed::yes(if between.negated { !within } else { within })
        }
        expr => Transformed::no(expr),
    }
}

fn ordered(mut expr: Expr, schema: &DFSchema) -> Transformed<Expr> {
    match expr {
        Expr::AggregateFunction(ref mut call) => {
            // With DISTINCT the keys must be the arguments.
            let mut changed = !call.params.distinct && keys::as_bytes(&mut call.params.order_by, schema);
            if let Some(extreme) = extreme_of(&call.func, &call.params.args, schema) {
                call.func = extreme;
                changed = true;
            }
            Transformed::new_transformed(expr, changed)
        }
        Expr::WindowFunction(ref mut call) => {
            let mut changed = keys::as_bytes(&mut call.params.order_by, schema);
            if let WindowFunctionDefinition::AggregateUDF(function) = &call.fun
                && let Some(extreme) = extreme_of(function, &call.params.args, schema)
            {
                call.fun = WindowFunctionDefinition::AggregateUDF(extreme);
                changed = true;
            }
            Transformed::new_transformed(expr, changed)
        }
        expr => comparison(expr, schema),
    }
}

fn extreme_of(function: &AggregateUDF, args: &[Expr], schema: &DFSchema) -> Option<Arc<AggregateUDF>> {
    let extreme = own_extreme(function).filter(|_| args.first().is_some_and(|value| is_nested(value, schema)));
    extreme.map(Arc::clone)
}

/// Whether the side of a comparison is nested; the types of chains of other operators are not computed.
fn is_nested(expr: &Expr, schema: &DFSchema) -> bool {
    match expr {
        Expr::BinaryExpr(_) | Expr::Not(_) | Expr::IsNull(_) | Expr::IsNotNull(_) | Expr::Negative(_) => false,
        expr => expr.get_type(schema).is_ok_and(|data_type| data_type.is_nested()),
    }
}
