//! Makes the expensive expressions of operators cancellable. Windows have none but the functions themselves:
//! `optimizer/window_arguments.rs` moves their arguments into a projection.

use std::any::Any;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::expressions::{DynamicFilterPhysicalExpr, Literal};
use datafusion::physical_expr::projection::ProjectionExpr;
use datafusion::physical_expr::{LexOrdering, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateInputMode, PhysicalGroupBy};
use datafusion::physical_plan::filter::{FilterExec, FilterExecBuilder};
use datafusion::physical_plan::filter_pushdown::{ChildPushdownResult, FilterPushdownPhase};
use datafusion::physical_plan::joins::utils::JoinFilter;
use datafusion::physical_plan::joins::{HashJoinExec, HashJoinExecBuilder, NestedLoopJoinExec, NestedLoopJoinExecBuilder};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use datafusion::physical_plan::{ExecutionPlan, Partitioning};

use super::adaptive_batch::{AdaptiveBatch, grows};
use super::expensive::may_be_expensive;
use super::expression::{CancelWatch, CancellableExpr};
use super::paced::PacedExec;
use super::windows::{bounded_window, window};

type Plan = Arc<dyn ExecutionPlan>;
type Expr = Arc<dyn PhysicalExpr>;

/// The operator with cancellable expensive expressions; the same operator if it has none. Its properties may be computed anew, without
/// what was known about the expressions.
pub fn with_cancellable_expressions(plan: Plan, watch: &CancelWatch) -> Result<Plan> {
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
    } else if let Some(node) = plan.downcast_ref::<BoundedWindowAggExec>() {
        bounded_window(node, watch)?
    } else {
        None
    };
    Ok(new.unwrap_or(plan))
}

/// The input of an operator whose expressions become cancellable, and what else is needed for that.
struct Input<'a> {
    plan: &'a Plan,
    schema: SchemaRef,
    /// `None` if the results are about as large as the input.
    pieces: Option<Arc<AdaptiveBatch>>,
    watch: &'a CancelWatch,
}

impl<'a> Input<'a> {
    fn of<'b>(plan: &'a Plan, exprs: impl IntoIterator<Item = &'b Expr>, watch: &'a CancelWatch) -> Input<'a> {
        let schema = plan.schema();
        let pieces = AdaptiveBatch::of(exprs, &schema, watch.pool());
        Input { plan, schema, pieces, watch }
    }

    /// The input, in pieces if the expressions make far larger values than they read.
    fn plan(&self) -> Plan {
        match &self.pieces {
            Some(pieces) => Arc::new(PacedExec::in_pieces_of(Arc::clone(self.plan), pieces)),
            None => Arc::clone(self.plan),
        }
    }

    fn stoppable(&self, expr: &Expr) -> Option<Expr> {
        let is_any = may_be_expensive(expr, &self.schema) || grows(expr, &self.schema).is_some();
        is_any.then(|| Arc::new(CancellableExpr::in_pieces(Arc::clone(expr), self.watch, self.pieces.as_ref())) as Expr)
    }

    /// All of the expressions, with the expensive ones cancellable; `None` if none is expensive.
    fn any_stoppable<'b>(&self, exprs: impl IntoIterator<Item = &'b Expr>) -> Option<Vec<Expr>> {
        let mut any = false;
        let exprs = exprs.into_iter().map(|expr| match self.stoppable(expr) {
            Some(stoppable) => {
                any = true;
                stoppable
            }
            None => Arc::clone(expr),
        });
        let exprs = exprs.collect();
        any.then_some(exprs)
    }
}

fn projection(node: &ProjectionExec, watch: &CancelWatch) -> Result<Option<Plan>> {
    let exprs = || node.expr().iter().map(|projected| &projected.expr);
    let input = Input::of(node.input(), exprs(), watch);
    let Some(exprs) = input.any_stoppable(exprs()) else { return Ok(None) };
    let exprs = exprs.into_iter().zip(node.expr()).map(|(expr, old)| ProjectionExpr::new(expr, old.alias.clone()));
    let new = ProjectionExec::try_new_with_schema_metadata(exprs, input.plan(), &node.schema())?;
    Ok(Some(Arc::new(new)))
}

