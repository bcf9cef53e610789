//! The columns of an element of FROM: those of its tables, and which of them its joins make one.

use datafusion::common::{Column, JoinConstraint, JoinType};
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::sqlparser::ast::{Expr, Ident, TableFactor, TableWithJoins};

#[derive(Debug, Clone)]
pub struct Columns {
    /// Those of each table.
    pub whole: Vec<Column>,
    /// In the order of `*`: the tables from left to right, what is made one where it is in the first of them.
    pub all: Vec<OutputColumn>,
    /// Of the first table, where that is joins in parentheses.
    pub first: Option<Box<Columns>>,
    /// The first join first.
    pub joins: Vec<JoinedColumns>,
}

/// What a join adds.
#[derive(Debug, Clone)]
pub struct JoinedColumns {
    /// What it makes one. Of each pair the left side's column is the first.
    pub pairs: Vec<(Column, Column)>,
    /// Of its table, where that is joins in parentheses.
    pub inner: Option<Columns>,
}

#[derive(Debug, Clone)]
pub struct OutputColumn {
    pub column: Column,
    /// It stands for columns of both sides of a join.
    pub is_merged: bool,
}

impl Columns {
    /// Of the plan of an element of FROM; None where it is another one.
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
        for (join, said) in steps.into_iter().rev().zip(&table.joins) {
            let mut pairs = Vec::new();
            if join.join_constraint == JoinConstraint::Using {
                for (left, right) in &join.on {
                    let (left, right) = (left.try_as_col()?.clone(), right.try_as_col()?.clone());
                    pairs.push(if join.left.schema().has_column(&left) { (left, right) } else { (right, left) });
                }
            }
            let inner = inner(&join.right, &said.relation)?;
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

    /// Whether DataFusion shows what is made one as it is meant: it keeps the column that sorts first.
    pub fn is_shown_right(&self) -> bool {
        let is_right = |join: &JoinedColumns| {
            join.pairs.iter().all(|(left, right)| left < right) && join.inner.as_ref().is_none_or(Columns::is_shown_right)
        };
        self.first.as_ref().is_none_or(|first| first.is_shown_right()) && self.joins.iter().all(is_right)
    }
}

/// The inner None where a table is no joins in parentheses, the outer one where its plan is another one.
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

/// The column of its table.
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
