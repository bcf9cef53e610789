//! Relations that select, sort and combine rows and columns.

use datafusion::common::DFSchema;
use datafusion::logical_expr::{FetchType, Filter, Limit, LogicalPlan, Projection, SkipType, Sort, SortExpr, Union, Window};

use super::super::expr::field;
use super::super::writer::Writer;
use super::{project, rel};
use crate::proto::rel::RelType;
use crate::proto::sort_field::{SortDirection, SortKind};
use crate::proto::{Expression, FetchRel, FilterRel, Rel, SetRel, SortField, SortRel, fetch_rel, set_rel};
use crate::refusal::Refusal;
use crate::types::i64_literal;

impl Writer {
    pub(super) fn projection(&mut self, plan: &Projection) -> Result<Rel, Refusal> {
        let input = self.rel(&plan.input)?;
        let expressions = self.exprs(&plan.expr, plan.input.schema())?;
        Ok(project(input, columns(&plan.input), expressions))
    }

    /// The input's columns, followed by those of the windows.
    pub(super) fn windows(&mut self, plan: &Window) -> Result<Rel, Refusal> {
        let input = self.rel(&plan.input)?;
        let mut expressions: Vec<_> = (0..columns(&plan.input)).map(field).collect();
        expressions.extend(self.exprs(&plan.window_expr, plan.input.schema())?);
        Ok(project(input, columns(&plan.input), expressions))
    }

    pub(super) fn filter(&mut self, plan: &Filter) -> Result<Rel, Refusal> {
        let input = self.rel(&plan.input)?;
        let condition = self.expr(&plan.predicate, plan.input.schema())?;
        Ok(filter(input, condition))
    }

    pub(super) fn sort(&mut self, plan: &Sort) -> Result<Rel, Refusal> {
        let input = Some(Box::new(self.rel(&plan.input)?));
        let sorts = self.sort_fields(&plan.expr, plan.input.schema())?;
        let sorted = rel(RelType::Sort(Box::new(SortRel { input, sorts, ..SortRel::default() })));
        Ok(match plan.fetch {
            None => sorted,
            fetch => first(sorted, 0, fetch),
        })
    }

    pub(in crate::producer) fn sort_fields(&mut self, sorts: &[SortExpr], schema: &DFSchema) -> Result<Vec<SortField>, Refusal> {
        let fields = sorts.iter().map(|sort| {
            let direction = match (sort.asc, sort.nulls_first) {
                (true, true) => SortDirection::AscNullsFirst,
                (true, false) => SortDirection::AscNullsLast,
                (false, true) => SortDirection::DescNullsFirst,
                (false, false) => SortDirection::DescNullsLast,
            };
            let expr = Some(self.expr(&sort.expr, schema)?);
            Ok(SortField { expr, sort_kind: Some(SortKind::Direction(direction as i32)) })
        });
        fields.collect()
    }

    pub(super) fn limit(&mut self, plan: &Limit) -> Result<Rel, Refusal> {
        let (SkipType::Literal(skip), FetchType::Literal(count)) = (plan.get_skip_type()?, plan.get_fetch_type()?) else {
            let why = "engines disagree about when it is evaluated; write a number";
            return Err(Refusal::new("LIMIT or OFFSET with something else than a number", why));
        };
        let input = self.rel(&plan.input)?;
        Ok(first(input, skip, count))
    }

    /// INTERSECT and EXCEPT are joins by now, and UNION is this node with an aggregate above.
    pub(super) fn union(&mut self, plan: &Union) -> Result<Rel, Refusal> {
        let union_fields = plan.schema.fields();
        let is_same = |input: &LogicalPlan| {
            let input_fields = input.schema().fields();
            input_fields.len() == union_fields.len()
                && input_fields.iter().zip(union_fields).all(|(one, other)| one.data_type().equals_datatype(other.data_type()))
        };
        if !plan.inputs.iter().all(|input| is_same(input)) {
            return Err(Refusal::new("a UNION of queries with columns of different types", "their types are not settled yet"));
        }
        let mut inputs = plan.inputs.iter().map(|input| self.rel(input)).collect::<Result<Vec<_>, _>>()?;
        // Readers refuse a set operation with one input.
        if inputs.len() == 1 {
            return Ok(inputs.remove(0));
        }
        Ok(rel(RelType::Set(SetRel { inputs, op: set_rel::SetOp::UnionAll as i32, ..SetRel::default() })))
    }
}

pub(super) fn columns(plan: &LogicalPlan) -> usize {
    plan.schema().fields().len()
}

pub(super) fn filter(input: Rel, condition: Expression) -> Rel {
    let (input, condition) = (Some(Box::new(input)), Some(Box::new(condition)));
    rel(RelType::Filter(Box::new(FilterRel { input, condition, ..FilterRel::default() })))
}

/// The rows after `skip`, at most `count` of them.
pub(super) fn first(input: Rel, skip: usize, count: Option<usize>) -> Rel {
    let number = |number: usize| Box::new(i64_literal(i64::try_from(number).unwrap_or(i64::MAX)));
    rel(RelType::Fetch(Box::new(FetchRel {
        input: Some(Box::new(input)),
        offset_mode: (skip > 0).then(|| fetch_rel::OffsetMode::OffsetExpr(number(skip))),
        count_mode: count.map(|count| fetch_rel::CountMode::CountExpr(number(count))),
        ..FetchRel::default()
    })))
}
