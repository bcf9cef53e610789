//! `t SEMI JOIN u` and `t ANTI JOIN u` keep rows of `t`, as `LEFT SEMI JOIN` and `LEFT ANTI JOIN` do.

use std::ops::ControlFlow;

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{JoinOperator, Select, TableFactor, TableWithJoins, VisitorMut};

use crate::walk::walk_statement_mut;

/// Changes the statement in place.
pub fn keep_left(statement: &mut Statement) {
    let _: ControlFlow<()> = walk_statement_mut(statement, &mut SemiJoins);
}

struct SemiJoins;

impl VisitorMut for SemiJoins {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        select.from.iter_mut().for_each(left_joins);
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::NestedJoin { table_with_joins, .. } = factor {
            left_joins(table_with_joins);
        }
        ControlFlow::Continue(())
    }
}

fn left_joins(from: &mut TableWithJoins) {
    for join in &mut from.joins {
        join.join_operator = match std::mem::replace(&mut join.join_operator, JoinOperator::CrossApply) {
            JoinOperator::Semi(constraint) => JoinOperator::LeftSemi(constraint),
            JoinOperator::Anti(constraint) => JoinOperator::LeftAnti(constraint),
            other => other,
        };
    }
}
