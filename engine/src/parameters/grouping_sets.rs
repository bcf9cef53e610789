//! Prepares GROUPING SETS, ROLLUP and CUBE with parameters for their values.
//!
//! DataFusion puts a value into any expression and keeps its name by an alias. A grouping set with an alias is one column and no grouping
//! set, and `grouping(x)` does not find an `x` with an alias (replace_params_with_values in plan.rs of datafusion-expr). So an expression
//! with a parameter becomes a column of the input, under the name that it has.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::{Aggregate, Expr, LogicalPlan, Projection};

pub fn with_columns_of_sets(plan: LogicalPlan) -> Result<LogicalPlan> {
    plan.transform_up_with_subqueries(|node| match node {
        LogicalPlan::Aggregate(aggregate) => with_columns(aggregate),
        node => Ok(Transformed::no(node)),
    })
    .data()
}

fn with_columns(aggregate: Aggregate) -> Result<Transformed<LogicalPlan>> {
    let mut keys: Vec<Expr> = Vec::new();
    for group in &aggregate.group_expr {
        let Expr::GroupingSet(sets) = group else { continue };
        for key in sets.distinct_expr() {
            if has_parameter(key) && !keys.contains(key) {
                keys.push(key.clone());
            }
        }
    }
    if keys.is_empty() {
        return Ok(Transformed::no(LogicalPlan::Aggregate(aggregate)));
    }
    let as_column = |part: Expr| match keys.contains(&part) {
        true => Ok(Transformed::yes(Expr::Column(Column::from_name(part.schema_name().to_string())))),
        false => Ok(Transformed::no(part)),
    };
    let of_columns = |exprs: Vec<Expr>| exprs.into_iter().map(|expr| expr.transform_down(as_column).data()).collect::<Result<Vec<_>>>();
    let Aggregate { input, group_expr, aggr_expr, .. } = aggregate;
    let (group_expr, aggr_expr) = (of_columns(group_expr)?, of_columns(aggr_expr)?);
    let columns = input.schema().columns().into_iter().map(Expr::Column);
    let keys = keys.iter().map(|key| key.clone().alias(key.schema_name().to_string()));
    let input = Arc::new(LogicalPlan::Projection(Projection::try_new(columns.chain(keys).collect(), input)?));
    Ok(Transformed::yes(LogicalPlan::Aggregate(Aggregate::try_new(input, group_expr, aggr_expr)?)))
}

fn has_parameter(key: &Expr) -> bool {
    key.exists(|part| Ok(matches!(part, Expr::Placeholder(_)))).unwrap_or(true)
}
