//! Properties of rows below grouping sets do not hold above them.
//!
//! Each set omits other columns and shows NULL for them. So columns are no longer equal by a join, constant by a filter, sorted or
//! partitioned by. DataFusion passes all these properties up, and removes sorts and exchanges that are needed. It also treats a constant
//! key as constant above: `GROUP BY ROLLUP (a, 'x')` had a group more than once.
//!
//! Nor does any aggregate know that its rows are sorted by a part of its keys, if that part is a list, struct or map. DataFusion compares
//! such keys one by one to find the end of a run of equal keys, and supports no order for them (GroupOrderingPartial of
//! datafusion-physical-plan).

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_expr::expressions::{Column, Literal};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::{AggregateExec, PhysicalGroupBy};
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::{ExecutionPlan, InputOrderMode, PhysicalExpr};

use super::barrier::Barrier;

/// Runs before all other rules, which rely on these properties.
#[derive(Debug)]
pub struct GroupingSets;

impl PhysicalOptimizerRule for GroupingSets {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        plan.transform_up(|node| match node.downcast_ref::<AggregateExec>() {
            Some(aggregate) if aggregate.group_expr().has_grouping_set() && has_constant(aggregate) => {
                Ok(Transformed::yes(Arc::new(with_columns_of_constants(aggregate)?)))
            }
            Some(aggregate) if aggregate.group_expr().has_grouping_set() || is_sorted_by_nested(aggregate) => {
                let input: Arc<dyn ExecutionPlan> = Arc::new(Barrier::new(Arc::clone(aggregate.input())));
                Ok(Transformed::yes(replace_children_if_necessary(node, vec![input])?))
            }
            _ => Ok(Transformed::no(node)),
        })
        .data()
    }

    fn name(&self) -> &str {
        "grouping_sets"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Whether the input is sorted by a part of the keys that is nested.
fn is_sorted_by_nested(aggregate: &AggregateExec) -> bool {
    let (keys, input) = (aggregate.group_expr().expr(), aggregate.input().schema());
    let is_nested = |at: &usize| keys[*at].0.data_type(&input).is_ok_and(|data_type| data_type.is_nested());
    matches!(aggregate.input_order_mode(), InputOrderMode::PartiallySorted(sorted) if sorted.iter().any(is_nested))
}

fn has_constant(aggregate: &AggregateExec) -> bool {
    aggregate.group_expr().expr().iter().any(|(key, _)| key.is::<Literal>())
}

/// The aggregate with columns as keys, above a barrier.
fn with_columns_of_constants(aggregate: &AggregateExec) -> Result<AggregateExec> {
    let (keys, schema) = (aggregate.group_expr(), aggregate.input().schema());
    let column = |name: &str, index: usize| -> Arc<dyn PhysicalExpr> { Arc::new(Column::new(name, index)) };
    let fields = schema.fields().iter().enumerate();
    let mut columns: Vec<_> = fields.map(|(index, field)| (column(field.name(), index), field.name().clone())).collect();
    let mut exprs = keys.expr().to_vec();
    for (key, name) in exprs.iter_mut().filter(|(key, _)| key.is::<Literal>()) {
        let constant = std::mem::replace(key, column(name, columns.len()));
        columns.push((constant, name.clone()));
    }
    let keys = PhysicalGroupBy::new(exprs, keys.null_expr().to_vec(), keys.groups().to_vec(), true);
    let input = Arc::new(ProjectionExec::try_new(columns, Arc::clone(aggregate.input()))?);
    let schema = input.schema();
    let input = Arc::new(Barrier::new(input));
    let (functions, filters) = (aggregate.aggr_expr().to_vec(), aggregate.filter_expr().to_vec());
    let new = AggregateExec::try_new(*aggregate.mode(), keys, functions, filters, input, schema)?;
    Ok(new.with_limit_options(aggregate.limit_options()))
}
