//! Finds aggregates over several grouping sets.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode, PhysicalGroupBy};

use super::exec::GroupingSetsExec;
use common::engine_settings::switches;

/// The functions whose state is a few numbers or one value, and does not depend on the order of the rows.
const MERGED: [&str; 26] = [
    "count",
    "sum",
    "avg",
    "min",
    "max",
    "stddev",
    "stddev_pop",
    "var",
    "var_pop",
    "covar_samp",
    "covar_pop",
    "corr",
    "regr_slope",
    "regr_intercept",
    "regr_count",
    "regr_r2",
    "regr_avgx",
    "regr_avgy",
    "regr_sxx",
    "regr_syy",
    "regr_sxy",
    "bool_and",
    "bool_or",
    "bit_and",
    "bit_or",
    "bit_xor",
];

/// Groups rows by all keys once, and the states of these groups by the other sets.
#[derive(Debug, Default)]
pub struct GroupingSetStates;

impl PhysicalOptimizerRule for GroupingSetStates {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, options: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        if !switches(options).grouping_set_states {
            return Ok(plan);
        }
        plan.transform_up(|node| {
            let new = match node.downcast_ref::<AggregateExec>() {
                Some(aggregate) if *aggregate.mode() == AggregateMode::Partial => from_finest(aggregate)?,
                _ => None,
            };
            Ok(new.map_or_else(|| Transformed::no(node), Transformed::yes))
        })
        .data()
    }

    fn name(&self) -> &str {
        "grouping_set_states"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The states of all sets from those of the finest. `None` if there is one set only, if no set has all keys, or if states cannot be merged.
fn from_finest(aggregate: &AggregateExec) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let (keys, functions) = (aggregate.group_expr(), aggregate.aggr_expr());
    let has_finest = keys.groups().iter().any(|left_out| !left_out.contains(&true));
    if keys.is_empty() || keys.groups().len() < 2 || !has_finest || aggregate.limit_options().is_some() || !functions.iter().all(is_merged)
    {
        return Ok(None);
    }
    let all_keys = PhysicalGroupBy::new_single(keys.expr().to_vec());
    let (functions, filters, input) = (functions.to_vec(), aggregate.filter_expr().to_vec(), Arc::clone(aggregate.input()));
    let finest = AggregateExec::try_new(AggregateMode::Partial, all_keys, functions, filters, input, aggregate.input_schema())?;
    let sets = GroupingSetsExec::of(aggregate, Arc::new(finest))?;
    Ok((sets.schema() == aggregate.schema()).then(|| Arc::new(sets) as Arc<dyn ExecutionPlan>))
}

/// Whether the states of a function are small and may be merged in any order.
pub fn is_merged(function: &Arc<AggregateFunctionExpr>) -> bool {
    MERGED.contains(&function.fun().name()) && !function.is_distinct() && function.order_bys().is_empty()
}
