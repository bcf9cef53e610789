//! `x IN (1, CASE WHEN n > 3 THEN 4 ELSE 5 END)`, where an element depends on the row.
//!
//! DataFusion evaluates the elements on an empty batch, and takes an element that yields a scalar then for a constant (in_list.rs of
//! datafusion-physical-expr). A CASE whose branches are constants yields its ELSE. So such elements are compared one by one.

use datafusion::common::tree_node::Transformed;
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::utils::disjunction;
use datafusion::logical_expr::{Expr, in_list};

pub fn compared_one_by_one(expr: Expr) -> Transformed<Expr> {
    match expr {
        Expr::InList(list) if list.list.iter().any(is_computed) && !list.expr.is_volatile() => {
            let InList { expr, list, negated } = list;
            let (computed, constants): (Vec<Expr>, Vec<Expr>) = list.into_iter().partition(is_computed);
            let mut terms: Vec<Expr> = computed.into_iter().map(|element| expr.as_ref().clone().eq(element)).collect();
            if !constants.is_empty() {
                terms.insert(0, in_list(*expr, constants, false));
            }
            let found = disjunction(terms).unwrap_or_default();
            Transformed::yes(if negated { !found } else { found })
        }
        expr => Transformed::no(expr),
    }
}

fn is_computed(element: &Expr) -> bool {
    !matches!(element, Expr::Column(_)) && !element.column_refs().is_empty()
}
