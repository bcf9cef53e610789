//! Rewrites NATURAL joins as USING, and resolves references to merged columns in clauses.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use datafusion::common::Column;
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, Join, JoinConstraint, JoinOperator, ObjectName, OrderBy, Query, Select, SelectItem, TableFactor, TableWithJoins, Value,
    VisitorMut,
};

use super::columns::{Columns, expr_of, ident};
use super::rewrite_needed::options_of;
use sql::merged_columns::is_merging;
use sql::merged_names::normalized;
use sql::walk::WalkMut;

/// `columns` are those of each element of FROM.
pub fn expand_merged_columns(select: &mut Select, order_by: Option<&mut OrderBy>, columns: &[Columns]) {
    for (table, columns) in select.from.iter_mut().zip(columns) {
        name_naturals(table, columns);
    }
    // If the value may come from the right side's column, `merged_columns` decides.
    if has_merging(select) {
        return;
    }
    for place in 0..select.from.len() {
        name_in_conditions(&mut select.from[place], &columns[place]);
    }
    let mut values = HashMap::new();
    for (place, table) in columns.iter().enumerate() {
        let is_elsewhere = |name: &str| columns.iter().enumerate().any(|(other, columns)| other != place && has(columns, name));
        values.extend(values_of(table).filter(|(name, _)| !is_elsewhere(name)));
    }
    if !values.is_empty() {
        name_in_clauses(select, order_by, values);
    }
}

/// Whether a join keeps unmatched rows of its right side.
pub fn has_merging(select: &Select) -> bool {
    select.from.iter().flat_map(|table| &table.joins).any(|join| is_merging(&join.join_operator))
}

/// DataFusion would look up a name that two tables have in the outer queries.
fn name_in_clauses(select: &mut Select, order_by: Option<&mut OrderBy>, values: HashMap<String, Expr>) {
    let outputs: HashSet<String> = select.projection.iter().filter_map(output).collect();
    let has_wildcard = select.projection.iter().any(|item| options_of(item).is_some());
    let mut naming = Naming { values, depth: 0 };
    let _ = select.projection.walk_mut(&mut naming);
    let _ = select.distinct.walk_mut(&mut naming);
    let _ = select.selection.walk_mut(&mut naming);
    let _ = select.group_by.walk_mut(&mut naming);
    let _ = select.having.walk_mut(&mut naming);
    let _ = select.qualify.walk_mut(&mut naming);
    if let Some(order_by) = order_by
        && !has_wildcard
    {
        naming.values.retain(|name, _| !outputs.contains(name));
        let _ = order_by.walk_mut(&mut naming);
    }
}

/// The output name of an item of the SELECT list.
fn output(item: &SelectItem) -> Option<String> {
    match item {
        SelectItem::ExprWithAlias { alias, .. } => Some(normalized(alias)),
        SelectItem::UnnamedExpr(Expr::Identifier(name)) => Some(normalized(name)),
        SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => parts.last().map(normalized),
        _ => None,
    }
}

fn name_naturals(table: &mut TableWithJoins, columns: &Columns) {
    if let (TableFactor::NestedJoin { table_with_joins, .. }, Some(first)) = (&mut table.relation, &columns.first) {
        name_naturals(table_with_joins, first);
    }
    for (join, joined) in table.joins.iter_mut().zip(&columns.joins) {
        if let (TableFactor::NestedJoin { table_with_joins, .. }, Some(inner)) = (&mut join.relation, &joined.inner) {
            name_naturals(table_with_joins, inner);
        }
        name_natural(join, &joined.pairs);
    }
}

/// A NATURAL join without common columns is a cross join, as in PostgreSQL.
fn name_natural(join: &mut Join, pairs: &[(Column, Column)]) {
    let Some(constraint) = constraint_mut(&mut join.join_operator).filter(|constraint| **constraint == JoinConstraint::Natural) else {
        return;
    };
    *constraint = match pairs.is_empty() {
        true => JoinConstraint::On(Expr::value(Value::Boolean(true))),
        false => JoinConstraint::Using(pairs.iter().map(|(left, _)| ObjectName::from(vec![ident(&left.name)])).collect()),
    };
}

pub fn constraint_mut(operator: &mut JoinOperator) -> Option<&mut JoinConstraint> {
    match operator {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint)
        | JoinOperator::LeftSemi(constraint)
        | JoinOperator::RightSemi(constraint)
        | JoinOperator::LeftAnti(constraint)
        | JoinOperator::RightAnti(constraint) => Some(constraint),
        _ => None,
    }
}

/// The merged columns, and for each the column that has its value.
fn values_of(columns: &Columns) -> impl Iterator<Item = (String, Expr)> {
    let merged = columns.all.iter().filter(|shown| shown.is_merged);
    let is_one = |name: &str| columns.all.iter().filter(|shown| shown.column.name == name).count() == 1;
    merged.filter(move |shown| is_one(&shown.column.name)).map(|shown| (shown.column.name.clone(), expr_of(&shown.column)))
}

fn has(columns: &Columns, name: &str) -> bool {
    columns.all.iter().any(|shown| shown.column.name == name)
}

/// Resolves names in an ON condition, which sees the tables before it and that of its join.
fn name_in_conditions(table: &mut TableWithJoins, columns: &Columns) {
    let mut values: HashMap<String, Expr> = HashMap::new();
    for (join, joined) in table.joins.iter_mut().zip(&columns.joins) {
        if let Some(JoinConstraint::On(condition)) = constraint_mut(&mut join.join_operator) {
            // A name that a later table also has stays ambiguous.
            let earlier_values = values_of(columns).filter(|(name, _)| values.contains_key(name)).collect();
            let _ = condition.walk_mut(&mut Naming { values: earlier_values, depth: 0 });
        }
        values.extend(joined.pairs.iter().map(|(left, _)| (left.name.clone(), expr_of(left))));
    }
}

struct Naming {
    values: HashMap<String, Expr>,
    /// The nesting depth of subqueries, in which the name may refer to another table's column.
    depth: usize,
}

impl VisitorMut for Naming {
    type Break = ();

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Identifier(name) = expr
            && self.depth == 0
            && let Some(value) = self.value_of(name)
        {
            *expr = value;
        }
        ControlFlow::Continue(())
    }
}

impl Naming {
    fn value_of(&self, name: &Ident) -> Option<Expr> {
        self.values.get(&normalized(name)).cloned()
    }
}
