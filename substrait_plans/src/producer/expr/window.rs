//! Window functions.

use arrow::datatypes::DataType;
use datafusion::common::DFSchema;
use datafusion::logical_expr::expr::{NullTreatment, WindowFunction, WindowFunctionParams};
use datafusion::logical_expr::{Expr, ExprSchemable, WindowFrame, WindowFrameBound, WindowFrameUnits, WindowFunctionDefinition};
use datafusion::scalar::ScalarValue;

use super::super::functions::kinds::{is_signed, kinds_of};
use super::super::functions::own;
use super::super::functions::standard::{self, Output};
use super::super::registry::Function;
use super::super::writer::Writer;
use super::aggregate::{aggregate_function, ignores_nulls, invocation};
use super::{argument, rex, types_of};
use crate::proto::expression::cast::FailureBehavior;
use crate::proto::expression::window_function::{Bound, BoundsType, bound};
use crate::proto::expression::{RexType, WindowFunction as Written};
use crate::proto::{AggregationPhase, Expression};
use crate::refusal::Refusal;
use crate::types::type_of;

impl Writer {
    /// `whole` is the expression of the function.
    pub(super) fn window_function(&mut self, window: &WindowFunction, whole: &Expr, schema: &DFSchema) -> Result<Expression, Refusal> {
        let params = &window.params;
        check(window)?;
        let (_, output) = whole.to_field(schema)?;
        let (named, args, yields) = match &window.fun {
            WindowFunctionDefinition::AggregateUDF(function) => {
                let (named, args) = aggregate_function(function.name(), &params.args, params.distinct, output.data_type(), schema)?;
                (named, args.to_vec(), Output::Same)
            }
            WindowFunctionDefinition::WindowUDF(function) => window_function(function.name(), &params.args, schema)?,
        };
        let integer = DataType::Int64;
        let yielded = if yields == Output::Integer { &integer } else { output.data_type() };
        let key = range_key(params, schema)?;
        let written = rex(RexType::WindowFunction(Written {
            function_reference: self.registry.function(&named),
            arguments: self.exprs(&args, schema)?.into_iter().map(argument).collect(),
            options: named.options,
            output_type: Some(type_of(yielded, output.is_nullable(), &mut self.types)?),
            phase: AggregationPhase::InitialToResult as i32,
            sorts: self.sort_fields(&params.order_by, schema)?,
            invocation: invocation(params.distinct),
            partitions: self.exprs(&params.partition_by, schema)?,
            bounds_type: bounds_type(&params.window_frame)? as i32,
            lower_bound: Some(frame_bound(&params.window_frame.start_bound, true, key.as_ref())?),
            upper_bound: Some(frame_bound(&params.window_frame.end_bound, false, key.as_ref())?),
            ..Written::default()
        }));
        match yields {
            Output::Same => Ok(written),
            Output::Integer => self.converted(written, output.data_type(), output.is_nullable(), FailureBehavior::ThrowException),
        }
    }
}

fn check(window: &WindowFunction) -> Result<(), Refusal> {
    let (name, params) = (window.fun.name(), &window.params);
    if params.null_treatment == Some(NullTreatment::IgnoreNulls) {
        return Err(ignores_nulls(name));
    }
    match params.filter {
        Some(_) => {
            let why = "plans say it of aggregates with GROUP BY alone, and the result would be another";
            Err(Refusal::new(format!("{name} with FILTER OVER a window"), why))
        }
        None => Ok(()),
    }
}

/// The name, the arguments and the result type of a window function that is not an aggregate.
fn window_function(name: &str, args: &[Expr], schema: &DFSchema) -> Result<(Function, Vec<Expr>, Output), Refusal> {
    let arguments = standard_arguments(name, args, schema).unwrap_or_else(|| args.to_vec());
    if let Some((named, yields)) = standard::window(name, &types_of(&arguments, schema)?) {
        return Ok((named, arguments, yields));
    }
    match own::window(name, &kinds_of(&types_of(args, schema)?)) {
        Some(named) => Ok((named, args.to_vec(), Output::Same)),
        None => Err(Refusal::new(
            format!("the window function {name}"),
            "it is not on the list of those that mean the same wherever a plan is read",
        )),
    }
}

