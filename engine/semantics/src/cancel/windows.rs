//! Window functions that stop with the query.
//!
//! A window whose frame reaches to the end of its partition holds all its rows and computes all results in one step, row by row. That
//! takes seconds without a check for cancellation. So the functions themselves check, once per row; a check reads one number.
//!
//! - Aggregates: [`CancellableWindows`] replaces each by a [`CancellableAggregate`] while the query is planned, because a finished window
//!   expression does not reveal its FILTER and so cannot be rebuilt. The finished plan tells it what to watch.
//! - Functions such as `first_value` are wrapped in the finished plan.

use std::any::Any;
use std::hash::{Hash, Hasher};
use std::ops::Range;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{FieldRef, SchemaRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::window_state::WindowAggState;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Expr, GroupsAccumulator, LimitEffect, LogicalPlan, PartitionEvaluator, ReversedUDAF,
    WindowFunctionDefinition,
};
use datafusion::optimizer::AnalyzerRule;
use datafusion::physical_expr::window::{
    PlainAggregateWindowExpr, SlidingAggregateWindowExpr, StandardWindowExpr, StandardWindowFunctionExpr, WindowExpr,
};
use datafusion::physical_expr::{PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::windows::{BoundedWindowAggExec, WindowAggExec};
use parking_lot::Mutex;

use super::adaptive_batch::AdaptiveBatch;
use super::expression::CancelWatch;
use super::paced::PacedExec;
use crate::functions::{accumulates_as, described_by_inner, scalar_bytes, sliding_accumulator};

/// Results up to this size are made without a reservation.
const UNCOUNTED_BYTES: usize = 1 << 20;

#[derive(Debug)]
pub struct CancellableWindows;

impl AnalyzerRule for CancellableWindows {
    fn name(&self) -> &str {
        "watched_windows"
    }

    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let watched = plan.transform_up_with_subqueries(|plan| {
            if !matches!(plan, LogicalPlan::Window(_)) {
                return Ok(Transformed::no(plan));
            }
            let names = NamePreserver::new(&plan);
            plan.map_expressions(|expr| {
                let name = names.save(&expr);
                Ok(expr.transform_up(|expr| Ok(cancellable_function(expr)))?.update_data(|expr| name.restore(expr)))
            })
        });
        watched.data()
    }
}

fn cancellable_function(mut expr: Expr) -> Transformed<Expr> {
    let Expr::WindowFunction(window) = &mut expr else { return Transformed::no(expr) };
    let WindowFunctionDefinition::AggregateUDF(function) = &mut window.fun else { return Transformed::no(expr) };
    // The function may come from a plan that is reused, such as a view's, and then belongs to another query.
    let inner = match function.inner().downcast_ref::<CancellableAggregate>() {
        Some(watched) => Arc::clone(&watched.inner),
        None => Arc::clone(function),
    };
    let has_filter = window.params.filter.is_some();
    *function = Arc::new(AggregateUDF::from(CancellableAggregate { inner, has_filter, watching: Mutex::new(None) }));
    Transformed::yes(expr)
}

/// The function that has been made cancellable; `None` for others.
pub fn unwatched(function: &AggregateUDF) -> Option<&Arc<AggregateUDF>> {
    function.inner().downcast_ref::<CancellableAggregate>().map(|watched| &watched.inner)
}

/// Whether a function of a finished window is known to have no FILTER.
pub fn is_unfiltered_window(function: &AggregateUDF) -> bool {
    function.inner().downcast_ref::<CancellableAggregate>().is_some_and(|watched| !watched.has_filter)
}

/// Whether the operator has functions that a finished plan tells which query to watch: then it belongs to one query.
pub fn is_watched_window(node: &Arc<dyn ExecutionPlan>) -> bool {
    let bounded = node.downcast_ref::<BoundedWindowAggExec>().map(BoundedWindowAggExec::window_expr);
    let exprs = bounded.or_else(|| node.downcast_ref::<WindowAggExec>().map(WindowAggExec::window_expr)).unwrap_or_default();
    exprs.iter().filter_map(aggregate_of).any(|function| unwatched(function).is_some())
}

fn is_long(expr: &Arc<dyn WindowExpr>) -> bool {
    expr.field().is_ok_and(|field| !field.data_type().is_primitive())
}

/// What the finished plan sets in its aggregates.
#[derive(Debug, Clone)]
struct WindowWatch {
    watch: CancelWatch,
    /// For a window that yields results as its rows come; `None` if it computes those of all rows of a partition at once.
    pieces: Option<Arc<AdaptiveBatch>>,
}

