//! `GROUP BY (a, b)`: the columns, one by one. DataFusion takes them for a struct, which no item of the SELECT list is.

use datafusion::sql::sqlparser::ast::{Expr, GroupByExpr};

/// `()` is the group of all rows.
pub fn spread_columns(group_by: &mut GroupByExpr) {
    let GroupByExpr::Expressions(items, _) = group_by else { return };
    if !items.iter().any(|item| matches!(item, Expr::Tuple(_))) {
        return;
    }
    for item in std::mem::take(items) {
        match item {
            Expr::Tuple(columns) => items.extend(columns),
            other => items.push(other),
        }
    }
    if items.is_empty() {
        items.push(Expr::GroupingSets(vec![Vec::new()]));
    }
}
