//! `GROUP BY (a, b)` means the separate columns; DataFusion makes a struct of them, which matches no item of the SELECT list.
//! `ROLLUP ((a, b), c)` and `CUBE (a, a)` are expanded to their sets; DataFusion accepts only distinct columns there.

use datafusion::sql::sqlparser::ast::{Expr, GroupByExpr};

/// DataFusion refuses a CUBE of more parts.
const MAX_CUBE_PARTS: usize = 12;

/// `()` is the group of all rows.
pub fn spread_columns(group_by: &mut GroupByExpr) {
    let GroupByExpr::Expressions(items, _) = group_by else { return };
    if items.is_empty() {
        return;
    }
    for item in std::mem::take(items) {
        match item {
            Expr::Tuple(columns) => items.extend(columns),
            Expr::Rollup(parts) if !is_of_columns(&parts) => {
                let sets = (0..=parts.len()).rev().map(|count| columns_of(parts.iter().take(count)));
                items.push(Expr::GroupingSets(sets.collect()));
            }
            Expr::Cube(parts) if !is_of_columns(&parts) && parts.len() <= MAX_CUBE_PARTS => {
                let is_in = |set: usize, number: usize| set & (1 << number) == 0;
                let parts_of = |set| parts.iter().enumerate().filter(move |(number, _)| is_in(set, *number)).map(|(_, part)| part);
                items.push(Expr::GroupingSets((0..1 << parts.len()).map(|set| columns_of(parts_of(set))).collect()));
            }
            other => items.push(other),
        }
    }
    if items.is_empty() {
        items.push(Expr::GroupingSets(vec![Vec::new()]));
    }
}

fn is_of_columns(parts: &[Vec<Expr>]) -> bool {
    parts.iter().enumerate().all(|(number, part)| part.len() == 1 && !parts[..number].contains(part))
}

fn columns_of<'a>(parts: impl Iterator<Item = &'a Vec<Expr>>) -> Vec<Expr> {
    let mut columns: Vec<Expr> = Vec::new();
    for column in parts.flatten() {
        if !columns.contains(column) {
            columns.push(column.clone());
        }
    }
    columns
}