#[derive(Debug)]
struct CancellableAggregate {
    inner: Arc<AggregateUDF>,
    has_filter: bool,
    watching: Mutex<Option<WindowWatch>>,
}

impl CancellableAggregate {
    fn watched(&self, inner: Box<dyn Accumulator>) -> Box<dyn Accumulator> {
        Box::new(CancellableAccumulator { inner, watching: self.watching.lock().clone(), results: Results::default() })
    }
}

impl PartialEq for CancellableAggregate {
    fn eq(&self, other: &Self) -> bool {
        self.inner == other.inner
    }
}

impl Eq for CancellableAggregate {}

impl Hash for CancellableAggregate {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
    }
}

impl AggregateUDFImpl for CancellableAggregate {
    described_by_inner!();

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(self.watched(self.inner.accumulator(args)?))
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(self.watched(sliding_accumulator(&self.inner, args)?))
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        self.inner.create_groups_accumulator(args)
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        match self.inner.reverse_udf() {
            ReversedUDAF::Reversed(inner) => {
                let watching = Mutex::new(self.watching.lock().clone());
                ReversedUDAF::Reversed(Arc::new(AggregateUDF::from(CancellableAggregate { inner, has_filter: self.has_filter, watching })))
            }
            same => same,
        }
    }
}

#[derive(Debug)]
struct CancellableAccumulator {
    inner: Box<dyn Accumulator>,
    watching: Option<WindowWatch>,
    results: Results,
}

/// The results of a partition, which are all made before the first one is yielded.
#[derive(Debug, Default)]
struct Results {
    bytes: usize,
    reservation: Option<MemoryReservation>,
}

impl Results {
    fn add(&mut self, bytes: usize, watch: &CancelWatch) -> Result<()> {
        self.bytes = self.bytes.saturating_add(bytes);
        let Some(pool) = watch.pool().filter(|_| self.bytes > UNCOUNTED_BYTES) else { return Ok(()) };
        let results = self.reservation.get_or_insert_with(|| MemoryConsumer::new("the results of a window").register(pool));
        match self.bytes.checked_sub(results.size()) {
            Some(more) if more > UNCOUNTED_BYTES => results.try_grow(more),
            _ => Ok(()),
        }
    }
}

impl Accumulator for CancellableAccumulator {
    accumulates_as!(inner: update_batch, size, state, merge_batch, retract_batch);

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let Some(WindowWatch { watch, pieces }) = &self.watching else { return self.inner.evaluate() };
        watch.check()?;
        let result = self.inner.evaluate()?;
        let bytes = scalar_bytes(&result);
        match pieces {
            Some(pieces) => pieces.made(bytes),
            None => self.results.add(bytes, watch)?,
        }
        Ok(result)
    }
}

/// The window with functions that check the watch.
pub fn window(node: &WindowAggExec, watch: &CancelWatch) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let mut any = false;
    let exprs = node.window_expr().iter().map(|expr| {
        if let Some(aggregate) = aggregate_of(expr).and_then(|function| function.inner().downcast_ref::<CancellableAggregate>()) {
            *aggregate.watching.lock() = Some(WindowWatch { watch: watch.clone(), pieces: None });
        }
        let Some(standard) = expr.as_any().downcast_ref::<StandardWindowExpr>() else { return Arc::clone(expr) };
        any = true;
        let function = CancellableFunction { inner: Arc::clone(standard.get_standard_func_expr()), watch: watch.clone() };
        let frame = Arc::clone(standard.get_window_frame());
        Arc::new(StandardWindowExpr::new(Arc::new(function), standard.partition_by(), standard.order_by(), frame)) as _
    });
    let exprs: Vec<Arc<dyn WindowExpr>> = exprs.collect();
    if !any {
        return Ok(None);
    }
    let can_repartition = !node.partition_keys().is_empty();
    Ok(Some(Arc::new(WindowAggExec::try_new(exprs, Arc::clone(node.input()), can_repartition)?)))
}

/// The same for a window that yields results as its rows come: few at once if they are large.
pub fn bounded_window(node: &BoundedWindowAggExec, watch: &CancelWatch) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let aggregates = node.window_expr().iter().filter(|expr| is_long(expr)).filter_map(aggregate_of);
    let watched: Vec<&CancellableAggregate> = aggregates.filter_map(|function| function.inner().downcast_ref()).collect();
    if watched.is_empty() {
        return Ok(None);
    }
    let pieces = Arc::<AdaptiveBatch>::default();
    for aggregate in watched {
        *aggregate.watching.lock() = Some(WindowWatch { watch: watch.clone(), pieces: Some(Arc::clone(&pieces)) });
    }
    let input = Arc::new(PacedExec::in_pieces_of(Arc::clone(node.input()), &pieces));
    let can_repartition = !node.partition_keys().is_empty();
    let window = BoundedWindowAggExec::try_new(node.window_expr().to_vec(), input, node.input_order_mode.clone(), can_repartition)?;
    Ok(Some(Arc::new(window)))
}