fn filter(node: &FilterExec, watch: &CancelWatch) -> Result<Option<Plan>> {
    let input = Input::of(node.input(), [node.predicate()], watch);
    let Some(predicate) = input.stoppable(node.predicate()) else { return Ok(None) };
    Ok(Some(Arc::new(FilterExecBuilder::from(node).with_predicate(predicate).with_input(input.plan()).build()?)))
}

fn aggregate(node: &AggregateExec, watch: &CancelWatch) -> Result<Option<Plan>> {
    // A final aggregate reads states and not arguments.
    if node.mode().input_mode() != AggregateInputMode::Raw {
        return Ok(None);
    }
    let arguments: Vec<Expr> = node.aggr_expr().iter().flat_map(|function| function.expressions()).collect();
    let keys = node.group_expr().expr().iter().map(|(expr, _)| expr);
    let filters = node.filter_expr().iter().flatten();
    let input = Input::of(node.input(), arguments.iter().chain(keys).chain(filters), watch);
    let mut any = false;
    let functions: Vec<_> = node
        .aggr_expr()
        .iter()
        .map(|function| match function_with(function, &input) {
            Some(new) => {
                any = true;
                Arc::new(new)
            }
            None => Arc::clone(function),
        })
        .collect();
    let old = node.group_expr();
    let keys = input.any_stoppable(old.expr().iter().map(|(expr, _)| expr));
    let filters: Vec<_> = node.filter_expr().iter().map(|filter| input.stoppable(filter.as_ref()?)).collect();
    if keys.is_none() && filters.iter().all(Option::is_none) && input.pieces.is_none() {
        return Ok(any.then(|| Arc::new(node.with_new_aggr_exprs(functions)) as Plan));
    }
    let keys = keys.unwrap_or_else(|| old.expr().iter().map(|(expr, _)| Arc::clone(expr)).collect());
    let keys = keys.into_iter().zip(old.expr()).map(|(key, (_, name))| (key, name.clone())).collect();
    let group_by = PhysicalGroupBy::new(keys, old.null_expr().to_vec(), old.groups().to_vec(), old.has_grouping_set());
    let filters = filters.into_iter().zip(node.filter_expr()).map(|(new, old)| new.or_else(|| old.clone())).collect();
    let new = AggregateExec::try_new(*node.mode(), group_by, functions, filters, input.plan(), node.input_schema())?;
    let mut new = new.with_limit_options(node.limit_options());
    for shared in shared_with_scans(node) {
        new = new.with_dynamic_filter_expr(shared)?;
    }
    // `try_new` gives an aggregate a filter for scans. One that no scan has is removed: to update it fails for nested values.
    let no_answer = ChildPushdownResult { parent_filters: Vec::new(), self_filters: Vec::new() };
    let unused = new.handle_child_pushdown_result(FilterPushdownPhase::Post, no_answer, &ConfigOptions::default())?;
    Ok(Some(unused.updated_node.unwrap_or_else(|| Arc::new(new))))
}

fn function_with(function: &AggregateFunctionExpr, input: &Input<'_>) -> Option<AggregateFunctionExpr> {
    // New expressions reset the flag that the function is reversed.
    if function.is_reversed() {
        return None;
    }
    let old = function.expressions();
    let new = input.any_stoppable(&old)?;
    // `array_agg(DISTINCT x ORDER BY x)` requires that both expressions are the same object.
    let order = function.order_bys().iter().map(|sort| match old.iter().position(|argument| argument == &sort.expr) {
        Some(place) => Arc::clone(&new[place]),
        None => Arc::clone(&sort.expr),
    });
    let order = order.collect();
    // Some functions require a constant for their later arguments.
    let says_how = |place: usize, old: &Expr| place > 0 && old.is::<Literal>();
    let arguments = new.into_iter().zip(&old).enumerate();
    let arguments = arguments.map(|(place, (new, old))| if says_how(place, old) { Arc::clone(old) } else { new });
    function.with_new_expressions(arguments.collect(), order)
}

fn ordering(old: &LexOrdering, input: &Input<'_>) -> Option<LexOrdering> {
    let keys = input.any_stoppable(old.iter().map(|key| &key.expr))?;
    LexOrdering::new(keys.into_iter().zip(old).map(|(key, old)| PhysicalSortExpr::new(key, old.options)))
}

