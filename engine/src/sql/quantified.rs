//! `x > ALL (SELECT y …)` and `= ANY`: gives the subquery's column a name no other can have.
//!
//! DataFusion turns both into a filter over both sides and then finds the outer column of the same
//! name (test `quantified comparisons`, sqllogictests/slt/subqueries.slt).

use std::ops::ControlFlow;

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{Expr, Query, SetExpr, Statement as SqlStatement, VisitMut, VisitorMut};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::parser::Parser;

const COLUMN: &str = "quantified_value";
const TABLE: &str = "quantified_rows";

/// Changes the statement in place.
pub fn name_quantified(statement: &mut Statement) {
    if let Statement::Statement(statement) = statement {
        let _ = statement.visit(&mut Quantified);
    }
}

struct Quantified;

impl VisitorMut for Quantified {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::AnyOp { right, .. } | Expr::AllOp { right, .. } = expr
            && let Expr::Subquery(query) = right.as_mut()
            && let Some(named) = named(query)
        {
            **query = named;
        }
        ControlFlow::Continue(())
    }
}

/// The query with its column renamed; None if it cannot be written so, and stays as it is.
fn named(query: &Query) -> Option<Query> {
    let sql = format!("SELECT {TABLE}.{COLUMN} FROM ({query}) AS {TABLE}({COLUMN})");
    match Parser::parse_sql(&GenericDialect {}, &sql).ok()?.pop()? {
        SqlStatement::Query(query) if matches!(query.body.as_ref(), SetExpr::Select(_)) => Some(*query),
        _ => None,
    }
}
