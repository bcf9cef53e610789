//! Finds aggregates over a column whose rows are in order.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::execution_plan::replace_children_if_necessary;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::union::InterleaveExec;
use datafusion::physical_plan::{Distribution, ExecutionPlan, ExecutionPlanProperties};

use super::exec::SortedGroupsExec;
use super::shared_groups::Functions;
use crate::store_aggregate::{Input, is_plain, takes_long};
use common::engine_settings::switches;

/// Replaces such aggregates by [`SortedGroupsExec`]. It comes after the rules that change the arguments of aggregates.
#[derive(Debug, Default)]
pub struct SortedGroups;

impl PhysicalOptimizerRule for SortedGroups {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, options: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        if !switches(options).store_aggregates { Ok(plan) } else { with_sorted_groups(plan, false) }
    }

    fn name(&self) -> &str {
        "sorted_groups"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// `is_by_hash`: whether an operator above relies on the partitions of `node`, of which an aggregate makes some by hash.
fn with_sorted_groups(node: Arc<dyn ExecutionPlan>, is_by_hash: bool) -> Result<Arc<dyn ExecutionPlan>> {
    if !is_by_hash
        && let Some(aggregate) = node.downcast_ref::<AggregateExec>()
        && let Some(groups) = in_place_of(aggregate)?
    {
        return Ok(Arc::new(groups));
    }
    // It joins inputs whose partitions are by the same hash.
    let joins_partitions = node.is::<InterleaveExec>();
    let makes_partitions = node.is::<CoalescePartitionsExec>() || node.is::<RepartitionExec>() || node.is::<SortPreservingMergeExec>();
    let needs = node.input_distribution_requirements().into_per_child();
    let inputs = node.children().into_iter().zip(needs).map(|(input, needed)| {
        let needs_hash = !matches!(needed, Distribution::UnspecifiedDistribution | Distribution::SinglePartition);
        let is_by_hash = joins_partitions || needs_hash || is_by_hash && !makes_partitions;
        with_sorted_groups(Arc::clone(input), is_by_hash)
    });
    let inputs = inputs.collect::<Result<Vec<_>>>()?;
    replace_children_if_necessary(node, inputs)
}

fn in_place_of(aggregate: &AggregateExec) -> Result<Option<SortedGroupsExec>> {
    let first = match aggregate.mode() {
        AggregateMode::Single | AggregateMode::SinglePartitioned if aggregate.input().output_partitioning().partition_count() == 1 => {
            Some(aggregate)
        }
        AggregateMode::FinalPartitioned => {
            let exchange = aggregate.input().downcast_ref::<RepartitionExec>();
            let partial = exchange.and_then(|exchange| exchange.input().downcast_ref::<AggregateExec>());
            partial.filter(|partial| *partial.mode() == AggregateMode::Partial)
        }
        _ => None,
    };
    let Some(first) = first.filter(|first| is_plain(first) && is_plain(aggregate)) else { return Ok(None) };
    let ([(key, _)], Some(input)) = (first.group_expr().expr(), Input::below(first)) else { return Ok(None) };
    let Some(column) = input.over_scan(key)?.downcast_ref::<Column>().map(Column::index) else { return Ok(None) };
    let schema = first.input().schema();
    let arguments = first.aggr_expr().iter().flat_map(|function| function.expressions());
    if arguments.into_iter().any(|argument| takes_long(&argument, &schema)) {
        return Ok(None);
    }
    let Some(shared_keys) = input.scan().and_then(|scan| scan.shared_keys(column)) else { return Ok(None) };
    let functions = Functions(first.aggr_expr().to_vec().into());
    Ok(Some(SortedGroupsExec::new(Arc::clone(first.input()), Arc::clone(key), functions, shared_keys, aggregate.schema())))
}