fn aggregate_of(expr: &Arc<dyn WindowExpr>) -> Option<&AggregateUDF> {
    let expr = expr.as_any();
    let plain = expr.downcast_ref::<PlainAggregateWindowExpr>().map(PlainAggregateWindowExpr::get_aggregate_expr);
    let sliding = || expr.downcast_ref::<SlidingAggregateWindowExpr>().map(SlidingAggregateWindowExpr::get_aggregate_expr);
    plain.or_else(sliding).map(|aggregate| aggregate.fun())
}

#[derive(Debug)]
struct CancellableFunction {
    inner: Arc<dyn StandardWindowFunctionExpr>,
    watch: CancelWatch,
}

impl StandardWindowFunctionExpr for CancellableFunction {
    fn as_any(&self) -> &dyn Any {
        self.inner.as_any()
    }

    fn field(&self) -> Result<FieldRef> {
        self.inner.field()
    }

    fn expressions(&self) -> Vec<Arc<dyn PhysicalExpr>> {
        self.inner.expressions()
    }

    fn name(&self) -> &str {
        self.inner.name()
    }

    fn create_evaluator(&self) -> Result<Box<dyn PartitionEvaluator>> {
        Ok(Box::new(CancellableEvaluator { inner: self.inner.create_evaluator()?, watch: self.watch.clone() }))
    }

    fn reverse_expr(&self) -> Option<Arc<dyn StandardWindowFunctionExpr>> {
        let inner = self.inner.reverse_expr()?;
        Some(Arc::new(CancellableFunction { inner, watch: self.watch.clone() }))
    }

    fn get_result_ordering(&self, schema: &SchemaRef) -> Option<PhysicalSortExpr> {
        self.inner.get_result_ordering(schema)
    }

    fn limit_effect(&self) -> LimitEffect {
        self.inner.limit_effect()
    }
}

#[derive(Debug)]
struct CancellableEvaluator {
    inner: Box<dyn PartitionEvaluator>,
    watch: CancelWatch,
}

impl PartitionEvaluator for CancellableEvaluator {
    fn memoize(&mut self, state: &mut WindowAggState) -> Result<()> {
        self.inner.memoize(state)
    }

    fn get_range(&self, row: usize, rows: usize) -> Result<Range<usize>> {
        self.inner.get_range(row, rows)
    }

    fn is_causal(&self) -> bool {
        self.inner.is_causal()
    }

    fn evaluate_all(&mut self, values: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        self.inner.evaluate_all(values, rows)
    }

    fn evaluate(&mut self, values: &[ArrayRef], range: &Range<usize>) -> Result<ScalarValue> {
        self.watch.check()?;
        self.inner.evaluate(values, range)
    }

    fn evaluate_all_with_rank(&self, rows: usize, ranks: &[Range<usize>]) -> Result<ArrayRef> {
        self.inner.evaluate_all_with_rank(rows, ranks)
    }

    fn supports_bounded_execution(&self) -> bool {
        self.inner.supports_bounded_execution()
    }

    fn uses_window_frame(&self) -> bool {
        self.inner.uses_window_frame()
    }

    fn include_rank(&self) -> bool {
        self.inner.include_rank()
    }
}

#[cfg(test)]
mod tests {
    use super::super::expression::ReaderHandle;
    use super::*;

    #[derive(Debug)]
    struct Seven;

    impl Accumulator for Seven {
        fn update_batch(&mut self, _: &[ArrayRef]) -> Result<()> {
            Ok(())
        }

        fn evaluate(&mut self) -> Result<ScalarValue> {
            Ok(ScalarValue::from(7))
        }

        fn size(&self) -> usize {
            0
        }

        fn state(&mut self) -> Result<Vec<ScalarValue>> {
            Ok(Vec::new())
        }

        fn merge_batch(&mut self, _: &[ArrayRef]) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_window_has_no_results_for_rows_that_nobody_wants() {
        let reader = ReaderHandle::default();
        let watching = Some(WindowWatch { watch: reader.watched(None), pieces: None });
        let mut accumulator = CancellableAccumulator { inner: Box::new(Seven), watching, results: Results::default() };
        assert_eq!(accumulator.evaluate().unwrap(), ScalarValue::from(7));
        drop(reader);
        assert!(accumulator.evaluate().unwrap_err().to_string().contains("cancelled"));
    }
}
