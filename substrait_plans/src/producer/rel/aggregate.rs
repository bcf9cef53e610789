//! Aggregates. DataFusion's grouping id column is computed from the number of the grouping set, which is the last column of the standard's
//! relation.

use arrow::datatypes::DataType;
use datafusion::logical_expr::{Aggregate, Expr, LogicalPlan};
use datafusion::scalar::ScalarValue;

use super::super::expr::field;
use super::super::functions::standard::COMPARISON;
use super::super::registry::Function;
use super::super::writer::Writer;
use super::groupings::GroupingSets;
use super::shape::columns;
use super::{project, rel};
use crate::proto::aggregate_rel::{Grouping, Measure};
use crate::proto::expression::if_then::IfClause;
use crate::proto::expression::{IfThen, RexType};
use crate::proto::rel::RelType;
use crate::proto::{AggregateRel, Expression, Rel};
use crate::refusal::Refusal;

impl Writer {
    pub(super) fn aggregate(&mut self, plan: &Aggregate) -> Result<Rel, Refusal> {
        let input = self.rel(&plan.input)?;
        let schema = plan.input.schema();
        let measures = plan.aggr_expr.iter().map(|expr| self.measure(expr, schema)).collect::<Result<Vec<_>, _>>()?;
        let [Expr::GroupingSet(sets)] = plan.group_expr.as_slice() else {
            let keys = self.exprs(&plan.group_expr, schema)?;
            return Ok(aggregate(input, keys, None, measures));
        };
        let sets = GroupingSets::of(sets)?;
        let keys = sets.keys.iter().map(|key| self.expr(key, schema)).collect::<Result<Vec<_>, _>>()?;
        let id_type = plan.schema.field(sets.keys.len()).data_type();
        let (groups, values) = (sets.keys.len(), measures.len());
        let has_number = sets.members.len() > 1;
        let id = self.grouping_id(&sets, id_type, groups + values)?;
        let aggregated = aggregate(input, keys, Some(&sets.members), measures);
        let mut expressions: Vec<_> = (0..groups).map(field).collect();
        expressions.push(id);
        expressions.extend((groups..groups + values).map(field));
        Ok(project(aggregated, groups + values + usize::from(has_number), expressions))
    }

    /// DataFusion's id of the grouping set whose number is in the column `number_at`.
    fn grouping_id(&mut self, sets: &GroupingSets<'_>, id_type: &DataType, number_at: usize) -> Result<Expression, Refusal> {
        let ids = sets.ids().into_iter().map(|id| self.literal(&ScalarValue::UInt64(Some(id)).cast_to(id_type)?));
        let mut ids = ids.collect::<Result<Vec<_>, Refusal>>()?;
        let last = ids.pop().ok_or_else(|| Refusal::new("GROUPING SETS without a set", "there is nothing to group by"))?;
        if ids.is_empty() {
            return Ok(last);
        }
        let ifs = ids.into_iter().enumerate().map(|(number, id)| {
            let number = self.literal(&ScalarValue::Int32(Some(super::position(number))))?;
            let equal = Function::new(COMPARISON, "equal", &["any", "any"]);
            let is_it = self.call(&equal, vec![field(number_at), number], &DataType::Boolean, false)?;
            Ok(IfClause { r#if: Some(is_it), then: Some(id) })
        });
        let choice = IfThen { ifs: ifs.collect::<Result<_, Refusal>>()?, r#else: Some(Box::new(last)) };
        Ok(Expression { rex_type: Some(RexType::IfThen(Box::new(choice))) })
    }

    /// SELECT DISTINCT that has not been rewritten to an aggregate.
    pub(super) fn distinct(&mut self, input: &LogicalPlan) -> Result<Rel, Refusal> {
        let keys = (0..columns(input)).map(field).collect();
        Ok(aggregate(self.rel(input)?, keys, None, Vec::new()))
    }
}

/// Without sets it groups by all keys; without keys all rows are one group.
fn aggregate(input: Rel, keys: Vec<Expression>, sets: Option<&[Vec<usize>]>, measures: Vec<Measure>) -> Rel {
    let grouping = |members: &mut dyn Iterator<Item = usize>| {
        let expression_references = members.filter_map(|member| u32::try_from(member).ok()).collect();
        Grouping { expression_references, ..Grouping::default() }
    };
    let groupings = match sets {
        Some(sets) => sets.iter().map(|members| grouping(&mut members.iter().copied())).collect(),
        None if keys.is_empty() => Vec::new(),
        None => vec![grouping(&mut (0..keys.len()))],
    };
    rel(RelType::Aggregate(Box::new(AggregateRel {
        input: Some(Box::new(input)),
        grouping_expressions: keys,
        groupings,
        measures,
        ..AggregateRel::default()
    })))
}
