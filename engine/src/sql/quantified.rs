//! `x > ALL (SELECT y …)` and `= ANY`: gives the subquery's column a name no other can have.
//!
//! DataFusion turns both into a filter over both sides and then finds the outer column of the same
//! name (test `quantified comparisons`, sqllogictests/slt/subqueries.slt).

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Expr, Ident, Query, SelectItem, SetExpr, Visit, Visitor};

use super::fragments::query_of;
use super::headers::text;

const COLUMN: &str = "quantified_value";
const TABLE: &str = "quantified_rows";

/// Changes the expression in place, if it is such a comparison.
pub fn name_quantified(expr: &mut Expr) {
    if let Expr::AnyOp { right, .. } | Expr::AllOp { right, .. } = expr
        && let Expr::Subquery(query) = right.as_mut()
        && let Some(named) = named(query)
    {
        **query = named;
    }
}

/// In a SELECT list it needs a name: DataFusion changes the one it would have while it plans.
pub fn name_quantified_item(item: &mut SelectItem) {
    if let SelectItem::UnnamedExpr(expr) = item
        && expr.visit(&mut IsQuantified).is_break()
    {
        let alias = Ident::with_quote('"', text(expr));
        *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
    }
}

struct IsQuantified;

impl Visitor for IsQuantified {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::AnyOp { right, .. } | Expr::AllOp { right, .. } if matches!(right.as_ref(), Expr::Subquery(_)) => {
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

/// The query with its column renamed; None if it cannot be written so, and stays as it is.
fn named(query: &Query) -> Option<Query> {
    let sql = format!("SELECT {TABLE}.{COLUMN} FROM ({query}) AS {TABLE}({COLUMN})");
    query_of(&sql).ok().filter(|query| matches!(query.body.as_ref(), SetExpr::Select(_)))
}
