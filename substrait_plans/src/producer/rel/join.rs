//! Joins, including those that DataFusion makes of EXISTS, IN and NOT IN.

use arrow::datatypes::DataType;
use datafusion::common::{DFSchema, NullEquality};
use datafusion::logical_expr::{Expr, ExprSchemable, Join, JoinType};

use super::super::expr::{field, in_predicate};
use super::super::functions::standard::COMPARISON;
use super::super::registry::Function;
use super::super::writer::Writer;
use super::shape::{columns, filter};
use super::{project, rel};
use crate::proto::rel::RelType;
use crate::proto::{CrossRel, Expression, JoinRel, Rel, join_rel};
use crate::refusal::Refusal;

impl Writer {
    /// USING and NATURAL have become ON by now: a projection above merges their columns.
    pub(super) fn join(&mut self, plan: &Join) -> Result<Rel, Refusal> {
        if plan.null_aware && keys_may_be_null(plan) {
            return self.not_in(plan);
        }
        let left = Some(Box::new(self.rel(&plan.left)?));
        let right = Some(Box::new(self.rel(&plan.right)?));
        let mut conditions = self.key_conditions(plan)?;
        if let Some(filter) = &plan.filter {
            let both = plan.left.schema().join(plan.right.schema())?;
            conditions.push(self.expr(filter, &both)?);
        }
        if conditions.is_empty() && plan.join_type == JoinType::Inner {
            return Ok(rel(RelType::Cross(Box::new(CrossRel { left, right, ..CrossRel::default() }))));
        }
        let expression = match self.all_of(conditions)? {
            Some(condition) => condition,
            None => self.literal(&true.into())?,
        };
        let joined = rel(RelType::Join(Box::new(JoinRel {
            left,
            right,
            expression: Some(Box::new(expression)),
            r#type: join_type(plan.join_type) as i32,
            ..JoinRel::default()
        })));
        match plan.join_type {
            JoinType::LeftMark | JoinType::RightMark => self.two_valued(joined, plan.schema.fields().len()),
            _ => Ok(joined),
        }
    }

    /// Each key is written in the schema of its own side, because both may have columns of the same names.
    fn key_conditions(&mut self, plan: &Join) -> Result<Vec<Expression>, Refusal> {
        let name = match plan.null_equality {
            NullEquality::NullEqualsNothing => "equal",
            NullEquality::NullEqualsNull => "is_not_distinct_from",
        };
        let before = self.columns_before;
        let conditions = plan.on.iter().map(|(left, right)| {
            let arguments = vec![self.expr(left, plan.left.schema())?, {
                self.columns_before = before + columns(&plan.left);
                let written = self.expr(right, plan.right.schema());
                self.columns_before = before;
                written?
            }];
            let may_be_null = plan.null_equality == NullEquality::NullEqualsNothing
                && (is_nullable(left, plan.left.schema()) || is_nullable(right, plan.right.schema()));
            let function = Function::new(COMPARISON, name, &["any", "any"]);
            self.call(&function, arguments, &DataType::Boolean, may_be_null)
        });
        conditions.collect()
    }

    /// The standard's mark is NULL if no row matches and one may match; DataFusion's is false then.
    fn two_valued(&mut self, joined: Rel, columns: usize) -> Result<Rel, Refusal> {
        let mut expressions: Vec<_> = (0..columns).map(field).collect();
        if let Some(mark) = expressions.pop() {
            let is_true = Function::new(COMPARISON, "is_true", &["bool"]);
            expressions.push(self.call(&is_true, vec![mark], &DataType::Boolean, false)?);
        }
        Ok(project(joined, columns, expressions))
    }

    /// NOT IN of a subquery, which is NULL, and so not true, if either side has a NULL. No join of the standard expresses that, so it is
    /// written as an IN predicate.
    fn not_in(&mut self, plan: &Join) -> Result<Rel, Refusal> {
        let ([(needle, key)], None, JoinType::LeftAnti) = (plan.on.as_slice(), &plan.filter, plan.join_type) else {
            let why = "its NULLs have no form in a join; write NOT EXISTS, or leave NULLs out with IS NOT NULL";
            return Err(Refusal::new("NOT IN of a subquery that looks at the query around it", why));
        };
        let input = self.rel(&plan.left)?;
        let needle = self.expr(needle, plan.left.schema())?;
        let right = self.rel(&plan.right)?;
        let key = self.expr(key, plan.right.schema())?;
        let haystack = project(right, columns(&plan.right), vec![key]);
        let condition = self.not(in_predicate(needle, haystack), true)?;
        Ok(filter(input, condition))
    }
}

fn keys_may_be_null(plan: &Join) -> bool {
    let nullable = |(left, right): &(Expr, Expr)| is_nullable(left, plan.left.schema()) || is_nullable(right, plan.right.schema());
    plan.on.is_empty() || plan.on.iter().any(nullable)
}

fn is_nullable(expr: &Expr, schema: &DFSchema) -> bool {
    expr.nullable(schema).unwrap_or(true)
}

fn join_type(join_type: JoinType) -> join_rel::JoinType {
    match join_type {
        JoinType::Inner => join_rel::JoinType::Inner,
        JoinType::Left => join_rel::JoinType::Left,
        JoinType::Right => join_rel::JoinType::Right,
        JoinType::Full => join_rel::JoinType::Outer,
        JoinType::LeftSemi => join_rel::JoinType::LeftSemi,
        JoinType::RightSemi => join_rel::JoinType::RightSemi,
        JoinType::LeftAnti => join_rel::JoinType::LeftAnti,
        JoinType::RightAnti => join_rel::JoinType::RightAnti,
        JoinType::LeftMark => join_rel::JoinType::LeftMark,
        JoinType::RightMark => join_rel::JoinType::RightMark,
    }
}
