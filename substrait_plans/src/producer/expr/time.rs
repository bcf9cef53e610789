//! Parts of dates and times.

use arrow::datatypes::DataType;
use datafusion::common::DFSchema;
use datafusion::logical_expr::{Expr, ExprSchemable};

use super::super::functions::standard::DATETIME;
use super::super::registry::Function;
use super::super::writer::Writer;
use super::{argument, may_be_null};
use crate::proto::expression::cast::FailureBehavior;
use crate::proto::function_argument::ArgType;
use crate::proto::{Expression, FunctionArgument};
use crate::refusal::Refusal;

impl Writer {
    /// Uses the standard's `extract` for the common parts, and our function for the others.
    pub(super) fn date_part(&mut self, part: &Expr, time: &Expr, whole: &Expr, schema: &DFSchema) -> Result<Expression, Refusal> {
        let data_type = time.get_type(schema)?;
        let named = match part {
            Expr::Literal(value, _) => value.try_as_str().flatten().and_then(|part| component(part, &data_type)),
            _ => None,
        };
        let Some((component, has_base)) = named else {
            return self.known_function("date_part", &[part.clone(), time.clone()], whole, schema);
        };
        let of = if data_type == DataType::Date32 { "date" } else { "pts" };
        let (kinds, words) = match has_base {
            true => (vec!["req", "req", of], vec![component, "ONE"]),
            false => (vec!["req", of], vec![component]),
        };
        let mut arguments: Vec<_> = words.into_iter().map(word).collect();
        arguments.push(argument(self.expr(time, schema)?));
        let is_nullable = may_be_null(time, schema);
        let extract = Function::new(DATETIME, "extract", &kinds);
        let integer = self.call_with(&extract, arguments, &DataType::Int64, is_nullable)?;
        self.converted(integer, &whole.get_type(schema)?, is_nullable, FailureBehavior::ThrowException)
    }
}

/// The standard's name, and whether it needs an argument for the number of the first one: month 1.
fn component(part: &str, of: &DataType) -> Option<(&'static str, bool)> {
    let has_hours = match of {
        DataType::Date32 => false,
        DataType::Timestamp(_, None) => true,
        _ => return None,
    };
    match part.to_ascii_lowercase().as_str() {
        "year" => Some(("YEAR", false)),
        "quarter" => Some(("QUARTER", true)),
        "month" => Some(("MONTH", true)),
        "day" => Some(("DAY", true)),
        "hour" if has_hours => Some(("HOUR", false)),
        "minute" if has_hours => Some(("MINUTE", false)),
        _ => None,
    }
}

fn word(word: &'static str) -> FunctionArgument {
    FunctionArgument { arg_type: Some(ArgType::Enum(word.to_string())) }
}
