//! Rows outside that are computed a second time, for their bindings.
//!
//! Both times have to agree about the values of the bindings, and LIMIT, DISTINCT ON and `row_number()` choose freely among equal rows. The
//! second time may have more rows: their answers are joined to nothing. So it has all rows of which those could be chosen.

use std::collections::HashSet;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, Result};
use datafusion::logical_expr::logical_plan::{Distinct, Filter, Limit, Window};
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{
    BinaryExpr, Expr, ExprFunctionExt, FetchType, LogicalPlan, LogicalPlanBuilder, Operator, SkipType, SortExpr, WindowFrameUnits,
    WindowFunctionDefinition, lit,
};

use super::row_numbers::{NUMBER, order_of_rows};
use crate::functions::{is_row_number, rank};
use common::error::EngineError;

/// The rows, or more of them, that are the same each time they are computed, as far as `outer` and which rows there are depend on it.
pub fn stable_rows(rows: &LogicalPlan, outer: &[Column]) -> Result<LogicalPlan> {
    rows.apply_with_subqueries(|node| {
        node.apply_expressions(|expr| if expr.is_volatile() { Err(unstable()) } else { Ok(TreeNodeRecursion::Continue) })
    })?;
    let mut names = HashSet::new();
    let stable = rows.clone().transform_up(|node| {
        match node {
            LogicalPlan::Limit(limit) => with_ties(&limit, &names).map(Transformed::yes),
            LogicalPlan::Distinct(Distinct::On(on)) => {
                let Some(order) = on.sort_expr.clone() else { return Err(unstable()) };
                // One of them under another name would no longer be known.
                if depend(&on.on_expr, &names) || depend(&on.select_expr, &names) || order.iter().any(|key| mentions(&key.expr, &names)) {
                    return Err(unstable());
                }
                let (input, keys) = (on.input.as_ref().clone(), on.on_expr.clone());
                // The order begins with the keys.
                let order = order[keys.len().min(order.len())..].to_vec();
                let first = ranked(input, keys, order, 1)?.project(on.select_expr.clone())?.build()?;
                Ok(Transformed::yes(first))
            }
            LogicalPlan::Window(window) => {
                let (exprs, is_changed) = of_peers(&window, &mut names);
                match is_changed {
                    true => Ok(Transformed::yes(LogicalPlan::Window(Window::try_new(exprs, window.input)?))),
                    false => Ok(Transformed::no(LogicalPlan::Window(window))),
                }
            }
            LogicalPlan::Filter(filter) => {
                let mut terms = split_conjunction_owned(filter.predicate);
                terms.retain(|term| !is_after_first(term));
                if depend(&terms, &names) {
                    return Err(unstable());
                }
                let predicate = conjunction(terms).unwrap_or_else(|| lit(true));
                Ok(Transformed::yes(LogicalPlan::Filter(Filter::try_new(predicate, filter.input)?)))
            }
            LogicalPlan::Projection(projection) => {
                let made = projection.expr.iter().zip(projection.schema.fields());
                let new: Vec<String> = made.filter(|(expr, _)| mentions(expr, &names)).map(|(_, field)| field.name().clone()).collect();
                names.extend(new);
                Ok(Transformed::no(LogicalPlan::Projection(projection)))
            }
            node @ (LogicalPlan::SubqueryAlias(_) | LogicalPlan::Sort(_)) => Ok(Transformed::no(node)),
            // Its columns have the names of the first input.
            LogicalPlan::Union(union)
                if union.inputs.iter().any(|input| input.schema().fields().iter().any(|field| names.contains(field.name()))) =>
            {
                Err(unstable())
            }
            node if depend(&node.expressions(), &names) => Err(unstable()),
            node => Ok(Transformed::no(node)),
        }
    });
    let stable = stable.data()?;
    if outer.iter().any(|column| names.contains(&column.name)) { Err(unstable()) } else { Ok(stable) }
}

/// Whether the expression depends on a choice. Columns are told by their names alone, so that it is rather found to depend on one.
fn mentions(expr: &Expr, names: &HashSet<String>) -> bool {
    expr.column_refs().into_iter().any(|column| names.contains(&column.name))
}

fn depend(exprs: &[Expr], names: &HashSet<String>) -> bool {
    exprs.iter().any(|expr| mentions(expr, names))
}

/// The rows of a LIMIT, and all that are equal in its order to the last one.
fn with_ties(limit: &Limit, names: &HashSet<String>) -> Result<LogicalPlan> {
    let (Some(order), SkipType::Literal(skip), FetchType::Literal(fetch)) =
        (order_of_rows(&limit.input), limit.get_skip_type()?, limit.get_fetch_type()?)
    else {
        return Err(unstable());
    };
    let Some(fetch) = fetch else { return Ok(limit.input.as_ref().clone()) };
    if order.is_empty() || order.iter().any(|key| mentions(&key.expr, names)) {
        return Err(unstable());
    }
    ranked(limit.input.as_ref().clone(), Vec::new(), order, skip.saturating_add(fetch))?.build()
}

/// The rows of each group up to a rank.
fn ranked(input: LogicalPlan, keys: Vec<Expr>, order: Vec<SortExpr>, last: usize) -> Result<LogicalPlanBuilder> {
    let columns: Vec<Expr> = input.schema().columns().into_iter().map(Expr::Column).collect();
    let rank = rank().partition_by(keys);
    let rank = if order.is_empty() { rank.build()? } else { rank.order_by(order).build()? }.alias("__rank");
    let is_among = Expr::Column(Column::new_unqualified("__rank")).lt_eq(lit(last as i64));
    LogicalPlanBuilder::from(input).window([rank])?.filter(is_among)?.project(columns)
}

/// The functions of a window, with ranks for the numbers that stand for a LIMIT; `names` gets those of others that depend on a choice.
fn of_peers(window: &Window, names: &mut HashSet<String>) -> (Vec<Expr>, bool) {
    let mut is_changed = false;
    let inputs = window.input.schema().fields().len();
    let made = window.window_expr.iter().zip(window.schema.fields().iter().skip(inputs)).map(|(expr, field)| {
        let Expr::WindowFunction(function) = expr.clone().unalias() else { return expr.clone() };
        if field.name() == NUMBER && is_row_number(&function.fun) && !mentions(expr, names) {
            is_changed = true;
            let mut ranks = function;
            if let Expr::WindowFunction(rank) = rank() {
                ranks.fun = rank.fun;
            }
            return Expr::WindowFunction(ranks).alias(NUMBER);
        }
        let is_of_peers = match &function.fun {
            WindowFunctionDefinition::AggregateUDF(_) => {
                let frame = &function.params.window_frame;
                frame.units != WindowFrameUnits::Rows || function.params.order_by.is_empty() && frame.end_bound.is_unbounded()
            }
            WindowFunctionDefinition::WindowUDF(udf) => matches!(udf.name(), "rank" | "dense_rank" | "percent_rank" | "cume_dist"),
        };
        if !is_of_peers || mentions(expr, names) {
            names.insert(field.name().clone());
        }
        expr.clone()
    });
    (made.collect(), is_changed)
}

/// `__number > 5`, the OFFSET of a LIMIT.
fn is_after_first(term: &Expr) -> bool {
    match term {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Gt, .. }) => {
            matches!(left.as_ref(), Expr::Column(column) if column.relation.is_none() && column.name == NUMBER)
        }
        _ => false,
    }
}

fn unstable() -> datafusion::common::DataFusionError {
    let what = "such a subquery about rows that a LIMIT without ORDER BY, row_number() or a random function chooses";
    EngineError::unsupported(what, Some("store the rows in a table first")).into_datafusion()
}
