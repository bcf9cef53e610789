//! Filters that operators make while a query runs, such as the keys of a join's build side, handed to the scans below.
//!
//! This is done instead of DataFusion's rule (`FilterPushdown`), which passes a filter on by the names of columns and takes the first
//! column of a name, also where an input has the name twice. Here columns are followed by their positions. A row that does not pass may be
//! left out below because it has no influence on the result of the operator that made the filter.

mod columns;
mod key_sets;
mod lossy_filters;

use std::sync::Arc;

use common::engine_settings::switches;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::filter_pushdown::{
    ChildFilterPushdownResult, ChildPushdownResult, FilterPushdownPhase, PushedDownPredicate,
};
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::recursive_query::RecursiveQueryExec;
use datafusion::physical_plan::{ChildrenPropertiesMode, ExecutionPlan, ReplaceChildrenOptions};

pub use key_sets::{KeySetExec, KeySetTest};
pub(super) use lossy_filters::has_no_order;

use columns::{input_columns, over_input};
use lossy_filters::loses_rows;

/// Runs when no other rule copies operators any more: a copy would have another filter than its scans.
#[derive(Debug)]
pub struct DynamicFilters;

impl PhysicalOptimizerRule for DynamicFilters {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        with_filters(plan, &[], config, false)
    }

    fn name(&self) -> &str {
        "dynamic_filters"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

const PHASE: FilterPushdownPhase = FilterPushdownPhase::Post;

/// `filters` are over the columns of `node`.
fn with_filters(
    node: Arc<dyn ExecutionPlan>,
    filters: &[Arc<dyn PhysicalExpr>],
    config: &ConfigOptions,
    has_rounds: bool,
) -> Result<Arc<dyn ExecutionPlan>> {
    let inputs: Vec<Arc<dyn ExecutionPlan>> = node.children().into_iter().map(Arc::clone).collect();
    if inputs.is_empty() {
        let result = ChildPushdownResult {
            parent_filters: filters
                .iter()
                .map(|filter| ChildFilterPushdownResult { filter: Arc::clone(filter), child_results: Vec::new() })
                .collect(),
            self_filters: Vec::new(),
        };
        return Ok(node.handle_child_pushdown_result(PHASE, result, config)?.updated_node.unwrap_or(node));
    }
    let has_rounds = has_rounds || node.is::<RecursiveQueryExec>();
    let mut own = node.gather_filters_for_pushdown(PHASE, Vec::new(), config)?.self_filters();
    own.iter_mut().enumerate().filter(|(input, _)| loses_rows(&node, *input)).for_each(|(_, filters)| filters.clear());
    let mut sets = None;
    if let Some(join) = node.downcast_ref::<HashJoinExec>()
        && own.get(1).is_some_and(|of_probe| !of_probe.is_empty())
        // Each round of a recursive query has other keys, of which the scans would not hear.
        && !has_rounds
        && switches(config).integer_sets
    {
        sets = KeySetExec::of(join)?;
    }
    let mut new_inputs = Vec::with_capacity(inputs.len());
    for (at, input) in inputs.into_iter().enumerate() {
        let mut below = own.get(at).cloned().unwrap_or_default();
        below.extend(sets.iter().filter(|_| at == 1).flat_map(KeySetExec::filters));
        if !filters.is_empty() {
            let columns = input_columns(&node, at);
            for filter in filters {
                below.extend(over_input(filter, &columns)?);
            }
        }
        new_inputs.push(with_filters(input, &below, config, has_rounds)?);
    }
    if let ([build, probe], Some(sets)) = (&mut new_inputs[..], sets) {
        *build = sets.above(Arc::clone(build), probe)?;
    }
    let is_changed = new_inputs.iter().zip(node.children()).any(|(new, old)| !Arc::ptr_eq(new, old));
    // Operators keep their properties, and with them the filters that they have made.
    let node =
        if is_changed { node.replace_children(new_inputs, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Keep))? } else { node };
    // The operator learns that its own filters were passed on.
    let supported = |filters: Vec<Arc<dyn PhysicalExpr>>| filters.into_iter().map(PushedDownPredicate::supported).collect();
    let result = ChildPushdownResult { parent_filters: Vec::new(), self_filters: own.into_iter().map(supported).collect() };
    Ok(node.handle_child_pushdown_result(PHASE, result, config)?.updated_node.unwrap_or(node))
}
