//! Calls over windows: of window functions and of aggregates.

use datafusion::common::{DFSchema, Result as DfResult};
use datafusion::execution::FunctionRegistry;
use datafusion::logical_expr::expr::{WindowFunction as WindowCall, WindowFunctionParams};
use datafusion::logical_expr::{Expr, ExprSchemable, WindowFrame, WindowFunctionDefinition};

use super::arguments::arguments;
use super::find::{Found, Window};
use super::frame::{Bounds, frame};
use super::measure::{PostAggregate, chosen, is_distinct};
use super::options::{Accepted, choose};
use crate::consumer::consume::Consumer;
use crate::consumer::exprs::{expressions, sorts};
use crate::error::PlanError;
use crate::proto::expression::WindowFunction;
use crate::proto::{Expression, FunctionArgument, FunctionOption, SortField, Type};

const NTH_OPTIONS: &[Accepted] = &[Accepted::of("on_domain_error", &["ERROR"])];

/// A call over a window, wherever it stands in a plan.
pub struct OverRows<'p> {
    pub function_reference: u32,
    pub arguments: &'p [FunctionArgument],
    pub older: &'p [Expression],
    pub options: &'p [FunctionOption],
    pub output: Option<&'p Type>,
    pub invocation: i32,
    pub partitions: &'p [Expression],
    pub sorts: &'p [SortField],
    pub bounds: Bounds<'p>,
}

#[expect(deprecated, reason = "the field of plans before 0.3")]
pub async fn window(consumer: &Consumer<'_>, of: &WindowFunction, schema: &DFSchema) -> DfResult<Expr> {
    let call = OverRows {
        function_reference: of.function_reference,
        arguments: &of.arguments,
        older: &of.args,
        options: &of.options,
        output: of.output_type.as_ref(),
        invocation: of.invocation,
        partitions: &of.partitions,
        sorts: &of.sorts,
        bounds: (of.bounds_type, of.lower_bound.as_ref(), of.upper_bound.as_ref()).into(),
    };
    over_rows(consumer, &call, schema).await
}

pub async fn over_rows(consumer: &Consumer<'_>, of: &OverRows<'_>, schema: &DFSchema) -> DfResult<Expr> {
    let function = consumer.finder().window(of.function_reference, &"a call")?;
    let place = function.place();
    let distinct = is_distinct(of.invocation, &place)?;
    let mut order_by = sorts(consumer, of.sorts, schema).await?;
    let partition_by = expressions(consumer, of.partitions, schema).await?;
    let arguments = arguments(consumer, of.arguments, of.older, schema).await?;
    let (shown, origin) = (function.shown, function.origin);
    let (fun, args, has_frame, after) = match function.form {
        Window::Table(entry) => {
            choose(of.options, if entry.name == "nth_value" { NTH_OPTIONS } else { &[] }, false, &place)?;
            let fun = WindowFunctionDefinition::WindowUDF(consumer.state().udwf(entry.name)?);
            (fun, arguments.values_only(&place)?, entry.has_frame, PostAggregate::Nothing)
        }
        Window::Registered(fun) => {
            choose(of.options, &[], false, &place)?;
            (WindowFunctionDefinition::WindowUDF(fun), arguments.values_only(&place)?, true, PostAggregate::Nothing)
        }
        Window::Aggregate(form) => {
            let function = Found { shown, origin, form };
            let chosen = chosen(consumer, &function, arguments, of.options, of.output, schema)?;
            (WindowFunctionDefinition::AggregateUDF(chosen.function), chosen.values, true, chosen.after)
        }
    };
    if distinct && matches!(fun, WindowFunctionDefinition::WindowUDF(_)) {
        return Err(PlanError::invalid("DISTINCT for a function that is no aggregate", &place).into());
    }
    let window_frame = match has_frame {
        true => frame(&of.bounds, &mut order_by, schema, &place)?,
        false => WindowFrame::new((!order_by.is_empty()).then_some(false)),
    };
    let params = WindowFunctionParams { args, partition_by, order_by, window_frame, filter: None, null_treatment: None, distinct };
    let call = Expr::WindowFunction(Box::new(WindowCall { fun, params }));
    if after == PostAggregate::Nothing {
        return Ok(call);
    }
    let data_type = call.get_type(schema)?;
    after.apply(call, &data_type, consumer)
}
