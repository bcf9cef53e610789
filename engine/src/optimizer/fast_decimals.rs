//! Puts [`DecimalArithmetic`] where projections and aggregates compute on decimals.

use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::projection::ProjectionExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::projection::ProjectionExec;

use super::decimal::DecimalArithmetic;
use crate::switches::switches;

#[derive(Debug, Default)]
pub struct FastDecimals;

impl PhysicalOptimizerRule for FastDecimals {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, options: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        if !switches(options).fast_decimals {
            return Ok(plan);
        }
        plan.transform_up(|plan| {
            if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
                return projection_with(projection);
            }
            if let Some(aggregate) = plan.downcast_ref::<AggregateExec>() {
                return aggregate_with(aggregate);
            }
            Ok(Transformed::no(plan))
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

fn projection_with(projection: &ProjectionExec) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let schema = projection.input().schema();
    let exprs = projection.expr().iter().map(|projected| {
        Ok(ProjectionExpr::new(rewritten(&projected.expr, &schema)?, projected.alias.clone()))
    });
    let exprs = exprs.collect::<Result<Vec<_>>>()?;
    let new = ProjectionExec::try_new(exprs, Arc::clone(projection.input()))?;
    Ok(Transformed::yes(Arc::new(new)))
}

fn aggregate_with(aggregate: &AggregateExec) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let schema = aggregate.input().schema();
    // A final aggregate reads states, not arguments.
    let reads_rows = aggregate.mode().input_mode() == datafusion::physical_plan::aggregates::AggregateInputMode::Raw;
    if !reads_rows {
        return Ok(Transformed::no(Arc::new(aggregate.clone())));
    }
    let mut functions = Vec::with_capacity(aggregate.aggr_expr().len());
    for function in aggregate.aggr_expr() {
        let arguments = function.expressions().iter().map(|expr| rewritten(expr, &schema)).collect::<Result<Vec<_>>>()?;
        let order: Vec<Arc<dyn PhysicalExpr>> = function.order_bys().iter().map(|sort| Arc::clone(&sort.expr)).collect();
        let new = function.with_new_expressions(arguments, order);
        functions.push(new.map_or_else(|| Arc::clone(function), Arc::new));
    }
    Ok(Transformed::yes(Arc::new(aggregate.with_new_aggr_exprs(functions))))
}

fn rewritten(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Result<Arc<dyn PhysicalExpr>> {
    Arc::clone(expr)
        .transform_up(|expr| match DecimalArithmetic::of(&expr, schema)? {
            Some(arithmetic) => Ok(Transformed::yes(Arc::new(arithmetic) as Arc<dyn PhysicalExpr>)),
            None => Ok(Transformed::no(expr)),
        })
        .data()
}
