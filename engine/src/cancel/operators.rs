//! Operators whose dear expressions stop with the query. Windows have none but the functions themselves:
//! `optimizer/window_arguments.rs` puts theirs into a projection.

use std::any::Any;
use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::common::Result;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::DynamicFilterPhysicalExpr;
use datafusion::physical_expr::projection::ProjectionExpr;
use datafusion::physical_expr::{LexOrdering, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateInputMode, PhysicalGroupBy};
use datafusion::physical_plan::filter::{FilterExec, FilterExecBuilder};
use datafusion::physical_plan::joins::utils::JoinFilter;
use datafusion::physical_plan::joins::{HashJoinExec, HashJoinExecBuilder, NestedLoopJoinExec, NestedLoopJoinExecBuilder};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::windows::WindowAggExec;
use datafusion::physical_plan::{ExecutionPlan, Partitioning};

use super::dear::may_be_dear;
use super::expression::{StoppableExpr, Watch};
use super::windows::window;

type Plan = Arc<dyn ExecutionPlan>;
type Expr = Arc<dyn PhysicalExpr>;

/// The operator with its dear expressions stoppable; the same one if it has none. Its properties may
/// be computed anew, without what was known about the expressions.
pub fn with_stoppable_expressions(plan: Plan, watch: &Watch) -> Result<Plan> {
    let new = if let Some(node) = plan.downcast_ref::<ProjectionExec>() {
        projection(node, watch)?
    } else if let Some(node) = plan.downcast_ref::<FilterExec>() {
        filter(node, watch)?
    } else if let Some(node) = plan.downcast_ref::<AggregateExec>() {
        aggregate(node, watch)?
    } else if let Some(node) = plan.downcast_ref::<SortExec>() {
        sort(node, watch)?
    } else if let Some(node) = plan.downcast_ref::<SortPreservingMergeExec>() {
        merge(node, watch)
    } else if let Some(node) = plan.downcast_ref::<RepartitionExec>() {
        repartition(node, watch)?
    } else if let Some(node) = plan.downcast_ref::<HashJoinExec>() {
        hash_join(node, watch)?
    } else if let Some(node) = plan.downcast_ref::<NestedLoopJoinExec>() {
        nested_loop_join(node, watch)?
    } else if let Some(node) = plan.downcast_ref::<WindowAggExec>() {
        window(node, watch)?
    } else {
        None
    };
    Ok(new.unwrap_or(plan))
}

fn stoppable(expr: &Expr, schema: &Schema, watch: &Watch) -> Option<Expr> {
    may_be_dear(expr, schema).then(|| Arc::new(StoppableExpr::new(Arc::clone(expr), watch)) as Expr)
}

/// All of the expressions, the dear ones stoppable; None if none is dear.
fn any_stoppable<'a>(exprs: impl IntoIterator<Item = &'a Expr>, schema: &Schema, watch: &Watch) -> Option<Vec<Expr>> {
    let mut any = false;
    let exprs = exprs.into_iter().map(|expr| match stoppable(expr, schema, watch) {
        Some(stoppable) => {
            any = true;
            stoppable
        }
        None => Arc::clone(expr),
    });
    let exprs = exprs.collect();
    any.then_some(exprs)
}

fn projection(node: &ProjectionExec, watch: &Watch) -> Result<Option<Plan>> {
    let input = node.input().schema();
    let Some(exprs) = any_stoppable(node.expr().iter().map(|projected| &projected.expr), &input, watch) else {
        return Ok(None);
    };
    let exprs = exprs.into_iter().zip(node.expr()).map(|(expr, old)| ProjectionExpr::new(expr, old.alias.clone()));
    let new = ProjectionExec::try_new_with_schema_metadata(exprs, Arc::clone(node.input()), &node.schema())?;
    Ok(Some(Arc::new(new)))
}

fn filter(node: &FilterExec, watch: &Watch) -> Result<Option<Plan>> {
    let Some(predicate) = stoppable(node.predicate(), &node.input().schema(), watch) else { return Ok(None) };
    Ok(Some(Arc::new(FilterExecBuilder::from(node).with_predicate(predicate).build()?)))
}

fn aggregate(node: &AggregateExec, watch: &Watch) -> Result<Option<Plan>> {
    // A final aggregate reads states, not arguments.
    if node.mode().input_mode() != AggregateInputMode::Raw {
        return Ok(None);
    }
    let input = node.input().schema();
    let mut any = false;
    let functions: Vec<_> = node.aggr_expr().iter().map(|function| match function_with(function, &input, watch) {
        Some(new) => {
            any = true;
            Arc::new(new)
        }
        None => Arc::clone(function),
    }).collect();
    let old = node.group_expr();
    let keys = any_stoppable(old.expr().iter().map(|(expr, _)| expr), &input, watch);
    let filters: Vec<_> = node.filter_expr().iter().map(|filter| stoppable(filter.as_ref()?, &input, watch)).collect();
    if keys.is_none() && filters.iter().all(Option::is_none) {
        return Ok(any.then(|| Arc::new(node.with_new_aggr_exprs(functions)) as Plan));
    }
    let keys = keys.unwrap_or_else(|| old.expr().iter().map(|(expr, _)| Arc::clone(expr)).collect());
    let keys = keys.into_iter().zip(old.expr()).map(|(key, (_, name))| (key, name.clone())).collect();
    let group_by = PhysicalGroupBy::new(keys, old.null_expr().to_vec(), old.groups().to_vec(), old.has_grouping_set());
    let filters = filters.into_iter().zip(node.filter_expr()).map(|(new, old)| new.or_else(|| old.clone())).collect();
    let new =
        AggregateExec::try_new(*node.mode(), group_by, functions, filters, Arc::clone(node.input()), node.input_schema())?;
    let mut new = new.with_limit_options(node.limit_options());
    for shared in shared_with_scans(node) {
        new = new.with_dynamic_filter_expr(shared)?;
    }
    Ok(Some(Arc::new(new)))
}

