//! Projections above filters that contain a projection.
//!
//! DataFusion moves the upper projection below such a filter and forgets the filter's own. The column indexes of the projection refer to
//! the filter's output, and those of the condition to its input (`FilterExec::try_swapping_with_projection`, datafusion-physical-plan
//! 55.2, filter.rs). `SELECT x.b, x.a * x.c FROM y RIGHT JOIN x ON x.id = y.id WHERE y.b IS NULL` returned the `b` of `y`. So the filter's
//! projection becomes a separate operator before the rule, which merges the two.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::projection::ProjectionExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_optimizer::projection_pushdown::ProjectionPushdown;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::filter::{FilterExec, FilterExecBuilder};
use datafusion::physical_plan::projection::ProjectionExec;

/// Our rule, if this is DataFusion's that moves projections.
pub fn in_place_of_projections(rule: Arc<dyn PhysicalOptimizerRule + Send + Sync>) -> Arc<dyn PhysicalOptimizerRule + Send + Sync> {
    let theirs = ProjectionPushdown::new();
    if rule.name() == theirs.name() { Arc::new(FilterProjections(theirs)) } else { rule }
}

#[derive(Debug)]
struct FilterProjections(ProjectionPushdown);

impl PhysicalOptimizerRule for FilterProjections {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        self.0.optimize(plan.transform_up(apart).data()?, config)
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn schema_check(&self) -> bool {
        self.0.schema_check()
    }
}

fn apart(node: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let filter = node.downcast_ref::<ProjectionExec>().and_then(|upper| upper.input().downcast_ref::<FilterExec>());
    let Some((filter, projection)) = filter.and_then(|filter| Some((filter, filter.projection().as_ref()?))) else {
        return Ok(Transformed::no(node));
    };
    let input = filter.input().schema();
    let columns = projection.iter().map(|&number| {
        let name = input.field(number).name();
        ProjectionExpr { expr: Arc::new(Column::new(name, number)), alias: name.clone() }
    });
    let columns: Vec<ProjectionExpr> = columns.collect();
    let whole = FilterExecBuilder::from(filter).apply_projection(None)?.build()?;
    let projection: Arc<dyn ExecutionPlan> = Arc::new(ProjectionExec::try_new(columns, Arc::new(whole))?);
    Ok(Transformed::yes(replace_children_if_necessary(node, vec![projection])?))
}
