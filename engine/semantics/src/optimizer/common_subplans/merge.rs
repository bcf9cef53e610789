//! One subplan in place of two that differ at most in the columns that they make.

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::logical_plan::TableScanBuilder;
use datafusion::logical_expr::logical_plan::{Aggregate, Filter, Join, Limit, Projection, Sort, SubqueryAlias, TableScan, Union, Window};
use datafusion::logical_expr::{Distinct, Expr, LogicalPlan};

use super::shape::selected_columns;

/// A subplan with the rows of both, and at least their columns, by their names. `None` if there is none.
pub fn merged(left: &LogicalPlan, right: &LogicalPlan) -> Result<Option<LogicalPlan>> {
    if let Some(selection) = selected_columns(left) {
        return merged(&selection.input, right);
    }
    if let Some(selection) = selected_columns(right) {
        return merged(left, &selection.input);
    }
    let plan = match (left, right) {
        (LogicalPlan::TableScan(left), LogicalPlan::TableScan(right)) => return scan(left, right),
        (LogicalPlan::SubqueryAlias(left), LogicalPlan::SubqueryAlias(right)) if left.alias == right.alias => {
            let Some(input) = merged_arc(&left.input, &right.input)? else { return Ok(None) };
            LogicalPlan::SubqueryAlias(SubqueryAlias::try_new(input, left.alias.clone())?)
        }
        (LogicalPlan::Projection(left), LogicalPlan::Projection(right)) => {
            let Some(input) = merged_arc(&left.input, &right.input)? else { return Ok(None) };
            LogicalPlan::Projection(Projection::try_new(both(&left.expr, &right.expr), input)?)
        }
        (LogicalPlan::Filter(left), LogicalPlan::Filter(right)) if left.predicate == right.predicate => {
            let Some(input) = merged_arc(&left.input, &right.input)? else { return Ok(None) };
            LogicalPlan::Filter(Filter::try_new(left.predicate.clone(), input)?)
        }
        (LogicalPlan::Join(left), LogicalPlan::Join(right)) if is_same_join(left, right) => {
            let Some(of_left) = merged_arc(&left.left, &right.left)? else { return Ok(None) };
            let Some(of_right) = merged_arc(&left.right, &right.right)? else { return Ok(None) };
            LogicalPlan::Join(Join::try_new(
                of_left,
                of_right,
                left.on.clone(),
                left.filter.clone(),
                left.join_type,
                left.join_constraint,
                left.null_equality,
                left.null_aware,
            )?)
        }
        (LogicalPlan::Aggregate(left), LogicalPlan::Aggregate(right)) if left.group_expr == right.group_expr => {
            let Some(input) = merged_arc(&left.input, &right.input)? else { return Ok(None) };
            let aggregates = both(&left.aggr_expr, &right.aggr_expr);
            LogicalPlan::Aggregate(Aggregate::try_new(input, left.group_expr.clone(), aggregates)?)
        }
        (LogicalPlan::Window(left), LogicalPlan::Window(right)) if left.window_expr == right.window_expr => {
            let Some(input) = merged_arc(&left.input, &right.input)? else { return Ok(None) };
            LogicalPlan::Window(Window::try_new(left.window_expr.clone(), input)?)
        }
        (LogicalPlan::Sort(left), LogicalPlan::Sort(right)) if left.expr == right.expr && left.fetch == right.fetch => {
            let Some(input) = merged_arc(&left.input, &right.input)? else { return Ok(None) };
            LogicalPlan::Sort(Sort { expr: left.expr.clone(), input, fetch: left.fetch })
        }
        (LogicalPlan::Limit(left), LogicalPlan::Limit(right)) if left.skip == right.skip && left.fetch == right.fetch => {
            let Some(input) = merged_arc(&left.input, &right.input)? else { return Ok(None) };
            LogicalPlan::Limit(Limit { skip: left.skip.clone(), fetch: left.fetch.clone(), input })
        }
        // All columns of the input decide which rows there are, or their positions do.
        (LogicalPlan::Distinct(Distinct::All(left)), LogicalPlan::Distinct(Distinct::All(right))) => {
            let Some(input) = same_columns(left, right)? else { return Ok(None) };
            LogicalPlan::Distinct(Distinct::All(Arc::new(input)))
        }
        (LogicalPlan::Union(left), LogicalPlan::Union(right)) if left.inputs.len() == right.inputs.len() => {
            let inputs = left.inputs.iter().zip(&right.inputs).map(|(left, right)| Ok(same_columns(left, right)?.map(Arc::new)));
            let Some(inputs) = inputs.collect::<Result<Option<Vec<_>>>>()? else { return Ok(None) };
            LogicalPlan::Union(Union { inputs, schema: Arc::clone(&left.schema) })
        }
        (LogicalPlan::EmptyRelation(_) | LogicalPlan::Values(_) | LogicalPlan::Extension(_), _) if left == right => left.clone(),
        _ => return Ok(None),
    };
    Ok(Some(plan))
}

fn merged_arc(left: &LogicalPlan, right: &LogicalPlan) -> Result<Option<Arc<LogicalPlan>>> {
    Ok(merged(left, right)?.map(Arc::new))
}

fn same_columns(left: &LogicalPlan, right: &LogicalPlan) -> Result<Option<LogicalPlan>> {
    if left.schema() != right.schema() {
        return Ok(None);
    }
    merged(left, right)?.map(|plan| with_columns_of(left, plan)).transpose()
}

/// The columns of `original`, from a plan that has them and may have others.
pub fn with_columns_of(original: &LogicalPlan, plan: LogicalPlan) -> Result<LogicalPlan> {
    let schema = Arc::clone(original.schema());
    let columns = schema.columns().into_iter().map(Expr::Column).collect();
    Ok(LogicalPlan::Projection(Projection::try_new_with_schema(columns, Arc::new(plan), schema)?))
}

fn is_same_join(left: &Join, right: &Join) -> bool {
    left.on == right.on
        && left.filter == right.filter
        && left.join_type == right.join_type
        && left.null_equality == right.null_equality
        && left.null_aware == right.null_aware
}

fn scan(left: &TableScan, right: &TableScan) -> Result<Option<LogicalPlan>> {
    // Two calls of a table function have one name.
    let is_same_table = Arc::ptr_eq(&source_as_provider(&left.source)?, &source_as_provider(&right.source)?);
    let has_same_rows = left.filters == right.filters && left.fetch == right.fetch;
    if !is_same_table || left.table_name != right.table_name || !has_same_rows {
        return Ok(None);
    }
    let columns = left.projection.as_ref().zip(right.projection.as_ref());
    let columns = columns.map(|(left, right)| left.iter().chain(right).copied().collect::<BTreeSet<_>>().into_iter().collect());
    let scan = TableScanBuilder::new(left.table_name.clone(), Arc::clone(&left.source))
        .with_projection(columns)
        .with_filters(left.filters.clone())
        .with_fetch(left.fetch);
    Ok(Some(LogicalPlan::TableScan(scan.build()?)))
}

/// The expressions of both, each once.
fn both(left: &[Expr], right: &[Expr]) -> Vec<Expr> {
    left.iter().chain(right.iter().filter(|expr| !left.contains(expr))).cloned().collect()
}
