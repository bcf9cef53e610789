//! Functions.

use arrow::datatypes::DataType;
use datafusion::common::DFSchema;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{Expr, ExprSchemable, Volatility};
use datafusion::scalar::ScalarValue;
use engine::{UserScalar, chain_as_operators, function_as_cast};

use super::super::functions::kinds::{is_text, is_utc, kinds_of};
use super::super::functions::own;
use super::super::functions::standard::{self, Output};
use super::super::registry::Function;
use super::super::writer::Writer;
use super::text::JOINED;
use super::types_of;
use crate::proto::Expression;
use crate::proto::expression::cast::FailureBehavior;
use crate::refusal::Refusal;

impl Writer {
    /// `whole` is the expression of the call.
    pub(super) fn scalar_function(&mut self, call: &ScalarFunction, whole: &Expr, schema: &DFSchema) -> Result<Expression, Refusal> {
        let (name, args) = (call.name(), call.args.as_slice());
        if let ([operand], Some((field, tries))) = (args, function_as_cast(&call.func)) {
            return self.cast(operand, field, tries, schema);
        }
        if let Some(function) = UserScalar::portable_of(&call.func) {
            let arguments = self.exprs(args, schema)?;
            let (types, (_, output)) = (types_of(args, schema)?, whole.to_field(schema)?);
            let all_types = [types.as_slice(), &[output.data_type().clone()]].concat();
            let named = self.user_function(function, &types, &all_types)?;
            return self.call(&named, arguments, output.data_type(), output.is_nullable());
        }
        if let Some(operators) = chain_as_operators(call, schema) {
            return self.expr(&operators?, schema);
        }
        // The engine's functions that replace operators or handle NaN; readers of the plan make their own replacements.
        match (name, args) {
            ("one_nan" | "nullable", [value]) => return self.expr(value, schema),
            ("checked_add", [_, _]) => return self.checked("add", args, whole, schema),
            ("checked_sub", [_, _]) => return self.checked("subtract", args, whole, schema),
            ("checked_mul", [_, _]) => return self.checked("multiply", args, whole, schema),
            (JOINED, [left, right]) => return self.joined_text(left, right, schema),
            ("checked_neg", [operand]) => return self.negative(operand, whole, true, schema),
            _ => check_always_the_same(call)?,
        }
        match (name, args) {
            ("date_part", [part, time]) => self.date_part(part, time, whole, schema),
            ("substr", [text, start, rest @ ..]) => self.substring(text, start, rest.first(), whole, schema),
            ("btrim" | "ltrim" | "rtrim", [text]) => self.trimmed(name, text, whole, schema),
            ("coalesce", [_, ..]) => {
                let coalesce = Function::new(standard::COMPARISON, "coalesce", &["any"]);
                self.as_it_is(&coalesce, args, whole, schema)
            }
            _ => self.known_function(name, args, whole, schema),
        }
    }

    /// Writes a function of the standard or of our extension.
    pub(super) fn known_function(&mut self, name: &str, args: &[Expr], whole: &Expr, schema: &DFSchema) -> Result<Expression, Refusal> {
        let arguments = self.exprs(args, schema)?;
        let types = types_of(args, schema)?;
        let (_, output) = whole.to_field(schema)?;
        if let Some((function, yields)) = standard::scalar_function(name, &types) {
            return match yields {
                Output::Same => self.call(&function, arguments, output.data_type(), output.is_nullable()),
                Output::Integer => {
                    let integer = self.call(&function, arguments, &DataType::Int64, output.is_nullable())?;
                    self.converted(integer, output.data_type(), output.is_nullable(), FailureBehavior::ThrowException)
                }
            };
        }
        let kinds = kinds_of(&types);
        // Only in UTC is the meaning of a text as a time independent of the reader.
        let in_utc = matches!(output.data_type(), DataType::Timestamp(_, Some(zone)) if is_utc(zone));
        let function = match own::scalar(name, &kinds) {
            Some(function) => function,
            None => match own::zoned(name, &kinds) {
                Some(function) if in_utc => function,
                Some(_) => {
                    return Err(Refusal::new(
                        format!("the function {name}"),
                        "it reads texts in the session's time zone, which is not UTC",
                    ));
                }
                None => return Err(not_listed(name)),
            },
        };
        self.call(&function, arguments, output.data_type(), output.is_nullable())
    }

    /// A function with the same result type as DataFusion's.
    fn as_it_is(&mut self, function: &Function, args: &[Expr], whole: &Expr, schema: &DFSchema) -> Result<Expression, Refusal> {
        let arguments = self.exprs(args, schema)?;
        let (_, output) = whole.to_field(schema)?;
        self.call(function, arguments, output.data_type(), output.is_nullable())
    }

    /// The standard's takes i32, and does not define a start before the text.
    fn substring(
        &mut self,
        text: &Expr,
        start: &Expr,
        length: Option<&Expr>,
        whole: &Expr,
        schema: &DFSchema,
    ) -> Result<Expression, Refusal> {
        let number = |expr: &Expr, least: i64| match expr {
            Expr::Literal(ScalarValue::Int64(Some(number)), _) if *number >= least => i32::try_from(*number).ok(),
            _ => None,
        };
        let args: Vec<Expr> = [text, start].into_iter().chain(length).cloned().collect();
        let numbers = match length {
            None => number(start, 1).map(|start| vec![start]),
            Some(length) => number(start, 1).zip(number(length, 0)).map(|(start, length)| vec![start, length]),
        };
        let Some(numbers) = numbers.filter(|_| text.get_type(schema).is_ok_and(|of| is_text(&of))) else {
            return self.known_function("substr", &args, whole, schema);
        };
        let mut arguments = vec![self.expr(text, schema)?];
        for number in &numbers {
            arguments.push(self.literal(&ScalarValue::Int32(Some(*number)))?);
        }
        let kinds = ["str", "i32", "i32"];
        let (_, output) = whole.to_field(schema)?;
        let function = Function::new(standard::STRING, "substring", &kinds[..arguments.len()]);
        self.call(&function, arguments, output.data_type(), output.is_nullable())
    }

    /// By default, spaces are trimmed.
    fn trimmed(&mut self, name: &str, text: &Expr, whole: &Expr, schema: &DFSchema) -> Result<Expression, Refusal> {
        let space = Expr::Literal(ScalarValue::Utf8View(Some(" ".into())), None);
        self.known_function(name, &[text.clone(), space], whole, schema)
    }
}

/// A built-in function whose value differs between calls or sessions must run where the query is.
fn check_always_the_same(call: &ScalarFunction) -> Result<(), Refusal> {
    let why = match call.func.signature().volatility {
        Volatility::Immutable => return Ok(()),
        Volatility::Stable => "its value depends on when and in which session it is asked for",
        Volatility::Volatile => "it yields another value each time it is called",
    };
    Err(Refusal::new(format!("the function {}", call.name()), why))
}

fn not_listed(name: &str) -> Refusal {
    Refusal::new(format!("the function {name}"), "it is not on the list of those that mean the same wherever a plan is read")
}
