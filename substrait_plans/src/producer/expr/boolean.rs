//! Conditions.

use arrow::datatypes::DataType;
use datafusion::common::DFSchema;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{Between, BinaryExpr, Expr, Operator};

use super::super::functions::standard::{BOOLEAN, COMPARISON};
use super::super::registry::Function;
use super::super::writer::Writer;
use super::{may_be_null, rex};
use crate::proto::Expression;
use crate::proto::expression::{RexType, SingularOrList};
use crate::refusal::Refusal;

impl Writer {
    /// Writes AND or OR with all terms in one call: a hundred nested calls would be too deep for readers.
    pub(super) fn chain(&mut self, chain: &BinaryExpr, schema: &DFSchema) -> Result<Expression, Refusal> {
        let name = if chain.op == Operator::And { "and" } else { "or" };
        let terms = terms(chain);
        let is_nullable = terms.iter().any(|term| may_be_null(term, schema));
        let terms = terms.into_iter().map(|term| self.expr(term, schema)).collect::<Result<_, _>>()?;
        self.call(&Function::new(BOOLEAN, name, &["bool"]), terms, &DataType::Boolean, is_nullable)
    }

    /// Combines all conditions; `None` if there are none.
    pub(in crate::producer) fn all_of(&mut self, mut conditions: Vec<Expression>) -> Result<Option<Expression>, Refusal> {
        if conditions.len() < 2 {
            return Ok(conditions.pop());
        }
        let and = Function::new(BOOLEAN, "and", &["bool"]);
        self.call(&and, conditions, &DataType::Boolean, true).map(Some)
    }

    pub(in crate::producer) fn not(&mut self, condition: Expression, is_nullable: bool) -> Result<Expression, Refusal> {
        self.call(&Function::new(BOOLEAN, "not", &["bool"]), vec![condition], &DataType::Boolean, is_nullable)
    }

    pub(super) fn comparison(&mut self, name: &str, left: &Expr, right: &Expr, schema: &DFSchema) -> Result<Expression, Refusal> {
        let never_null = name.ends_with("distinct_from");
        let is_nullable = !never_null && (may_be_null(left, schema) || may_be_null(right, schema));
        let operands = vec![self.expr(left, schema)?, self.expr(right, schema)?];
        self.call(&Function::new(COMPARISON, name, &["any", "any"]), operands, &DataType::Boolean, is_nullable)
    }

    /// Written as two comparisons: `between` of the standard is NULL if one bound is, although the other bound may decide.
    pub(super) fn between(&mut self, between: &Between, schema: &DFSchema) -> Result<Expression, Refusal> {
        let (value, low, high) = (&between.expr, &between.low, &between.high);
        let (below, above, both) = if between.negated { ("lt", "gt", "or") } else { ("gte", "lte", "and") };
        let terms = vec![self.comparison(below, value, low, schema)?, self.comparison(above, value, high, schema)?];
        let is_nullable = [value, low, high].into_iter().any(|expr| may_be_null(expr, schema));
        self.call(&Function::new(BOOLEAN, both, &["bool"]), terms, &DataType::Boolean, is_nullable)
    }

    pub(super) fn in_list(&mut self, list: &InList, schema: &DFSchema) -> Result<Expression, Refusal> {
        let value = Some(Box::new(self.expr(&list.expr, schema)?));
        let options = self.exprs(&list.list, schema)?;
        let is_one = rex(RexType::SingularOrList(Box::new(SingularOrList { value, options })));
        match list.negated {
            true => self.not(is_one, true),
            false => Ok(is_one),
        }
    }

    /// NOT, IS NULL, IS TRUE and the like.
    pub(super) fn test(&mut self, expr: &Expr, schema: &DFSchema) -> Result<Expression, Refusal> {
        let (name, kind, operand) = match expr {
            Expr::Not(operand) => {
                let is_nullable = may_be_null(operand, schema);
                let operand = self.expr(operand, schema)?;
                return self.not(operand, is_nullable);
            }
            Expr::IsNull(operand) | Expr::IsUnknown(operand) => ("is_null", "any", operand),
            Expr::IsNotNull(operand) | Expr::IsNotUnknown(operand) => ("is_not_null", "any", operand),
            Expr::IsTrue(operand) => ("is_true", "bool", operand),
            Expr::IsFalse(operand) => ("is_false", "bool", operand),
            Expr::IsNotTrue(operand) => ("is_not_true", "bool", operand),
            Expr::IsNotFalse(operand) => ("is_not_false", "bool", operand),
            other => return Err(super::refused(other)),
        };
        let operand = self.expr(operand, schema)?;
        self.call(&Function::new(COMPARISON, name, &[kind]), vec![operand], &DataType::Boolean, false)
    }
}

/// The terms of a chain of one operator, from left to right. Not recursive, because a chain can be too long for the stack.
pub(super) fn terms(chain: &BinaryExpr) -> Vec<&Expr> {
    let mut terms = Vec::new();
    let mut open: Vec<&Expr> = vec![chain.right.as_ref(), chain.left.as_ref()];
    while let Some(expr) = open.pop() {
        match expr {
            Expr::BinaryExpr(inner) if inner.op == chain.op => open.extend([inner.right.as_ref(), inner.left.as_ref()]),
            term => terms.push(term),
        }
    }
    terms
}

#[cfg(test)]
mod tests {
    use datafusion::logical_expr::{col, lit};

    use super::*;

    #[test]
    fn the_terms_of_a_chain_are_in_its_order_however_it_is_nested() {
        let term = |name: &str| col(name).eq(lit(1));
        let chain = term("a").or(term("b")).or(term("c").or(term("d").and(term("e"))));
        let Expr::BinaryExpr(chain) = chain else { panic!("no chain") };
        let names: Vec<String> = terms(&chain).iter().map(|term| term.to_string()).collect();
        assert_eq!(names, ["a = Int32(1)", "b = Int32(1)", "c = Int32(1)", "d = Int32(1) AND e = Int32(1)"]);
    }
}
