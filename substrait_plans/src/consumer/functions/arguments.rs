//! The arguments of a call: enumerations as names, values as expressions.

use datafusion::common::{DFSchema, Result as DfResult};
use datafusion_substrait::logical_plan::consumer::SubstraitConsumer;

use super::call::Arguments;
use crate::consumer::consume::Consumer;
use crate::error::PlanError;
use crate::proto::expression::RexType;
use crate::proto::expression::r#enum::EnumKind;
use crate::proto::function_argument::ArgType;
use crate::proto::{Expression, FunctionArgument};

/// `older` has the arguments of older plans, which have no others.
#[expect(deprecated, reason = "an enumeration of plans before 0.3")]
pub async fn arguments(
    consumer: &Consumer<'_>,
    call_arguments: &[FunctionArgument],
    older: &[Expression],
    schema: &DFSchema,
) -> DfResult<Arguments> {
    let mut arguments = Arguments::default();
    let place = "an argument of a call";
    let values = call_arguments.iter().map(|argument| argument.arg_type.as_ref());
    let mut all: Vec<Result<&Expression, &str>> = Vec::with_capacity(call_arguments.len());
    for value in values {
        all.push(match value {
            Some(ArgType::Value(value)) => Ok(value),
            Some(ArgType::Enum(name)) => Err(name.as_str()),
            Some(ArgType::Type(_)) => return Err(PlanError::unsupported("a type as an argument", place).into()),
            None => return Err(PlanError::missing("the argument", place).into()),
        });
    }
    if call_arguments.is_empty() {
        all.extend(older.iter().map(Ok));
    }
    for argument in all {
        match argument {
            Ok(Expression { rex_type: Some(RexType::Enum(old)) }) => match &old.enum_kind {
                Some(EnumKind::Specified(name)) => arguments.enums.push(name.to_ascii_uppercase()),
                _ => return Err(PlanError::missing("the name of an enumeration", place).into()),
            },
            Ok(value) => arguments.values.push(consumer.consume_expression(value, schema).await?),
            Err(name) => arguments.enums.push(name.to_ascii_uppercase()),
        }
    }
    Ok(arguments)
}
