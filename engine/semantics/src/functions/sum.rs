//! `sum` that fails where DataFusion's wraps around.

use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::array::ArrowNativeTypeOp;
use arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type,
    DurationMicrosecondType, DurationMillisecondType, DurationNanosecondType, DurationSecondType, Int64Type, TimeUnit, UInt64Type,
};
use datafusion::common::Result;
use datafusion::functions_aggregate::sum::Sum;
use datafusion::logical_expr::expr::AggregateFunction;
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Expr, GroupsAccumulator, Operator, ReversedUDAF};
use datafusion_functions_aggregate_common::aggregate::groups_accumulator::prim_op::PrimitiveGroupsAccumulator;

use super::described_by_inner;
use super::sum_state::{CheckedDistinctSum, CheckedGroups, CheckedSumState};

pub fn checked_sum() -> AggregateUDF {
    AggregateUDF::from(CheckedSum { inner: AggregateUDF::from(Sum::new()) })
}

/// DataFusion's `sum` with other accumulators.
#[derive(Debug)]
struct CheckedSum {
    inner: AggregateUDF,
}

/// There is only one. DataFusion's comparison would compare all supported types, and the planner compares each aggregate of a query with
/// all others.
impl PartialEq for CheckedSum {
    fn eq(&self, _: &CheckedSum) -> bool {
        true
    }
}

impl Eq for CheckedSum {}

impl Hash for CheckedSum {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.inner.name().hash(state);
    }
}

/// Evaluates `$then` with `$t` as the native type of a sum that can overflow, `$otherwise` for others.
macro_rules! with_checked_type {
    ($data_type:expr, $t:ident => $then:expr, $otherwise:expr) => {{
        macro_rules! with {
            ($native:ty) => {{
                type $t = $native;
                $then
            }};
        }
        match $data_type {
            DataType::Int64 => with!(Int64Type),
            DataType::UInt64 => with!(UInt64Type),
            DataType::Duration(TimeUnit::Second) => with!(DurationSecondType),
            DataType::Duration(TimeUnit::Millisecond) => with!(DurationMillisecondType),
            DataType::Duration(TimeUnit::Microsecond) => with!(DurationMicrosecondType),
            DataType::Duration(TimeUnit::Nanosecond) => with!(DurationNanosecondType),
            DataType::Decimal32(..) => with!(Decimal32Type),
            DataType::Decimal64(..) => with!(Decimal64Type),
            // The type of a decimal sum has ten digits more than its values if there is room for them: 10^10 rows cannot overflow that.
            DataType::Decimal128(DECIMAL128_MAX_PRECISION, _) => with!(Decimal128Type),
            DataType::Decimal256(DECIMAL256_MAX_PRECISION, _) => with!(Decimal256Type),
            _ => $otherwise,
        }
    }};
}

impl CheckedSum {
    fn accumulator_that(&self, slides: bool, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let data_type = args.return_field.data_type().clone();
        let inner = |args| match slides {
            true => self.inner.create_sliding_accumulator(args),
            false => self.inner.accumulator(args),
        };
        with_checked_type!(data_type, T => {
            if args.is_distinct {
                return Ok(Box::new(CheckedDistinctSum::<T>::new(inner(args)?, &data_type)));
            }
            Ok(Box::new(CheckedSumState::<T>::new(&data_type, slides)))
        }, inner(args))
    }
}

impl AggregateUDFImpl for CheckedSum {
    described_by_inner!();

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        self.accumulator_that(false, args)
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        self.accumulator_that(true, args)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        let data_type = args.return_field.data_type().clone();
        with_checked_type!(data_type, T => {
            let overflowed = Arc::new(AtomicBool::new(false));
            let flag = Arc::clone(&overflowed);
            let sums = PrimitiveGroupsAccumulator::<T, _>::new(&data_type, move |sum, value| match sum.add_checked(value) {
                Ok(next) => *sum = next,
                Err(_) => flag.store(true, Ordering::Relaxed),
            });
            Ok(Box::new(CheckedGroups { sums: Box::new(sums), overflowed, data_type }))
        }, self.inner.create_groups_accumulator(args))
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }

    fn simplify_expr_op_literal(
        &self,
        function: &AggregateFunction,
        arg: &Expr,
        op: Operator,
        literal: &Expr,
        arg_is_left: bool,
    ) -> Result<Option<Expr>> {
        self.inner.inner().simplify_expr_op_literal(function, arg, op, literal, arg_is_left)
    }
}
