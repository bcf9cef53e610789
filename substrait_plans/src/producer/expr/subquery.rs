//! Subqueries in expressions. Correlated ones have become joins by now, or are refused at the outer column.

use datafusion::common::DFSchema;
use datafusion::logical_expr::Subquery;
use datafusion::logical_expr::expr::{Exists, InSubquery};

use super::super::writer::Writer;
use super::rex;
use crate::proto::expression::subquery::set_predicate::PredicateOp;
use crate::proto::expression::subquery::{InPredicate, Scalar, SetPredicate, SubqueryType};
use crate::proto::expression::{RexType, Subquery as Written};
use crate::proto::{Expression, Rel};
use crate::refusal::Refusal;

impl Writer {
    pub(super) fn scalar_subquery(&mut self, subquery: &Subquery) -> Result<Expression, Refusal> {
        let input = Some(Box::new(self.inner(subquery)?));
        Ok(written(SubqueryType::Scalar(Box::new(Scalar { input }))))
    }

    pub(super) fn in_subquery(&mut self, predicate: &InSubquery, schema: &DFSchema) -> Result<Expression, Refusal> {
        let needle = self.expr(&predicate.expr, schema)?;
        let is_in = in_predicate(needle, self.inner(&predicate.subquery)?);
        match predicate.negated {
            true => self.not(is_in, true),
            false => Ok(is_in),
        }
    }

    pub(super) fn exists(&mut self, exists: &Exists) -> Result<Expression, Refusal> {
        let tuples = Some(Box::new(self.inner(&exists.subquery)?));
        let predicate = SetPredicate { predicate_op: PredicateOp::Exists as i32, tuples };
        let are_there = written(SubqueryType::SetPredicate(Box::new(predicate)));
        match exists.negated {
            true => self.not(are_there, false),
            false => Ok(are_there),
        }
    }

    /// It sees only its own columns, even in the condition of a join.
    fn inner(&mut self, subquery: &Subquery) -> Result<Rel, Refusal> {
        let before = std::mem::take(&mut self.columns_before);
        let rel = self.rel(&subquery.subquery);
        self.columns_before = before;
        rel
    }
}

/// `needle IN (haystack)`; `haystack` has one column.
pub(in crate::producer) fn in_predicate(needle: Expression, haystack: Rel) -> Expression {
    written(SubqueryType::InPredicate(Box::new(InPredicate { needles: vec![needle], haystack: Some(Box::new(haystack)) })))
}

fn written(subquery_type: SubqueryType) -> Expression {
    rex(RexType::Subquery(Box::new(Written { subquery_type: Some(subquery_type) })))
}
