//! Filters of DataFusion's operators that remove rows which are needed. They are not made.
//!
//! - The filter of `min` and `max` is made of those whose argument is a column, and that have a value already. The rows that it removes may
//!   have the greatest value of another argument, as in `min(id), max(upper(s))`, or the first that is not NULL, as in `min(id), max(n)`
//!   (`init_dynamic_filter` and `build_dynamic_filter_from_accumulator_bounds()` of datafusion-physical-plan).
//! - A join passes on the minimum and maximum of its keys, a sort with a limit its last row, `min` and `max` their current value. Lists,
//!   structs and maps have several orders there: that of minimum and maximum ignores NULL inside, the comparison puts it first, and the
//!   sort last; maps have none. Equal intervals differ in their parts.
//!
//! Floats have two zeros, which are equal in a join and different in its filter: scans leave out such a filter.

use std::sync::Arc;

use arrow::datatypes::{DataType, Schema};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::sorts::sort::SortExec;

/// Whether the filter that an operator makes for this input may remove rows that it needs.
pub fn loses_rows(node: &Arc<dyn ExecutionPlan>, input: usize) -> bool {
    if let Some(join) = node.downcast_ref::<HashJoinExec>() {
        let probe = join.right().schema();
        return input == 1 && join.on().iter().any(|(_, key)| has_no_order(key, &probe));
    }
    if let Some(sort) = node.downcast_ref::<SortExec>() {
        return sort.fetch().is_some() && sort.expr().iter().any(|key| has_no_order(&key.expr, &sort.input().schema()));
    }
    node.downcast_ref::<AggregateExec>().is_some_and(misses_values)
}

/// Whether the filter of `min` and `max` may remove rows that one of them needs. Several that have columns begin to have values at different
/// times: also two of one column, because `min` has none until each partition has one.
fn misses_values(aggregate: &AggregateExec) -> bool {
    let schema = aggregate.input().schema();
    let is_left_out = |argument: &Arc<dyn PhysicalExpr>| !argument.is::<Column>() || has_no_order(argument, &schema);
    let functions = aggregate.aggr_expr();
    aggregate.group_expr().is_empty()
        && (functions.len() > 1 || functions.iter().any(|function| function.expressions().iter().any(is_left_out)))
}

/// Whether `<` and ORDER BY use different orders.
pub fn has_no_order(key: &Arc<dyn PhysicalExpr>, schema: &Schema) -> bool {
    key.data_type(schema).is_ok_and(|data_type| has_several_orders(&data_type))
}

fn has_several_orders(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => has_several_orders(values),
        data_type => data_type.is_nested() || matches!(data_type, DataType::Interval(_)),
    }
}
