//! The columns of an element of FROM: those of its tables, and which of them its joins merge.

use datafusion::common::{Column, JoinConstraint, JoinType};
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::sqlparser::ast::{Expr, Ident, TableFactor, TableWithJoins};

#[derive(Debug, Clone)]
pub struct Columns {
    /// The columns of each table.
    pub whole: Vec<Column>,
    /// In the order of `*`: tables from left to right, and a merged column at its first occurrence.
    pub all: Vec<OutputColumn>,
    /// The columns of the first table, if that is a join in parentheses.
    pub first: Option<Box<Columns>>,
    /// In the order of the joins.
    pub joins: Vec<JoinedColumns>,
}

/// The columns that a join adds.
#[derive(Debug, Clone)]
pub struct JoinedColumns {
    /// The column pairs that it merges, the left side's column first.
    pub pairs: Vec<(Column, Column)>,
    /// The columns of its table, if that is a join in parentheses.
    pub inner: Option<Columns>,
}

#[derive(Debug, Clone)]
pub struct OutputColumn {
    pub column: Column,
    /// Whether it stands for a merged column.
    pub is_merged: bool,
}

impl Columns {
    /// Reads them from the plan of an element of FROM; `None` if the plan has another form.
    pub fn of(plan: &LogicalPlan, table: &TableWithJoins) -> Option<Columns> {
        let mut steps = Vec::with_capacity(table.joins.len());
        let mut node = plan;
        while steps.len() < table.joins.len() {
            let LogicalPlan::Join(join) = node else { return None };
            steps.push(join);
            node = join.left.as_ref();
        }
        let first = inner(node, &table.relation)?;
        let all = first.as_ref().map_or_else(|| output_columns(node), |first| first.all.clone());
        let mut columns =
            Columns { whole: plan.schema().columns(), all, first: first.map(Box::new), joins: Vec::with_capacity(steps.len()) };
        for (join, syntax) in steps.into_iter().rev().zip(&table.joins) {
            let mut pairs = Vec::new();
            if join.join_constraint == JoinConstraint::Using {
                for (left, right) in &join.on {
                    let (left, right) = (left.try_as_col()?.clone(), right.try_as_col()?.clone());
                    pairs.push(if join.left.schema().has_column(&left) { (left, right) } else { (right, left) });
                }
            }
            let inner = inner(&join.right, &syntax.relation)?;
            columns.join(join.join_type, inner.as_ref().map_or_else(|| output_columns(&join.right), |inner| inner.all.clone()), &pairs);
            columns.joins.push(JoinedColumns { pairs, inner });
        }
        Some(columns)
    }

    fn join(&mut self, kind: JoinType, right: Vec<OutputColumn>, pairs: &[(Column, Column)]) {
        match kind {
            JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => {}
            JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => self.all = right,
            JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full => {
                for shown in &mut self.all {
                    shown.is_merged |= pairs.iter().any(|(left, _)| *left == shown.column);
                }
                self.all.extend(right.into_iter().filter(|shown| !pairs.iter().any(|(_, right)| *right == shown.column)));
            }
        }
    }

    /// Whether DataFusion shows the right column of each merged pair: it keeps the one that sorts first.
    pub fn is_shown_right(&self) -> bool {
        let is_right = |join: &JoinedColumns| {
            join.pairs.iter().all(|(left, right)| left < right) && join.inner.as_ref().is_none_or(Columns::is_shown_right)
        };
        self.first.as_ref().is_none_or(|first| first.is_shown_right()) && self.joins.iter().all(is_right)
    }
}

/// The inner `None` means that the table is not a join in parentheses, the outer one that its plan has another form.
fn inner(plan: &LogicalPlan, table: &TableFactor) -> Option<Option<Columns>> {
    match table {
        TableFactor::NestedJoin { table_with_joins, alias: None } => Columns::of(plan, table_with_joins).map(Some),
        _ => Some(None),
    }
}

fn output_columns(plan: &LogicalPlan) -> Vec<OutputColumn> {
    plan.schema().columns().into_iter().map(|column| OutputColumn { column, is_merged: false }).collect()
}

impl OutputColumn {
    pub fn expr(&self, by_name: bool) -> Expr {
        if self.is_merged && by_name { Expr::Identifier(ident(&self.column.name)) } else { expr_of(&self.column) }
    }
}

/// A reference to the column of its table.
pub fn expr_of(column: &Column) -> Expr {
    let table = column.relation.as_ref().map(|table| table.to_vec()).unwrap_or_default();
    match table.is_empty() {
        true => Expr::Identifier(ident(&column.name)),
        false => Expr::CompoundIdentifier(table.iter().chain([&column.name]).map(|part| ident(part)).collect()),
    }
}

pub fn ident(name: &str) -> Ident {
    Ident::with_quote('"', name)
}
