//! Filters that operators make while a query runs, such as the keys of a join's build side, handed to the scans below.
//!
//! This is done instead of DataFusion's rule (`FilterPushdown`), which passes a filter on by the names of columns and takes the first
//! column of a name, also where an input has the name twice. Here columns are followed by their positions. A filter also passes an operator
//! that knows only some of its columns: the keys of `(p_partkey, ps_supplycost) = (ps_partkey, min(…))` pass the aggregate as a filter on
//! `ps_partkey`.
//!
//! A row that does not pass may be left out below because it has no influence on the result of the operator that made the filter.

mod columns;
mod lossy_filters;
mod missing_column;

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::filter_pushdown::{
    ChildFilterPushdownResult, ChildPushdownResult, FilterPushdownPhase, PushedDownPredicate,
};
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::{ChildrenPropertiesMode, ExecutionPlan, ReplaceChildrenOptions};

pub(super) use lossy_filters::has_no_order;
pub use missing_column::present_part;

use columns::input_columns;
use lossy_filters::loses_rows;
use missing_column::{is_partial, over_input};

/// Runs when no other rule copies operators any more: a copy would have another filter than its scans.
#[derive(Debug)]
pub struct DynamicFilters;

impl PhysicalOptimizerRule for DynamicFilters {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        with_filters(plan, &[], config)
    }

    fn name(&self) -> &str {
        "dynamic_filters"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

const PHASE: FilterPushdownPhase = FilterPushdownPhase::Post;

/// A filter on its way down.
#[derive(Clone)]
struct Filter {
    expr: Arc<dyn PhysicalExpr>,
    /// Whether it says something without some of its columns: a join has conditions for each of its keys, the last row of a sort has one
    /// for all.
    has_parts: bool,
}

/// `filters` are over the columns of `node`.
fn with_filters(node: Arc<dyn ExecutionPlan>, filters: &[Filter], config: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
    let inputs: Vec<Arc<dyn ExecutionPlan>> = node.children().into_iter().map(Arc::clone).collect();
    let mut own = Vec::new();
    if !inputs.is_empty() {
        own = node.gather_filters_for_pushdown(PHASE, Vec::new(), config)?.self_filters();
        let of_inputs = own.iter_mut().enumerate();
        of_inputs.filter(|(at, _)| loses_rows(&node, *at)).for_each(|(_, filters)| filters.clear());
    }
    let mut is_changed = false;
    let mut new_inputs = Vec::with_capacity(inputs.len());
    for (at, input) in inputs.into_iter().enumerate() {
        let has_parts = node.is::<HashJoinExec>();
        let mut below: Vec<Filter> = own.get(at).into_iter().flatten().map(|expr| Filter { expr: Arc::clone(expr), has_parts }).collect();
        if !filters.is_empty() {
            let columns = input_columns(&node, at);
            for Filter { expr, has_parts } in filters {
                let moved = over_input(expr, &columns, &node.schema())?;
                below.extend(moved.filter(|expr| *has_parts || !is_partial(expr)).map(|expr| Filter { expr, has_parts: *has_parts }));
            }
        }
        let new_input = with_filters(Arc::clone(&input), &below, config)?;
        is_changed |= !Arc::ptr_eq(&input, &new_input);
        new_inputs.push(new_input);
    }
    let is_leaf = new_inputs.is_empty();
    // Operators keep their properties, and with them the filters that they have made.
    let node =
        if is_changed { node.replace_children(new_inputs, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Keep))? } else { node };
    // A leaf takes the filters; another operator learns that its own were passed on.
    let supported = |filters: Vec<Arc<dyn PhysicalExpr>>| filters.into_iter().map(PushedDownPredicate::supported).collect();
    let result = ChildPushdownResult {
        parent_filters: filters
            .iter()
            .filter(|_| is_leaf)
            .map(|filter| ChildFilterPushdownResult { filter: Arc::clone(&filter.expr), child_results: Vec::new() })
            .collect(),
        self_filters: own.into_iter().map(supported).collect(),
    };
    Ok(node.handle_child_pushdown_result(PHASE, result, config)?.updated_node.unwrap_or(node))
}
