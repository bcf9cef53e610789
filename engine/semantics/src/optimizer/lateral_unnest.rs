//! UNNEST in FROM of a list in the row to its left: `FROM t, unnest(t.l) AS u(x)`, and `FROM t LEFT JOIN unnest(t.l) AS u(x) ON true`.
//!
//! DataFusion plans it as a join with a subquery that looks at that row, and moves nothing but conditions out of such a subquery. This
//! subquery makes all its rows of one row without columns. So it reads the rows to the left in place of that row, and no join remains.

use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion::common::{Column, JoinType, NullHandling, Result};
use datafusion::logical_expr::logical_plan::{Filter, Join, Projection, SubqueryAlias, Unnest};
use datafusion::logical_expr::{Expr, LogicalPlan, lit};

use super::values_subqueries::has_subquery;
use crate::functions::map_under_names;

pub fn lateral_unnest(plan: LogicalPlan) -> Result<LogicalPlan> {
    plan.transform_up_with_subqueries(|part| match part {
        LogicalPlan::Join(join) => Ok(match of_left_rows(&join)? {
            Some(plan) => Transformed::yes(plan),
            None => Transformed::no(LogicalPlan::Join(join)),
        }),
        part => Ok(Transformed::no(part)),
    })
    .data()
}

/// The join as a plan of the rows to its left; `None` for other joins.
pub fn of_left_rows(join: &Join) -> Result<Option<LogicalPlan>> {
    let right = match join.right.as_ref() {
        LogicalPlan::SubqueryAlias(SubqueryAlias { input, .. }) => input.as_ref(),
        right => right,
    };
    let LogicalPlan::Subquery(lateral) = right else { return Ok(None) };
    let is_left = join.join_type == JoinType::Left;
    // A row whose elements all fail the condition of a LEFT JOIN would be lost.
    let is_possible = match join.join_type {
        JoinType::Inner => true,
        JoinType::Left => join.filter.as_ref().is_none_or(|filter| *filter == lit(true)),
        _ => false,
    };
    if !is_possible || !join.on.is_empty() {
        return Ok(None);
    }
    let names = (0..join.left.schema().fields().len()).map(|number| Column::new_unqualified(format!("__left_{number}")));
    let rows = LeftRows { input: &join.left, names: names.collect(), keeps_all: is_left };
    let Some(plan) = rows.in_place_of_one(&lateral.subquery)? else { return Ok(None) };
    let columns = plan.schema().iter().map(Expr::from).zip(join.schema.iter());
    let columns = columns.map(|(column, (qualifier, field))| column.alias_qualified(qualifier.cloned(), field.name())).collect();
    let plan = LogicalPlan::Projection(Projection::try_new(columns, Arc::new(plan))?);
    match &join.filter {
        Some(filter) if !is_left => Ok(Some(LogicalPlan::Filter(Filter::try_new(filter.clone(), Arc::new(plan))?))),
        _ => Ok(Some(plan)),
    }
}

struct LeftRows<'a> {
    input: &'a Arc<LogicalPlan>,
    /// Names of their columns that no column of the subquery has.
    names: Vec<Column>,
    /// A row without elements stays, with NULL in place of one.
    keeps_all: bool,
}

impl LeftRows<'_> {
    /// The plan of these rows in place of its one row, with their columns before its own; `None` if it reads anything else.
    fn in_place_of_one(&self, plan: &LogicalPlan) -> Result<Option<LogicalPlan>> {
        match plan {
            LogicalPlan::EmptyRelation(one) if one.produce_one_row => {
                let columns = self.input.schema().columns().into_iter().zip(&self.names);
                let columns = columns.map(|(column, name)| Expr::Column(column).alias(name.name.as_str())).collect();
                Ok(Some(LogicalPlan::Projection(Projection::try_new(columns, Arc::clone(self.input))?)))
            }
            LogicalPlan::Projection(projection) if self.may_compute(projection) => {
                let Some(input) = self.in_place_of_one(&projection.input)? else { return Ok(None) };
                let of_rows = map_under_names(plan.clone(), |expr| expr.transform_up(|part| Ok(self.of_row(part))))?.data;
                let own = of_rows.expressions().into_iter();
                let columns = self.names.iter().cloned().map(Expr::Column).chain(own).collect();
                Ok(Some(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(input))?)))
            }
            LogicalPlan::Unnest(unnest) if !self.keeps_all || is_of_plain_lists(unnest) => {
                let Some(input) = self.in_place_of_one(&unnest.input)? else { return Ok(None) };
                let options = match self.keeps_all {
                    true => unnest.options.clone().with_null_handling(NullHandling::PreserveAndExpandEmpty),
                    false => unnest.options.clone(),
                };
                Ok(Some(LogicalPlan::Unnest(Unnest::try_new(Arc::new(input), unnest.exec_columns.clone(), options)?)))
            }
            _ => Ok(None),
        }
    }

    /// Subqueries would refer to columns that have other names now. Above UNNEST, a value would not be NULL in a row without elements.
    fn may_compute(&self, projection: &Projection) -> bool {
        let is_column = |expr: &Expr| matches!(expr.clone().unalias_nested().data, Expr::Column(_));
        let is_below = matches!(projection.input.as_ref(), LogicalPlan::EmptyRelation(_));
        projection.expr.iter().all(|expr| !has_subquery(expr) && (!self.keeps_all || is_below || is_column(expr)))
    }

    fn of_row(&self, part: Expr) -> Transformed<Expr> {
        let index = match &part {
            Expr::OuterReferenceColumn(_, column) => self.input.schema().maybe_index_of_column(column),
            _ => None,
        };
        match index {
            Some(index) => Transformed::yes(Expr::Column(self.names[index].clone())),
            None => Transformed::no(part),
        }
    }
}

/// Whether one NULL stands for all rows that would be made.
fn is_of_plain_lists(unnest: &Unnest) -> bool {
    let has_only_lists = match unnest.input.as_ref() {
        LogicalPlan::Projection(Projection { expr, input, .. }) => {
            matches!(input.as_ref(), LogicalPlan::EmptyRelation(_)) && expr.len() == unnest.exec_columns.len()
        }
        _ => false,
    };
    has_only_lists && unnest.struct_type_columns.is_empty() && unnest.list_type_columns.iter().all(|(_, list)| list.depth == 1)
}
