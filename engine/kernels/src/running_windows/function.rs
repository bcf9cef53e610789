//! The functions of a window that are computed in one pass.

use std::fmt;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{DECIMAL128_MAX_PRECISION, DataType, Schema};
use datafusion::common::Result;
use datafusion::logical_expr::{EmitTo, WindowFrameBound, WindowFrameUnits};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::aggregate::AggregateFunctionExpr;
use datafusion::physical_expr::window::{PlainAggregateWindowExpr, WindowExpr};
use semantics::cancel::is_unfiltered_window;

use super::rank_kind::{RankKind, kind_of};

#[derive(Debug, Clone)]
pub enum RunningFunction {
    Rank(RankKind),
    Aggregate(RunningAggregate),
}

/// An aggregate of the rows from the start of the group.
#[derive(Debug, Clone)]
pub struct RunningAggregate {
    pub kind: AggregateKind,
    pub argument: Arc<dyn PhysicalExpr>,
    pub end: FrameEnd,
    /// The type of the numbers after each row, from which results are computed.
    pub value_type: DataType,
    function: Arc<AggregateFunctionExpr>,
    /// The function computes results from these numbers: means, sums with one NaN, and sums that may have too many digits.
    is_evaluated: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AggregateKind {
    Count,
    Sum,
    Average,
    Min,
    Max,
}

/// Where the rows of a frame end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameEnd {
    Row,
    /// The last row that is equal in the order.
    Peers,
    Group,
}

impl RunningFunction {
    /// `None` for other functions. `input` is the schema of the window's input.
    pub fn of(expr: &Arc<dyn WindowExpr>, input: &Schema) -> Result<Option<RunningFunction>> {
        if let Some(rank) = kind_of(expr) {
            let is_bigint = *expr.field()?.data_type() == DataType::Int64;
            return Ok(is_bigint.then_some(RunningFunction::Rank(rank)));
        }
        Ok(RunningAggregate::of(expr, input)?.map(RunningFunction::Aggregate))
    }

    /// A rank depends on no row behind.
    pub fn end(&self) -> FrameEnd {
        match self {
            RunningFunction::Rank(_) => FrameEnd::Row,
            RunningFunction::Aggregate(aggregate) => aggregate.end,
        }
    }

    pub fn needs_peers(&self) -> bool {
        match self {
            RunningFunction::Rank(rank) => *rank != RankKind::RowNumber,
            RunningFunction::Aggregate(aggregate) => aggregate.end == FrameEnd::Peers,
        }
    }
}

impl fmt::Display for RunningFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunningFunction::Rank(rank) => f.write_str(rank.name()),
            RunningFunction::Aggregate(aggregate) => write!(f, "{}({})", aggregate.function.fun().name(), aggregate.argument),
        }
    }
}

impl RunningAggregate {
    fn of(expr: &Arc<dyn WindowExpr>, input: &Schema) -> Result<Option<RunningAggregate>> {
        let Some(window) = expr.as_any().downcast_ref::<PlainAggregateWindowExpr>() else { return Ok(None) };
        let function = window.get_aggregate_expr();
        let kind = match function.fun().name() {
            "count" => AggregateKind::Count,
            "sum" => AggregateKind::Sum,
            "avg" => AggregateKind::Average,
            "min" => AggregateKind::Min,
            "max" => AggregateKind::Max,
            _ => return Ok(None),
        };
        let arguments = function.expressions();
        let ([argument], Some(end)) = (arguments.as_slice(), frame_end(expr)) else { return Ok(None) };
        let is_plain = !function.is_distinct() && function.order_bys().is_empty() && !function.is_reversed();
        if !is_plain || !is_unfiltered_window(function.fun()) {
            return Ok(None);
        }
        let result = expr.field()?.data_type().clone();
        let argument_type = argument.data_type(input)?;
        let states = function.state_fields()?;
        let states: Vec<&DataType> = states.iter().map(|field| field.data_type()).collect();
        let value_type = match (kind, states.as_slice()) {
            (AggregateKind::Count, _) if result == DataType::Int64 => result.clone(),
            (AggregateKind::Sum, _) if is_sum(&argument_type, &result) => result.clone(),
            (AggregateKind::Average, [DataType::UInt64, sum]) if is_sum(&argument_type, sum) => (*sum).clone(),
            (AggregateKind::Min | AggregateKind::Max, _) if argument_type == result && is_ordered(&result) => result.clone(),
            _ => return Ok(None),
        };
        let is_computed = kind == AggregateKind::Average || kind == AggregateKind::Sum && result.is_floating();
        let is_checked = matches!(value_type, DataType::Decimal128(DECIMAL128_MAX_PRECISION, _));
        let is_evaluated = is_computed || kind == AggregateKind::Sum && is_checked;
        if is_evaluated && !function.groups_accumulator_supported() {
            return Ok(None);
        }
        let (argument, function) = (Arc::clone(argument), Arc::new(function.clone()));
        Ok(Some(RunningAggregate { kind, argument, end, value_type, function, is_evaluated }))
    }

    /// The results for values after some rows. `counts` are those of a mean.
    pub fn results(&self, values: ArrayRef, counts: Option<ArrayRef>) -> Result<ArrayRef> {
        if !self.is_evaluated {
            return Ok(values);
        }
        let rows: Vec<usize> = (0..values.len()).collect();
        let states: Vec<ArrayRef> = counts.into_iter().chain([values]).collect();
        let mut groups = self.function.create_groups_accumulator()?;
        groups.merge_batch(&states, &rows, rows.len())?;
        groups.evaluate(EmitTo::All)
    }
}

/// `None` if the frame begins behind the start of the group, or ends elsewhere.
fn frame_end(expr: &Arc<dyn WindowExpr>) -> Option<FrameEnd> {
    let frame = expr.get_window_frame();
    if !matches!(&frame.start_bound, WindowFrameBound::Preceding(rows) if rows.is_null()) {
        return None;
    }
    match (&frame.end_bound, frame.units) {
        (WindowFrameBound::Following(rows), _) if rows.is_null() => Some(FrameEnd::Group),
        (WindowFrameBound::CurrentRow, WindowFrameUnits::Rows) => Some(FrameEnd::Row),
        (WindowFrameBound::CurrentRow, WindowFrameUnits::Range) if expr.order_by().is_empty() => Some(FrameEnd::Group),
        (WindowFrameBound::CurrentRow, WindowFrameUnits::Range) => Some(FrameEnd::Peers),
        _ => None,
    }
}

/// Whether the numbers of the argument add up to those of the sum.
fn is_sum(argument: &DataType, sum: &DataType) -> bool {
    match (argument, sum) {
        (DataType::Decimal128(_, scale), DataType::Decimal128(_, of_sum)) => scale == of_sum,
        (argument, sum) => argument == sum && matches!(sum, DataType::Int64 | DataType::UInt64 | DataType::Float64),
    }
}

/// Whether the order of the values is that of their numbers: it is not for intervals.
fn is_ordered(data_type: &DataType) -> bool {
    data_type.is_primitive() && !matches!(data_type, DataType::Interval(_))
}
