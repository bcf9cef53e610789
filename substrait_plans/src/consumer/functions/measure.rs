//! Calls of aggregates: the measures of an aggregation, and aggregates over windows. `check/` uses its list of supported phases, and
//! `window_call.rs` its check of DISTINCT.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result as DfResult};
use datafusion::execution::FunctionRegistry;
use datafusion::logical_expr::expr::AggregateFunction as AggregateCall;
use datafusion::logical_expr::{AggregateUDF, Expr, ExprSchemable, lit};
use datafusion::scalar::ScalarValue;

use super::aggregates::Form;
use super::arguments::arguments;
use super::call::{Arguments, cast};
use super::find::{Aggregate, Found};
use super::options::{Options, choose};
use crate::consumer::consume::Consumer;
use crate::consumer::exprs::sorts;
use crate::declared::Origin;
use crate::error::PlanError;
use crate::proto::aggregate_function::AggregationInvocation;
use crate::proto::{AggregateFunction, AggregationPhase, FunctionOption, Type};

/// What is applied to the result of DataFusion's aggregate.
#[derive(Debug, Clone, PartialEq)]
pub enum PostAggregate {
    Nothing,
    ZeroIfNull,
    Cast(DataType),
}

impl PostAggregate {
    /// `result` is of type `data_type`.
    pub fn apply(self, result: Expr, data_type: &DataType, consumer: &Consumer<'_>) -> DfResult<Expr> {
        Ok(match self {
            PostAggregate::Nothing => result,
            PostAggregate::Cast(to) => cast(result, to),
            PostAggregate::ZeroIfNull => {
                let zero = Expr::Literal(ScalarValue::new_zero(data_type)?, None);
                let coalesce = consumer.state().udf("coalesce")?;
                coalesce.call(vec![result, zero])
            }
        })
    }
}

/// A function of DataFusion with its arguments.
pub struct ChosenFunction {
    pub function: Arc<AggregateUDF>,
    pub values: Vec<Expr>,
    pub after: PostAggregate,
}

/// A measure.
#[expect(deprecated, reason = "the field of plans before 0.3")]
pub async fn aggregate(
    consumer: &Consumer<'_>,
    of: &AggregateFunction,
    filter: Option<Box<Expr>>,
    schema: &DFSchema,
) -> DfResult<(Expr, PostAggregate)> {
    let function = consumer.finder().aggregate(of.function_reference, &"a call")?;
    let place = function.place();
    let is_distinct = is_distinct(of.invocation, &place)?;
    let order = sorts(consumer, &of.sorts, schema).await?;
    let arguments = arguments(consumer, &of.arguments, &of.args, schema).await?;
    let chosen = chosen(consumer, &function, arguments, &of.options, of.output_type.as_ref(), schema)?;
    let call = AggregateCall::new_udf(chosen.function, chosen.values, is_distinct, filter, order, None);
    Ok((Expr::AggregateFunction(call), chosen.after))
}

pub fn chosen(
    consumer: &Consumer<'_>,
    function: &Found<Aggregate>,
    mut arguments: Arguments,
    options: &[FunctionOption],
    output: Option<&Type>,
    schema: &DFSchema,
) -> DfResult<ChosenFunction> {
    let place = function.place();
    let state = consumer.state();
    let entry = match &function.form {
        Aggregate::Table(entry) => *entry,
        Aggregate::Registered(registered) => {
            choose(options, &[], false, &place)?;
            let values = counted(registered.name(), arguments.values_only(&place)?);
            return Ok(ChosenFunction { function: Arc::clone(registered), values, after: PostAggregate::Nothing });
        }
    };
    let options = choose(options, entry.options, arguments.are_floats(schema), &place)?;
    let (name, after) = match entry.form {
        Form::Named(name) => (name, PostAggregate::Nothing),
        Form::Count => ("count", PostAggregate::Nothing),
        Form::SumOrZero => ("sum", PostAggregate::ZeroIfNull),
        Form::Average => ("avg", whole_average(consumer, function.origin, &mut arguments, output, schema, &place)?),
        Form::Median => match enumeration(&mut arguments).as_deref() {
            None | Some("EXACT") => ("median", PostAggregate::Nothing),
            Some("APPROXIMATE") => ("approx_median", PostAggregate::Nothing),
            Some(other) => return Err(unknown(other, &place).into()),
        },
        Form::Deviation(sample, population) => match distribution(&options, &mut arguments).as_deref() {
            None | Some("SAMPLE") => (sample, PostAggregate::Nothing),
            Some("POPULATION") => (population, PostAggregate::Nothing),
            Some(other) => return Err(unknown(other, &place).into()),
        },
    };
    let values = counted(name, arguments.values_only(&place)?);
    Ok(ChosenFunction { function: state.udaf(name)?, values, after })
}

/// DataFusion counts rows by counting a constant.
fn counted(name: &str, values: Vec<Expr>) -> Vec<Expr> {
    if name == "count" && values.is_empty() { vec![lit(1_i64)] } else { values }
}

/// Holds every signed or unsigned 64-bit integer.
const WHOLE: DataType = DataType::Decimal128(20, 0);

/// In the standard the average of whole numbers is a whole number, truncated. DataFusion's average is a double, which loses digits of
/// large numbers; as decimals they keep them.
fn whole_average(
    consumer: &Consumer<'_>,
    origin: Origin,
    arguments: &mut Arguments,
    output: Option<&Type>,
    schema: &DFSchema,
    place: &str,
) -> DfResult<PostAggregate> {
    let (Origin::Standard, Some(output), Some(value)) = (origin, output, arguments.values.first_mut()) else {
        return Ok(PostAggregate::Nothing);
    };
    let output = consumer.types().data_type(output, &place)?;
    if !output.is_integer() || !value.get_type(schema)?.is_integer() {
        return Ok(PostAggregate::Nothing);
    }
    *value = cast(value.clone(), WHOLE);
    Ok(PostAggregate::Cast(output))
}

/// The option, or the enumeration in plans before 0.20.
fn distribution(options: &Options, arguments: &mut Arguments) -> Option<String> {
    enumeration(arguments).or_else(|| options.get("distribution").map(str::to_string))
}

fn enumeration(arguments: &mut Arguments) -> Option<String> {
    if arguments.enums.is_empty() { None } else { Some(arguments.enums.remove(0)) }
}

fn unknown(enumeration: &str, place: &str) -> PlanError {
    PlanError::invalid(format!("the enumeration {} as an argument", enumeration.escape_default()), place)
}

/// Also used for window functions.
pub fn is_distinct(invocation: i32, place: &str) -> Result<bool, PlanError> {
    match AggregationInvocation::try_from(invocation) {
        Ok(AggregationInvocation::Distinct) => Ok(true),
        Ok(AggregationInvocation::All | AggregationInvocation::Unspecified) => Ok(false),
        Err(_) => Err(PlanError::invalid(format!("an invocation {invocation}"), place)),
    }
}

/// Only complete aggregations are supported; `check/` calls this before there is a call. An unspecified phase counts as complete. The
/// standard says otherwise, but no producer of partial aggregations leaves it out, and several producers of complete ones do.
pub fn check_phase(phase: i32, place: &dyn std::fmt::Display) -> Result<(), PlanError> {
    match AggregationPhase::try_from(phase) {
        Ok(AggregationPhase::InitialToResult | AggregationPhase::Unspecified) => Ok(()),
        Ok(other) => Err(PlanError::unsupported(format!("a part of an aggregation ({})", other.as_str_name()), place)),
        Err(_) => Err(PlanError::invalid(format!("a phase {phase} of an aggregation"), place)),
    }
}
