//! Windows that are a relation: several functions over one partition and one order.

use datafusion::common::Result as DfResult;
use datafusion::logical_expr::utils::find_window_exprs;
use datafusion::logical_expr::{LogicalPlan, LogicalPlanBuilder};

use super::input;
use crate::consumer::consume::Consumer;
use crate::consumer::functions::{OverRows, over_rows};
use crate::consumer::named::Columns;
use crate::proto::ConsistentPartitionWindowRel;

pub async fn window(consumer: &Consumer<'_>, rel: &ConsistentPartitionWindowRel) -> DfResult<LogicalPlan> {
    let input = input(consumer, rel.input.as_deref()).await?;
    let mut columns = Columns::new(consumer);
    for index in 0..input.schema().fields().len() {
        columns.pass(input.schema(), index)?;
    }
    let mut windows = Vec::new();
    for function in &rel.window_functions {
        let call = OverRows {
            function_reference: function.function_reference,
            arguments: &function.arguments,
            older: &[],
            options: &function.options,
            output: function.output_type.as_ref(),
            invocation: function.invocation,
            partitions: &rel.partition_expressions,
            sorts: &rel.sorts,
            bounds: (function.bounds_type, function.lower_bound.as_ref(), function.upper_bound.as_ref()).into(),
        };
        let expr = over_rows(consumer, &call, input.schema()).await?;
        for window in find_window_exprs([&expr]) {
            if !windows.contains(&window) {
                windows.push(window);
            }
        }
        columns.push(expr);
    }
    columns.over(LogicalPlanBuilder::window_plan(input, windows)?)
}
