//! The order of inner joins.
//!
//! DataFusion joins in the order in which a statement names the tables, and chooses only which side of a join is the build side. Here the
//! inner joins of a plan that stand together are taken apart into a graph ([`graph`]), the number of rows that each set of its inputs gives is
//! estimated ([`cardinality`]), the cheapest tree is found ([`search`], [`cost`]), and built where it costs less than the tree of the statement
//! ([`tree`]). Equal columns are equal to all that one of them equals, so joins may use conditions that the statement does not say.

mod cardinality;
mod cost;
mod graph;
mod search;
mod tree;

use std::sync::Arc;

use common::engine_settings::switches;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};

use cardinality::Cardinalities;
use cost::CostedTree;
use graph::{JoinGraph, JoinTree};
use search::best_tree;
use tree::build;

/// Runs before the rule that chooses build sides.
#[derive(Debug)]
pub struct JoinOrder;

/// The tree of the statement is kept unless another one costs less than this share of it: estimates are not exact.
const GAIN_MIN: f64 = 0.8;

impl PhysicalOptimizerRule for JoinOrder {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        if !switches(config).join_order || !config.optimizer.join_reordering {
            return Ok(plan);
        }
        plan.transform_down(|node| {
            // A projection above says which columns the joins have to make.
            let projection = node.downcast_ref::<ProjectionExec>();
            let Some((graph, written)) = JoinGraph::of(projection.map_or(&node, ProjectionExec::input)) else {
                return Ok(Transformed::no(node));
            };
            // The joins of the graph are done; those below its inputs are not.
            let node = reordered(&node, projection, &graph, &written)?.unwrap_or(node);
            let inputs = graph.relations.iter().map(|input| self.optimize(Arc::clone(input), config));
            let inputs = inputs.collect::<Result<Vec<_>>>()?;
            Ok(Transformed::new(with_inputs(node, &graph.relations, &inputs)?, true, TreeNodeRecursion::Jump))
        })
        .data()
    }

    fn name(&self) -> &str {
        "join_order"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// `None` where the order stays. `node` is the root of the graph, or the projection above it.
fn reordered(
    node: &Arc<dyn ExecutionPlan>,
    projection: Option<&ProjectionExec>,
    graph: &JoinGraph,
    written: &JoinTree,
) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(cardinalities) = Cardinalities::of(graph)? else { return Ok(None) };
    let Some(best) = best_tree(graph, &cardinalities) else { return Ok(None) };
    if best.cost() >= CostedTree::of(written, &cardinalities).cost() * GAIN_MIN {
        return Ok(None);
    }
    let output = match projection {
        Some(projection) => projection.expr().to_vec(),
        None => all_columns(node),
    };
    let plan: Arc<dyn ExecutionPlan> = Arc::new(build(graph, &best.tree, output)?);
    Ok((plan.schema() == node.schema()).then_some(plan))
}

fn all_columns(node: &Arc<dyn ExecutionPlan>) -> Vec<ProjectionExpr> {
    let fields = node.schema().fields().clone();
    let columns = fields
        .iter()
        .enumerate()
        .map(|(column, field)| ProjectionExpr { expr: Arc::new(Column::new(field.name(), column)), alias: field.name().clone() });
    columns.collect()
}

/// The node with the inputs of the graph replaced.
fn with_inputs(
    node: Arc<dyn ExecutionPlan>,
    old: &[Arc<dyn ExecutionPlan>],
    new: &[Arc<dyn ExecutionPlan>],
) -> Result<Arc<dyn ExecutionPlan>> {
    node.transform_down(|node| match old.iter().position(|input| Arc::ptr_eq(input, &node)) {
        Some(input) => {
            let is_changed = !Arc::ptr_eq(&old[input], &new[input]);
            Ok(Transformed::new(Arc::clone(&new[input]), is_changed, TreeNodeRecursion::Jump))
        }
        None => Ok(Transformed::no(node)),
    })
    .data()
}
