//! Uses [`DecimalArithmetic`] where projections and aggregates compute with decimals.

use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::projection::ProjectionExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateInputMode};
use datafusion::physical_plan::projection::ProjectionExec;

use super::decimal::DecimalArithmetic;
use common::engine_settings::switches;

#[derive(Debug, Default)]
pub struct FastDecimals;

impl PhysicalOptimizerRule for FastDecimals {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, options: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        if !switches(options).fast_decimals {
            return Ok(plan);
        }
        plan.transform_up(|plan| {
            let new = match (plan.downcast_ref::<ProjectionExec>(), plan.downcast_ref::<AggregateExec>()) {
                (Some(projection), _) => projection_with(projection)?,
                (_, Some(aggregate)) => aggregate_with(aggregate)?,
                _ => None,
            };
            Ok(new.map_or_else(|| Transformed::no(plan), Transformed::yes))
        })
        .data()
    }

    fn name(&self) -> &str {
        "fast_decimals"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// `None` if nothing in it computes with decimals.
fn projection_with(projection: &ProjectionExec) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let schema = projection.input().schema();
    let mut changed = false;
    let exprs = projection.expr().iter().map(|projected| {
        let expr = rewritten(&projected.expr, &schema)?;
        changed |= expr.transformed;
        Ok(ProjectionExpr::new(expr.data, projected.alias.clone()))
    });
    let exprs = exprs.collect::<Result<Vec<_>>>()?;
    if !changed {
        return Ok(None);
    }
    Ok(Some(Arc::new(ProjectionExec::try_new(exprs, Arc::clone(projection.input()))?)))
}

/// `None` if no argument of its functions computes with decimals.
fn aggregate_with(aggregate: &AggregateExec) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    // A final aggregate reads states and not arguments.
    if aggregate.mode().input_mode() != AggregateInputMode::Raw {
        return Ok(None);
    }
    let schema = aggregate.input().schema();
    let mut functions = aggregate.aggr_expr().to_vec();
    let mut changed = false;
    for function in &mut functions {
        let arguments = function.expressions().iter().map(|expr| rewritten(expr, &schema)).collect::<Result<Vec<_>>>()?;
        // `with_new_expressions` resets the flag that the order is reversed.
        if function.is_reversed() || !arguments.iter().any(|argument| argument.transformed) {
            continue;
        }
        let arguments = arguments.into_iter().map(|argument| argument.data).collect();
        let order = function.order_bys().iter().map(|sort| Arc::clone(&sort.expr)).collect();
        if let Some(new) = function.with_new_expressions(arguments, order) {
            *function = Arc::new(new);
            changed = true;
        }
    }
    Ok(changed.then(|| Arc::new(aggregate.with_new_aggr_exprs(functions)) as Arc<dyn ExecutionPlan>))
}

fn rewritten(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Result<Transformed<Arc<dyn PhysicalExpr>>> {
    Arc::clone(expr).transform_up(|expr| match DecimalArithmetic::of(&expr, schema)? {
        Some(arithmetic) => Ok(Transformed::yes(Arc::new(arithmetic) as Arc<dyn PhysicalExpr>)),
        None => Ok(Transformed::no(expr)),
    })
}