/// The ordering, with a first key that checks for cancellation before each batch.
fn asking(old: &LexOrdering, watch: &CancelWatch) -> Option<LexOrdering> {
    let mut keys: Vec<PhysicalSortExpr> = old.iter().cloned().collect();
    let first = keys.first_mut()?;
    first.expr = Arc::new(CancellableExpr::in_one_piece(Arc::clone(&first.expr), watch));
    LexOrdering::new(keys)
}

fn sort(node: &SortExec, watch: &CancelWatch) -> Result<Option<Plan>> {
    let input = Input::of(node.input(), node.expr().iter().map(|key| &key.expr), watch);
    let expensive = ordering(node.expr(), &input);
    // A sort of all rows reads all batches before it yields the first one. A sort with a limit works batch by batch, and its keys become
    // filters of scans.
    let cheap = || node.fetch().is_none().then(|| asking(node.expr(), watch)).flatten();
    let Some(keys) = expensive.or_else(cheap) else { return Ok(None) };
    let new = SortExec::new(keys, input.plan());
    let mut new = new.with_preserve_partitioning(node.preserve_partitioning()).with_fetch(node.fetch());
    for shared in shared_with_scans(node) {
        new = new.with_dynamic_filter_expr(shared)?;
    }
    Ok(Some(Arc::new(new)))
}

/// The dynamic filters that an operator tightens while it runs, for scans below it.
fn shared_with_scans(node: &dyn ExecutionPlan) -> Vec<Arc<DynamicFilterPhysicalExpr>> {
    let produced = node.dynamic_expressions_produced().into_iter();
    let filters = produced.map(|shared| -> Arc<dyn Any + Send + Sync> { shared });
    filters.filter_map(|shared| shared.downcast::<DynamicFilterPhysicalExpr>().ok()).collect()
}

fn merge(node: &SortPreservingMergeExec, watch: &CancelWatch) -> Option<Plan> {
    let input = Input::of(node.input(), node.expr().iter().map(|key| &key.expr), watch);
    let keys = ordering(node.expr(), &input)?;
    Some(Arc::new(SortPreservingMergeExec::new(keys, input.plan()).with_fetch(node.fetch())))
}

fn repartition(node: &RepartitionExec, watch: &CancelWatch) -> Result<Option<Plan>> {
    let Partitioning::Hash(keys, partitions) = node.partitioning() else { return Ok(None) };
    let input = Input::of(node.input(), keys, watch);
    let Some(keys) = input.any_stoppable(keys) else { return Ok(None) };
    let new = RepartitionExec::try_new(input.plan(), Partitioning::Hash(keys, *partitions))?;
    Ok(Some(Arc::new(if node.preserve_order() { new.with_preserve_order() } else { new })))
}

/// Every filter of a join, however cheap: it is evaluated for all pairs of rows of both sides.
fn join_filter(old: &JoinFilter, watch: &CancelWatch) -> JoinFilter {
    let expr = CancellableExpr::new(Arc::clone(old.expression()), watch);
    JoinFilter::new(Arc::new(expr), old.column_indices().to_vec(), Arc::clone(old.schema()))
}

fn hash_join(node: &HashJoinExec, watch: &CancelWatch) -> Result<Option<Plan>> {
    let mut on = node.on().to_vec();
    if let Some((build_key, _)) = on.first_mut() {
        // The hash table of all batches of the build side is made in one step.
        *build_key = Arc::new(CancellableExpr::in_one_piece(Arc::clone(build_key), watch));
    }
    let filter = node.filter().map(|old| join_filter(old, watch));
    HashJoinExecBuilder::from(node).with_on(on).with_filter(filter).build_exec().map(Some)
}

fn nested_loop_join(node: &NestedLoopJoinExec, watch: &CancelWatch) -> Result<Option<Plan>> {
    let Some(old) = node.filter() else { return Ok(None) };
    let new = NestedLoopJoinExecBuilder::from(node).with_filter(Some(join_filter(old, watch))).build()?;
    Ok(Some(Arc::new(new)))
}
