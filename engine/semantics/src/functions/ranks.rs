//! `row_number()` and the like return BIGINT. DataFusion's return unsigned integers, so that
//! `row_number() OVER (…) - row_number() OVER (…)` fails below zero, and `row_number() OVER () - 1` is a decimal.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::compute::{SortOptions, cast};
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::functions_window::ntile::ntile_udwf;
use datafusion::functions_window::rank::{dense_rank_udwf, rank_udwf};
use datafusion::functions_window::row_number::row_number_udwf;
use datafusion::logical_expr::function::{PartitionEvaluatorArgs, WindowUDFFieldArgs};
use datafusion::logical_expr::window_state::WindowAggState;
use datafusion::logical_expr::{
    Documentation, Expr, LimitEffect, PartitionEvaluator, Signature, WindowFunctionDefinition, WindowUDF, WindowUDFImpl,
};
use datafusion::physical_expr::PhysicalExpr;

pub fn ranks() -> impl Iterator<Item = WindowUDF> {
    [row_number_udwf(), rank_udwf(), dense_rank_udwf(), ntile_udwf()].into_iter().map(|inner| WindowUDF::from(Rank { inner }))
}

/// The call that numbers rows, for plans that are made without a session.
pub fn row_number() -> Expr {
    WindowUDF::from(Rank { inner: row_number_udwf() }).call(Vec::new())
}

/// The same for ranks.
pub fn rank() -> Expr {
    WindowUDF::from(Rank { inner: rank_udwf() }).call(Vec::new())
}

pub fn is_row_number(function: &WindowFunctionDefinition) -> bool {
    matches!(function, WindowFunctionDefinition::WindowUDF(udf) if udf.name() == "row_number")
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Rank {
    inner: Arc<WindowUDF>,
}

impl WindowUDFImpl for Rank {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn partition_evaluator(&self, args: PartitionEvaluatorArgs<'_>) -> Result<Box<dyn PartitionEvaluator>> {
        Ok(Box::new(RankEvaluator(self.inner.partition_evaluator_factory(args)?)))
    }

    fn field(&self, args: WindowUDFFieldArgs<'_>) -> Result<FieldRef> {
        Ok(Arc::new(self.inner.field(args)?.as_ref().clone().with_data_type(DataType::Int64)))
    }

    fn sort_options(&self) -> Option<SortOptions> {
        self.inner.sort_options()
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(types)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }

    fn limit_effect(&self, args: &[Arc<dyn PhysicalExpr>]) -> LimitEffect {
        self.inner.inner().limit_effect(args)
    }
}

#[derive(Debug)]
struct RankEvaluator(Box<dyn PartitionEvaluator>);

impl PartitionEvaluator for RankEvaluator {
    fn memoize(&mut self, state: &mut WindowAggState) -> Result<()> {
        self.0.memoize(state)
    }

    fn get_range(&self, row: usize, rows: usize) -> Result<Range<usize>> {
        self.0.get_range(row, rows)
    }

    fn is_causal(&self) -> bool {
        self.0.is_causal()
    }

    fn evaluate_all(&mut self, values: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        Ok(cast(&self.0.evaluate_all(values, rows)?, &DataType::Int64)?)
    }

    fn evaluate(&mut self, values: &[ArrayRef], range: &Range<usize>) -> Result<ScalarValue> {
        self.0.evaluate(values, range)?.cast_to(&DataType::Int64)
    }

    fn evaluate_all_with_rank(&self, rows: usize, ranks: &[Range<usize>]) -> Result<ArrayRef> {
        Ok(cast(&self.0.evaluate_all_with_rank(rows, ranks)?, &DataType::Int64)?)
    }

    fn supports_bounded_execution(&self) -> bool {
        self.0.supports_bounded_execution()
    }

    fn uses_window_frame(&self) -> bool {
        self.0.uses_window_frame()
    }

    fn include_rank(&self) -> bool {
        self.0.include_rank()
    }
}
