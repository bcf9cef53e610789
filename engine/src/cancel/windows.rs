//! Windows that stop with the query.
//!
//! A window whose frame reaches to the end of its partition holds all rows of it and computes the results of all in
//! one step, row by row: seconds, in which nothing asks whether somebody still wants them. The functions themselves
//! ask, for each row: that is to read one number.
//!
//! - Aggregates: [`WatchedWindows`] puts a [`WatchedAggregate`] in the place of each while the query is planned, because a
//!   finished window expression tells nobody its FILTER and so cannot be made anew. What to watch it learns from
//!   the finished plan.
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
use datafusion::physical_plan::windows::WindowAggExec;
use parking_lot::Mutex;

use super::expression::Watch;
use crate::functions::{described_by_inner, sliding_accumulator};

#[derive(Debug)]
pub struct WatchedWindows;

impl AnalyzerRule for WatchedWindows {
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
                Ok(expr.transform_up(|expr| Ok(watched_function(expr)))?.update_data(|expr| name.restore(expr)))
            })
        });
        watched.data()
    }
}

fn watched_function(mut expr: Expr) -> Transformed<Expr> {
    let Expr::WindowFunction(window) = &mut expr else { return Transformed::no(expr) };
    let WindowFunctionDefinition::AggregateUDF(function) = &mut window.fun else { return Transformed::no(expr) };
    // One of a plan that is used again, a view's, may be another query's.
    let inner = match function.inner().downcast_ref::<WatchedAggregate>() {
        Some(watched) => Arc::clone(&watched.inner),
        None => Arc::clone(function),
    };
    *function = Arc::new(AggregateUDF::from(WatchedAggregate { inner, watch: Mutex::new(None) }));
    Transformed::yes(expr)
}

/// Whether the function is of a plan that was made ready before.
pub fn is_watched(function: &AggregateUDF) -> bool {
    function.inner().downcast_ref::<WatchedAggregate>().is_some()
}

#[derive(Debug)]
struct WatchedAggregate {
    inner: Arc<AggregateUDF>,
    watch: Mutex<Option<Watch>>,
}

impl WatchedAggregate {
    fn watched(&self, inner: Box<dyn Accumulator>) -> Box<dyn Accumulator> {
        Box::new(WatchedAccumulator { inner, watch: self.watch.lock().clone() })
    }
}

impl PartialEq for WatchedAggregate {
    fn eq(&self, other: &Self) -> bool {
        self.inner == other.inner
    }
}

impl Eq for WatchedAggregate {}

impl Hash for WatchedAggregate {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.hash(state);
    }
}

impl AggregateUDFImpl for WatchedAggregate {
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
                let watch = Mutex::new(self.watch.lock().clone());
                ReversedUDAF::Reversed(Arc::new(AggregateUDF::from(WatchedAggregate { inner, watch })))
            }
            same => same,
        }
    }
}

#[derive(Debug)]
struct WatchedAccumulator {
    inner: Box<dyn Accumulator>,
    watch: Option<Watch>,
}

impl Accumulator for WatchedAccumulator {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.update_batch(values)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        self.watch.as_ref().map_or(Ok(()), Watch::check)?;
        self.inner.evaluate()
    }

    fn size(&self) -> usize {
        self.inner.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.inner.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.inner.merge_batch(states)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.retract_batch(values)
    }

    fn supports_retract_batch(&self) -> bool {
        self.inner.supports_retract_batch()
    }
}

/// The window with functions that ask the watch.
pub fn window(node: &WindowAggExec, watch: &Watch) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let mut any = false;
    let exprs = node.window_expr().iter().map(|expr| {
        if let Some(aggregate) = aggregate_of(expr).and_then(|function| function.inner().downcast_ref::<WatchedAggregate>()) {
            *aggregate.watch.lock() = Some(watch.clone());
        }
        let Some(standard) = expr.as_any().downcast_ref::<StandardWindowExpr>() else { return Arc::clone(expr) };
        any = true;
        let function = WatchedFunction { inner: Arc::clone(standard.get_standard_func_expr()), watch: watch.clone() };
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

fn aggregate_of(expr: &Arc<dyn WindowExpr>) -> Option<&AggregateUDF> {
    let expr = expr.as_any();
    let plain = expr.downcast_ref::<PlainAggregateWindowExpr>().map(PlainAggregateWindowExpr::get_aggregate_expr);
    let sliding = || expr.downcast_ref::<SlidingAggregateWindowExpr>().map(SlidingAggregateWindowExpr::get_aggregate_expr);
    plain.or_else(sliding).map(|aggregate| aggregate.fun())
}

#[derive(Debug)]
struct WatchedFunction {
    inner: Arc<dyn StandardWindowFunctionExpr>,
    watch: Watch,
}

impl StandardWindowFunctionExpr for WatchedFunction {
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
        Ok(Box::new(WatchedEvaluator { inner: self.inner.create_evaluator()?, watch: self.watch.clone() }))
    }

    fn reverse_expr(&self) -> Option<Arc<dyn StandardWindowFunctionExpr>> {
        let inner = self.inner.reverse_expr()?;
        Some(Arc::new(WatchedFunction { inner, watch: self.watch.clone() }))
    }

    fn get_result_ordering(&self, schema: &SchemaRef) -> Option<PhysicalSortExpr> {
        self.inner.get_result_ordering(schema)
    }

    fn limit_effect(&self) -> LimitEffect {
        self.inner.limit_effect()
    }
}

#[derive(Debug)]
struct WatchedEvaluator {
    inner: Box<dyn PartitionEvaluator>,
    watch: Watch,
}

impl PartitionEvaluator for WatchedEvaluator {
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
    use super::super::expression::Reader;
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
        let reader = Reader::default();
        let mut accumulator = WatchedAccumulator { inner: Box::new(Seven), watch: Some(reader.watched()) };
        assert_eq!(accumulator.evaluate().unwrap(), ScalarValue::from(7));
        drop(reader);
        assert!(accumulator.evaluate().unwrap_err().to_string().contains("cancelled"));
    }
}
