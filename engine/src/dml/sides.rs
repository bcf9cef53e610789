//! Clauses of MERGE for rows that have one side only: unqualified names refer to that side.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Expr, Ident, MergeAction, MergeClause, MergeClauseKind, MergeInsertKind, Query, VisitorMut};

use super::assign::is_default;
use sql::walk::WalkMut;

/// If a clause is for rows of one side only, qualifies its names with that side.
pub fn name_side(clause: &mut MergeClause, (target, source): &(Option<Ident>, Option<Ident>)) {
    let side = match clause.clause_kind {
        MergeClauseKind::Matched => return,
        MergeClauseKind::NotMatchedBySource => target,
        MergeClauseKind::NotMatched | MergeClauseKind::NotMatchedByTarget => source,
    };
    let Some(side) = side else { return };
    let mut of_side = SideQualifier { side, queries: 0 };
    let _ = clause.predicate.walk_mut(&mut of_side);
    let _ = match &mut clause.action {
        MergeAction::Update(update) => {
            update.assignments.iter_mut().try_for_each(|assignment| named_in(&mut assignment.value, &mut of_side))
        }
        MergeAction::Insert(insert) => match &mut insert.kind {
            MergeInsertKind::Values(values) => {
                values.rows.iter_mut().flat_map(|row| &mut row.content).try_for_each(|value| named_in(value, &mut of_side))
            }
            MergeInsertKind::Row => ControlFlow::Continue(()),
        },
        MergeAction::Delete { .. } => ControlFlow::Continue(()),
    };
}

/// The keyword DEFAULT is not a name.
fn named_in(value: &mut Expr, of_side: &mut SideQualifier<'_>) -> ControlFlow<()> {
    if is_default(value) { ControlFlow::Continue(()) } else { value.walk_mut(of_side) }
}

/// Qualifies names with `side`, except for those in subqueries, which have their own tables.
struct SideQualifier<'a> {
    side: &'a Ident,
    queries: usize,
}

impl VisitorMut for SideQualifier<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.queries += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.queries -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Identifier(name) = expr
            && self.queries == 0
        {
            *expr = Expr::CompoundIdentifier(vec![self.side.clone(), name.clone()]);
        }
        ControlFlow::Continue(())
    }
}
