//! The arguments of a call: enumerations by name, values as expressions.

use arrow::datatypes::DataType;
use datafusion::common::{DFSchema, Result as DfResult};
use datafusion::logical_expr::{Expr, ExprSchemable};
use datafusion_substrait::logical_plan::consumer::SubstraitConsumer;

use super::call::cast;
use crate::consumer::consume::Consumer;
use crate::error::PlanError;
use crate::proto::expression::RexType;
use crate::proto::expression::r#enum::EnumKind;
use crate::proto::function_argument::ArgType;
use crate::proto::{Expression, FunctionArgument};

/// Enumerations stand before values in every function of the standard that is read here, so that their order is enough.
#[derive(Debug, Default)]
pub struct Arguments {
    /// In capitals.
    pub enums: Vec<String>,
    pub values: Vec<Expr>,
}

/// `older` are those of plans that have no others.
#[expect(deprecated, reason = "an enumeration of plans before 0.3")]
pub async fn arguments(
    consumer: &Consumer<'_>,
    given: &[FunctionArgument],
    older: &[Expression],
    schema: &DFSchema,
) -> DfResult<Arguments> {
    let mut arguments = Arguments::default();
    let place = "an argument of a call";
    let values = given.iter().map(|argument| argument.arg_type.as_ref());
    let mut all: Vec<Result<&Expression, &str>> = Vec::with_capacity(given.len());
    for value in values {
        all.push(match value {
            Some(ArgType::Value(value)) => Ok(value),
            Some(ArgType::Enum(name)) => Err(name.as_str()),
            Some(ArgType::Type(_)) => return Err(PlanError::unsupported("a type as an argument", place).into()),
            None => return Err(PlanError::missing("the argument", place).into()),
        });
    }
    if given.is_empty() {
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

impl Arguments {
    /// Whether the function is one of floating-point numbers.
    pub fn are_floats(&self, schema: &DFSchema) -> bool {
        self.values.iter().any(|value| value.get_type(schema).is_ok_and(|data_type| data_type.is_floating()))
    }

    /// As DataFusion compares a double with a decimal: with this scale, whatever the decimal's is.
    pub fn doubles_as_decimals(&mut self, schema: &DFSchema) {
        let type_of = |value: &Expr| value.get_type(schema).unwrap_or(DataType::Null);
        if !self.values.iter().any(|value| matches!(type_of(value), DataType::Decimal128(..) | DataType::Decimal256(..))) {
            return;
        }
        for value in &mut self.values {
            let decimal = match type_of(value) {
                DataType::Float64 => DataType::Decimal128(30, 15),
                DataType::Float32 => DataType::Decimal128(14, 7),
                _ => continue,
            };
            *value = cast(std::mem::take(value), decimal);
        }
    }

    /// Of a function that takes no enumerations.
    pub fn values_only(self, place: &str) -> Result<Vec<Expr>, PlanError> {
        match self.enums.first() {
            None => Ok(self.values),
            Some(name) => Err(PlanError::invalid(format!("the enumeration {} as an argument", name.escape_default()), place)),
        }
    }
}
