//! The value and the default of `lag` and `lead` have a common type, as in PostgreSQL. DataFusion gives the default the type of the value:
//! `lag(i, 1, 0.5)` of integers began with 0, and `lag(0.5, 1, 1.00)` was an error. It still does so for texts, which may be literals of
//! any type, for nested values, and for a decimal beside a float.

use std::sync::Arc;

use arrow::compute::SortOptions;
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, plan_err};
use datafusion::functions_window::lead_lag::{lag_udwf, lead_udwf};
use datafusion::logical_expr::function::{ExpressionArgs, PartitionEvaluatorArgs, WindowUDFFieldArgs};
use datafusion::logical_expr::type_coercion::binary::type_union_resolution;
use datafusion::logical_expr::{
    Documentation, LimitEffect, PartitionEvaluator, ReversedUDWF, Signature, Volatility, WindowUDF, WindowUDFImpl,
};
use datafusion::physical_expr::PhysicalExpr;

pub fn shifts() -> impl Iterator<Item = WindowUDF> {
    [lag_udwf(), lead_udwf()].into_iter().map(|inner| {
        let mut signature = Signature::user_defined(Volatility::Immutable);
        signature.parameter_names.clone_from(&inner.signature().parameter_names);
        WindowUDF::from(Shift { inner, signature })
    })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Shift {
    inner: Arc<WindowUDF>,
    signature: Signature,
}

impl WindowUDFImpl for Shift {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [value, offset, default] => Ok(match common_type(value, default) {
                Some(common) => vec![common.clone(), offset.clone(), common],
                None => types.to_vec(),
            }),
            [_] | [_, _] => Ok(types.to_vec()),
            _ => plan_err!("{} takes 1, 2 or 3 arguments, and was given {}", self.name(), types.len()),
        }
    }

    fn expressions(&self, args: ExpressionArgs<'_>) -> Vec<Arc<dyn PhysicalExpr>> {
        self.inner.expressions(args)
    }

    fn partition_evaluator(&self, args: PartitionEvaluatorArgs<'_>) -> Result<Box<dyn PartitionEvaluator>> {
        self.inner.partition_evaluator_factory(args)
    }

    fn field(&self, args: WindowUDFFieldArgs<'_>) -> Result<FieldRef> {
        self.inner.field(args)
    }

    fn sort_options(&self) -> Option<SortOptions> {
        self.inner.sort_options()
    }

    fn reverse_expr(&self) -> ReversedUDWF {
        self.inner.reverse_expr()
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }

    fn limit_effect(&self, args: &[Arc<dyn PhysicalExpr>]) -> LimitEffect {
        self.inner.inner().limit_effect(args)
    }
}

/// `None` if the default is to have the type of the value, to which DataFusion casts it.
fn common_type(value: &DataType, default: &DataType) -> Option<DataType> {
    let is_exact = |data_type: &DataType| data_type.is_integer() || data_type.is_decimal();
    match (value, default) {
        _ if value == default => None,
        (DataType::Float32, DataType::Float64) => Some(DataType::Float64),
        _ if is_exact(value) && default.is_floating() => Some(DataType::Float64),
        _ if is_exact(value) && is_exact(default) || value.is_temporal() && default.is_temporal() => {
            let common = type_union_resolution(&[value.clone(), default.clone()])?;
            // A decimal has 38 digits at most: digits behind the point are not worth those before it.
            (whole_digits(&common) >= whole_digits(value)).then_some(common)
        }
        _ => None,
    }
}

fn whole_digits(data_type: &DataType) -> i16 {
    match data_type {
        DataType::Decimal128(precision, scale) | DataType::Decimal256(precision, scale) => i16::from(*precision) - i16::from(*scale),
        _ => 0,
    }
}