/// Converts arguments to the standard's form: offsets are i32 and not negative, and a default has the type of the values. `None` if that
/// is not possible.
fn standard_arguments(name: &str, args: &[Expr], schema: &DFSchema) -> Option<Vec<Expr>> {
    let (value, rest) = match (name, args) {
        ("lead" | "lag" | "nth_value", [value, rest @ ..]) => (value, rest),
        _ => return None,
    };
    let mut arguments = vec![value.clone()];
    if let Some(place) = rest.first() {
        let Expr::Literal(ScalarValue::Int64(Some(place)), _) = place else { return None };
        let least = if name == "nth_value" { 1 } else { 0 };
        let place = i32::try_from(*place).ok().filter(|place| *place >= least)?;
        arguments.push(Expr::Literal(ScalarValue::Int32(Some(place)), None));
    }
    match rest.get(1) {
        Some(Expr::Literal(default, _)) if !default.is_null() => {
            let default = default.cast_to(&value.get_type(schema).ok()?).ok()?;
            arguments.push(Expr::Literal(default, None));
        }
        None | Some(Expr::Literal(..)) => {}
        Some(_) => return None,
    }
    Some(arguments)
}

/// The type of the single key to which offsets of RANGE are added; `None` if they count rows.
fn range_key(params: &WindowFunctionParams, schema: &DFSchema) -> Result<Option<DataType>, Refusal> {
    if params.window_frame.units != WindowFrameUnits::Range {
        return Ok(None);
    }
    match params.order_by.as_slice() {
        [key] => Ok(Some(key.expr.get_type(schema)?)),
        // With no key or several keys there are no offsets.
        _ => Ok(Some(DataType::Null)),
    }
}

fn bounds_type(frame: &WindowFrame) -> Result<BoundsType, Refusal> {
    match frame.units {
        WindowFrameUnits::Rows => Ok(BoundsType::Rows),
        WindowFrameUnits::Range => Ok(BoundsType::Range),
        WindowFrameUnits::Groups => Err(Refusal::new("a window with GROUPS", "plans count rows or values; use ROWS or RANGE")),
    }
}

/// With a `key`, offsets are added to values of this type; otherwise they count rows.
fn frame_bound(frame_bound: &WindowFrameBound, is_start: bool, key: Option<&DataType>) -> Result<Bound, Refusal> {
    let unbounded = bound::Kind::Unbounded(bound::Unbounded {});
    let current = bound::Kind::CurrentRow(bound::CurrentRow {});
    let kind = match frame_bound {
        WindowFrameBound::CurrentRow => current,
        WindowFrameBound::Preceding(offset) if offset.is_null() && is_start => unbounded,
        WindowFrameBound::Following(offset) if offset.is_null() && !is_start => unbounded,
        WindowFrameBound::Preceding(offset) => match whole_number(offset, key)? {
            0 => current,
            offset => bound::Kind::Preceding(bound::Preceding { offset }),
        },
        WindowFrameBound::Following(offset) => match whole_number(offset, key)? {
            0 => current,
            offset => bound::Kind::Following(bound::Following { offset }),
        },
    };
    Ok(Bound { kind: Some(kind) })
}

fn whole_number(offset: &ScalarValue, key: Option<&DataType>) -> Result<i64, Refusal> {
    let refused = || Refusal::new(format!("a window's offset of {offset}"), "plans have whole numbers there, over whole numbers");
    let is_whole = |data_type: &DataType| data_type.is_integer() || matches!(data_type, DataType::Decimal128(_, 0));
    let adds_to = |key: &DataType| is_signed(key) || matches!(key, DataType::Decimal128(..));
    if !key.is_none_or(adds_to) || !is_whole(&offset.data_type()) {
        return Err(refused());
    }
    match offset.cast_to(&DataType::Int64) {
        Ok(ScalarValue::Int64(Some(number))) if number >= 0 => Ok(number),
        _ => Err(refused()),
    }
}