fn function_with(function: &AggregateFunctionExpr, input: &Schema, watch: &Watch) -> Option<AggregateFunctionExpr> {
    // New expressions make it forget that it is reversed.
    if function.is_reversed() {
        return None;
    }
    let order = function.order_bys().iter().map(|sort| Arc::clone(&sort.expr)).collect();
    function.with_new_expressions(any_stoppable(&function.expressions(), input, watch)?, order)
}

fn ordering(old: &LexOrdering, input: &Schema, watch: &Watch) -> Option<LexOrdering> {
    let keys = any_stoppable(old.iter().map(|key| &key.expr), input, watch)?;
    LexOrdering::new(keys.into_iter().zip(old).map(|(key, old)| PhysicalSortExpr::new(key, old.options)))
}

/// The ordering with a first key that asks before each batch whether anybody wants the rows.
fn asking(old: &LexOrdering, watch: &Watch) -> Option<LexOrdering> {
    let mut keys: Vec<PhysicalSortExpr> = old.iter().cloned().collect();
    let first = keys.first_mut()?;
    first.expr = Arc::new(StoppableExpr::in_one_piece(Arc::clone(&first.expr), watch));
    LexOrdering::new(keys)
}

fn sort(node: &SortExec, watch: &Watch) -> Result<Option<Plan>> {
    let dear = ordering(node.expr(), &node.input().schema(), watch);
    // Where all rows are sorted, all batches are one after the other before the first one comes out. A sort
    // with a limit works batch by batch, and its keys become filters of scans.
    let cheap = || node.fetch().is_none().then(|| asking(node.expr(), watch)).flatten();
    let Some(keys) = dear.or_else(cheap) else { return Ok(None) };
    let new = SortExec::new(keys, Arc::clone(node.input()));
    let mut new = new.with_preserve_partitioning(node.preserve_partitioning()).with_fetch(node.fetch());
    for shared in shared_with_scans(node) {
        new = new.with_dynamic_filter_expr(shared)?;
    }
    Ok(Some(Arc::new(new)))
}

/// The filters that an operator tightens while it works, for scans below it.
fn shared_with_scans(node: &dyn ExecutionPlan) -> Vec<Arc<DynamicFilterPhysicalExpr>> {
    let produced = node.dynamic_expressions_produced().into_iter();
    let filters = produced.map(|shared| -> Arc<dyn Any + Send + Sync> { shared });
    filters.filter_map(|shared| shared.downcast::<DynamicFilterPhysicalExpr>().ok()).collect()
}

fn merge(node: &SortPreservingMergeExec, watch: &Watch) -> Option<Plan> {
    let keys = ordering(node.expr(), &node.input().schema(), watch)?;
    Some(Arc::new(SortPreservingMergeExec::new(keys, Arc::clone(node.input())).with_fetch(node.fetch())))
}

fn repartition(node: &RepartitionExec, watch: &Watch) -> Result<Option<Plan>> {
    let Partitioning::Hash(keys, partitions) = node.partitioning() else { return Ok(None) };
    let Some(keys) = any_stoppable(keys, &node.input().schema(), watch) else { return Ok(None) };
    let new = RepartitionExec::try_new(Arc::clone(node.input()), Partitioning::Hash(keys, *partitions))?;
    Ok(Some(Arc::new(if node.preserve_order() { new.with_preserve_order() } else { new })))
}

/// Any filter of a join: it is evaluated on as many pairs of rows as both sides make.
fn join_filter(old: &JoinFilter, watch: &Watch) -> JoinFilter {
    let expr = StoppableExpr::new(Arc::clone(old.expression()), watch);
    JoinFilter::new(Arc::new(expr), old.column_indices().to_vec(), Arc::clone(old.schema()))
}

fn hash_join(node: &HashJoinExec, watch: &Watch) -> Result<Option<Plan>> {
    let mut on = node.on().to_vec();
    if let Some((build_key, _)) = on.first_mut() {
        // The table of all batches of the build side is made in one step.
        *build_key = Arc::new(StoppableExpr::in_one_piece(Arc::clone(build_key), watch));
    }
    let filter = node.filter().map(|old| join_filter(old, watch));
    HashJoinExecBuilder::from(node).with_on(on).with_filter(filter).build_exec().map(Some)
}

fn nested_loop_join(node: &NestedLoopJoinExec, watch: &Watch) -> Result<Option<Plan>> {
    let Some(old) = node.filter() else { return Ok(None) };
    let new = NestedLoopJoinExecBuilder::from(node).with_filter(Some(join_filter(old, watch))).build()?;
    Ok(Some(Arc::new(new)))
}
