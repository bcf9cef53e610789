//! Window relations: several functions over one partition and one order. And how all window functions become columns.

use std::collections::HashSet;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, Result as DfResult};
use datafusion::logical_expr::expr::WindowFunction;
use datafusion::logical_expr::utils::find_window_exprs;
use datafusion::logical_expr::{Expr, LogicalPlan, LogicalPlanBuilder};

use super::input;
use crate::consumer::column_names::Columns;
use crate::consumer::consume::Consumer;
use crate::consumer::functions::{OverRows, over_rows};
use crate::proto::ConsistentPartitionWindowRel;

pub async fn window(consumer: &Consumer<'_>, rel: &ConsistentPartitionWindowRel) -> DfResult<LogicalPlan> {
    let input = input(consumer, rel.input.as_deref()).await?;
    let mut columns = Columns::new(consumer);
    for index in 0..input.schema().fields().len() {
        columns.pass(input.schema(), index)?;
    }
    let mut exprs = Vec::with_capacity(rel.window_functions.len());
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
        exprs.push(over_rows(consumer, &call, input.schema()).await?);
    }
    let (input, exprs) = with_windows(consumer, input, exprs)?;
    exprs.into_iter().for_each(|expr| columns.push(expr));
    columns.over(input)
}

/// The input with a column for each window function, and the expressions over these columns.
///
/// DataFusion finds the column of a function by its name. The name omits casts, so two functions may share one: then the second gets
/// another name and is replaced here.
pub fn with_windows(consumer: &Consumer<'_>, input: LogicalPlan, exprs: Vec<Expr>) -> DfResult<(LogicalPlan, Vec<Expr>)> {
    let mut names = HashSet::new();
    let mut renamed: Vec<(Expr, String)> = Vec::new();
    let mut windows = find_window_exprs(&exprs);
    windows.retain(|window| {
        let is_new = names.insert(window.schema_name().to_string());
        if !is_new {
            renamed.push((window.clone(), consumer.fresh.column()));
        }
        is_new
    });
    if windows.is_empty() {
        return Ok((input, exprs));
    }
    let mut plan = LogicalPlanBuilder::window_plan(input, windows)?;
    if renamed.is_empty() {
        return Ok((plan, exprs));
    }
    for group in of_one_order(&renamed) {
        plan = LogicalPlanBuilder::from(plan).window(group)?.build()?;
    }
    let exprs = exprs.into_iter().map(|expr| replaced(expr, &renamed)).collect::<DfResult<Vec<_>>>()?;
    Ok((plan, exprs))
}

/// A window node of DataFusion has one partition and one order.
fn of_one_order(renamed: &[(Expr, String)]) -> Vec<Vec<Expr>> {
    let mut groups: Vec<(&WindowFunction, Vec<Expr>)> = Vec::new();
    for (window, name) in renamed {
        let Expr::WindowFunction(call) = window else { continue };
        let params = &call.params;
        let group = groups
            .iter_mut()
            .find(|(first, _)| first.params.partition_by == params.partition_by && first.params.order_by == params.order_by);
        let alias = window.clone().alias(name);
        match group {
            Some((_, group)) => group.push(alias),
            None => groups.push((call.as_ref(), vec![alias])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

fn replaced(expr: Expr, renamed: &[(Expr, String)]) -> DfResult<Expr> {
    let expr = expr.transform_down(|expr| {
        if !matches!(expr, Expr::WindowFunction(_)) {
            return Ok(Transformed::no(expr));
        }
        let name = renamed.iter().find(|(window, _)| *window == expr).map(|(_, name)| name);
        Ok(match name {
            Some(name) => Transformed::new(Expr::Column(Column::from_name(name)), true, TreeNodeRecursion::Jump),
            None => Transformed::new(expr, false, TreeNodeRecursion::Jump),
        })
    });
    Ok(expr?.data)
}
