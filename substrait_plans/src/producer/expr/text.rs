//! Texts and patterns.

use arrow::datatypes::DataType;
use datafusion::common::DFSchema;
use datafusion::logical_expr::{Expr, ExprSchemable, Like, Operator};

use super::super::functions::kinds::{is_text, kinds_of};
use super::super::functions::own::OWN;
use super::super::functions::standard::STRING;
use super::super::registry::Function;
use super::super::writer::Writer;
use super::may_be_null;
use crate::proto::Expression;
use crate::refusal::Refusal;

/// The engine's function that replaces `||`.
pub(super) const JOINED: &str = "text_concatenation";

impl Writer {
    /// The standard has no escape character: patterns with one, or possibly with one, use our function.
    pub(super) fn like(&mut self, like: &Like, schema: &DFSchema) -> Result<Expression, Refusal> {
        if like.escape_char.is_some_and(|escape| escape != '\\') {
            return Err(Refusal::new("LIKE with an ESCAPE other than the backslash", "plans have no place for it"));
        }
        if like.case_insensitive {
            return self.pattern("ilike", like.negated, &like.expr, &like.pattern, schema);
        }
        if !is_plain_pattern(&like.pattern) || !is_text(&like.expr.get_type(schema)?) {
            return self.pattern("like", like.negated, &like.expr, &like.pattern, schema);
        }
        self.pattern_of(STRING, "like", like.negated, [like.expr.as_ref(), like.pattern.as_ref()], schema)
    }

    /// Writes our function for a pattern.
    pub(super) fn pattern(
        &mut self,
        name: &str,
        is_negated: bool,
        text: &Expr,
        pattern: &Expr,
        schema: &DFSchema,
    ) -> Result<Expression, Refusal> {
        self.pattern_of(OWN, name, is_negated, [text, pattern], schema)
    }

    fn pattern_of(
        &mut self,
        urn: &'static str,
        name: &str,
        is_negated: bool,
        operands: [&Expr; 2],
        schema: &DFSchema,
    ) -> Result<Expression, Refusal> {
        let written = operands.iter().map(|operand| self.expr(operand, schema)).collect::<Result<_, _>>()?;
        let types = operands.iter().map(|operand| Ok(operand.get_type(schema)?)).collect::<Result<Vec<_>, Refusal>>()?;
        let is_nullable = operands.iter().any(|operand| may_be_null(operand, schema));
        let matches = self.call(&Function::new(urn, name, &kinds_of(&types)), written, &DataType::Boolean, is_nullable)?;
        match is_negated {
            true => self.not(matches, is_nullable),
            false => Ok(matches),
        }
    }

    /// `||`, which is NULL if an argument is NULL; the function `concat` ignores NULLs.
    pub(super) fn joined_text(&mut self, left: &Expr, right: &Expr, schema: &DFSchema) -> Result<Expression, Refusal> {
        let parts = joined_parts(left, right);
        let written = parts.iter().map(|part| self.expr(part, schema)).collect::<Result<_, _>>()?;
        for part in &parts {
            let data_type = part.get_type(schema)?;
            if !is_text(&data_type) {
                return Err(Refusal::new(format!("|| of {data_type}"), "plans put together texts alone"));
            }
        }
        let concat = Function::new(STRING, "concat", &["str"]).with("null_handling", "ACCEPT_NULLS");
        self.call(&concat, written, &DataType::Utf8View, parts.iter().any(|part| may_be_null(part, schema)))
    }
}

/// The parts in order. The engine replaces the operator by a function.
fn joined_parts<'a>(left: &'a Expr, right: &'a Expr) -> Vec<&'a Expr> {
    let (mut parts, mut open) = (Vec::new(), vec![right, left]);
    while let Some(expr) = open.pop() {
        match expr {
            Expr::BinaryExpr(inner) if inner.op == Operator::StringConcat => open.extend([inner.right.as_ref(), inner.left.as_ref()]),
            Expr::ScalarFunction(call) if call.name() == JOINED && call.args.len() == 2 => open.extend(call.args.iter().rev()),
            part => parts.push(part),
        }
    }
    parts
}

fn is_plain_pattern(pattern: &Expr) -> bool {
    match pattern {
        Expr::Literal(value, _) => value.try_as_str().flatten().is_some_and(|text| !text.contains('\\')),
        _ => false,
    }
}
