//! Marks elements of FROM, to find their plans while DataFusion plans the statement.

use std::collections::HashMap;
use std::ops::ControlFlow;

use datafusion::common::Result;
use datafusion::logical_expr::planner::{PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning};
use datafusion::sql::sqlparser::ast::{
    BinaryOperator, Expr, Ident, Join, JoinConstraint, Query, Select, TableAlias, TableFactor, TableWithJoins, Value, Visitor,
};
use parking_lot::Mutex;

use super::columns::Columns;
use super::merged::constraint_mut;
use super::rewrite_needed::needs_rewrite;
use sql::walk::Walk;

const MARK: &str = "quiver from ";

/// An element of the FROM of a SELECT, by their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FromElements {
    pub select: usize,
    pub table: usize,
}

/// Marks the elements of a SELECT that DataFusion might interpret differently; returns whether there are any.
pub fn mark(number: usize, select: &mut Select) -> bool {
    let is_marked = !select.from.is_empty() && needs_rewrite(select);
    if is_marked {
        for (table, from) in select.from.iter_mut().enumerate() {
            let mut inner = TableWithJoins { relation: from.relation.clone(), joins: std::mem::take(&mut from.joins) };
            inner.joins.iter_mut().for_each(leave_condition_out);
            let name = Ident::with_quote('"', format!("{MARK}{number} {table}"));
            let alias = Some(TableAlias { explicit: true, name, columns: Vec::new(), at: None });
            from.relation = TableFactor::NestedJoin { table_with_joins: Box::new(inner), alias };
        }
    }
    is_marked
}

/// A condition does not change the columns, and may reference one that is not known yet. Its subqueries may contain such joins
/// themselves.
fn leave_condition_out(join: &mut Join) {
    let Some(JoinConstraint::On(condition)) = constraint_mut(&mut join.join_operator) else { return };
    let mut outer = OuterQueries::default();
    let _ = condition.walk(&mut outer);
    let subqueries = outer.queries.into_iter().map(|subquery| Expr::Exists { subquery: Box::new(subquery), negated: false });
    let both = |left, right| Expr::BinaryOp { left: Box::new(left), op: BinaryOperator::And, right: Box::new(right) };
    *condition = subqueries.reduce(both).unwrap_or_else(|| Expr::value(Value::Boolean(true)));
}

/// The subqueries of an expression, without nested ones.
#[derive(Default)]
struct OuterQueries {
    queries: Vec<Query>,
    depth: usize,
}

impl Visitor for OuterQueries {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        if self.depth == 0 {
            self.queries.push(query.clone());
        }
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }
}

fn place_of(alias: &TableAlias) -> Option<FromElements> {
    let (select, table) = alias.name.value.strip_prefix(MARK)?.split_once(' ')?;
    Some(FromElements { select: select.parse().ok()?, table: table.parse().ok()? })
}

/// Collects the plans of marked elements.
#[derive(Debug, Default)]
pub struct PlanRecorder(Mutex<HashMap<FromElements, Columns>>);

impl PlanRecorder {
    pub fn take(&self) -> HashMap<FromElements, Columns> {
        std::mem::take(&mut self.0.lock())
    }
}

impl RelationPlanner for PlanRecorder {
    fn plan_relation(&self, relation: TableFactor, context: &mut dyn RelationPlannerContext) -> Result<RelationPlanning> {
        let TableFactor::NestedJoin { table_with_joins, alias: Some(alias) } = relation else {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        };
        let Some(place) = place_of(&alias) else {
            return Ok(RelationPlanning::Original(Box::new(TableFactor::NestedJoin { table_with_joins, alias: Some(alias) })));
        };
        let plan = context.plan(TableFactor::NestedJoin { table_with_joins: table_with_joins.clone(), alias: None })?;
        if let Some(columns) = Columns::of(&plan, &table_with_joins) {
            self.0.lock().insert(place, columns);
        }
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, None))))
    }
}
