//! `SELECT a, b FROM t GROUP BY k`, where `k` is the primary key of `t`: each group has a single row of `t`, and so a single `a` and `b`.
//!
//! DataFusion knows such dependencies in plans, but keeps them where they no longer hold: above UNNEST. So the other columns are added to
//! the GROUP BY here, after DataFusion has complained about them.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use datafusion::common::{DataFusionError, TableReference};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Expr, GroupByExpr, Ident, ObjectName, ObjectNamePart, OrderBy, Query, Select, SelectItem, SetExpr, TableFactor, TableWithJoins,
    Visitor, VisitorMut,
};

use super::cte_scopes::CteScopes;
use sql::merged_names::normalized;
use sql::walk::{Walk, walk_statement, walk_statement_mut};
use table::catalog::{StatementTables, StoreTable};
use table::constraints::primary_key;

/// Whether the error is about a column that is not in GROUP BY. DataFusion gives it the general type of planning errors.
pub fn is_about_groups(error: &DataFusionError) -> bool {
    matches!(error.find_root(), DataFusionError::Plan(message) if message.contains("must appear in the GROUP BY clause"))
}

/// Adds columns to GROUP BY; returns whether any was added.
pub fn add_keys(tables: &StatementTables<'_>, statement: &mut Statement) -> bool {
    let mut names = ColumnPaths::default();
    let _ = walk_statement(statement, &mut names);
    let tables = names.0.into_iter().filter_map(|name| KeyedTable::of(tables, name)).collect();
    let mut adding = GroupKeyRewriter { tables, ctes: CteScopes::default(), has_added: false };
    let _ = walk_statement_mut(statement, &mut adding);
    adding.has_added
}

/// A stored table with its columns, and those of its primary key.
struct KeyedTable {
    name: Vec<String>,
    columns: Vec<String>,
    key: Vec<String>,
}

#[derive(Default)]
struct ColumnPaths(BTreeSet<Vec<String>>);

impl Visitor for ColumnPaths {
    type Break = ();

    fn pre_visit_relation(&mut self, name: &ObjectName) -> ControlFlow<()> {
        self.0.insert(parts_of(name));
        ControlFlow::Continue(())
    }
}

impl KeyedTable {
    fn of(tables: &StatementTables<'_>, name: Vec<String>) -> Option<KeyedTable> {
        let table = tables.table(match name.as_slice() {
            [table] => TableReference::bare(table.as_str()),
            [schema, table] => TableReference::partial(schema.as_str(), table.as_str()),
            _ => return None,
        })?;
        let key = primary_key(&table.downcast_ref::<StoreTable>()?.snapshot)?;
        let columns = table.schema().fields().iter().map(|field| field.name().clone()).collect();
        Some(KeyedTable { name, columns, key })
    }
}

struct GroupKeyRewriter {
    tables: Vec<KeyedTable>,
    ctes: CteScopes,
    has_added: bool,
}

impl VisitorMut for GroupKeyRewriter {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.ctes.enter(query, normalized);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.in_body(&mut query.body, query.order_by.as_ref());
        self.ctes.leave();
        ControlFlow::Continue(())
    }
}

impl GroupKeyRewriter {
    fn in_body(&mut self, body: &mut SetExpr, order_by: Option<&OrderBy>) {
        match body {
            SetExpr::Select(select) => self.in_select(select, order_by),
            SetExpr::SetOperation { left, right, .. } => {
                self.in_body(left, None);
                self.in_body(right, None);
            }
            _ => {}
        }
    }

    fn in_select(&mut self, select: &mut Select, order_by: Option<&OrderBy>) {
        let GroupByExpr::Expressions(groups, _) = &select.group_by else { return };
        let is_set = |item: &Expr| matches!(item, Expr::GroupingSets(_) | Expr::Cube(_) | Expr::Rollup(_));
        // A grouping set without the key may have several rows per group.
        if groups.is_empty() || groups.iter().any(is_set) {
            return;
        }
        let mut read = Vec::new();
        each_table(&select.from, &mut |name, alias| {
            let parts = parts_of(name);
            let is_cte = matches!(parts.as_slice(), [name] if self.ctes.contains(name));
            let own = self.tables.iter().position(|table| table.name == parts && !is_cte);
            let called = alias.cloned().or_else(|| name.0.last().and_then(ObjectNamePart::as_ident).cloned());
            if let Some((place, called)) = own.zip(called) {
                read.push((place, called));
            }
        });
        let mut added = Vec::new();
        for (place, called) in &read {
            let table = &self.tables[*place];
            let elsewhere = read.iter().filter(|(_, other)| other != called).map(|(place, _)| &self.tables[*place]);
            let elsewhere: BTreeSet<&str> = elsewhere.flat_map(|table| &table.columns).map(String::as_str).collect();
            let own = SelectTable { table, called: normalized(called), elsewhere };
            let grouped: BTreeSet<String> = groups.iter().filter_map(|item| own.column(item)).collect();
            if !table.key.iter().all(|column| grouped.contains(column)) {
                continue;
            }
            let mut mentioned = ColumnMentions { own, columns: BTreeSet::new() };
            let _ = select.projection.walk(&mut mentioned);
            let _ = select.having.walk(&mut mentioned);
            let _ = select.qualify.walk(&mut mentioned);
            let _ = order_by.map(|order_by| order_by.walk(&mut mentioned));
            if select.projection.iter().any(|item| matches!(item, SelectItem::Wildcard(_) | SelectItem::QualifiedWildcard(..))) {
                mentioned.columns.extend(table.columns.iter().cloned());
            }
            let column = |column: &String| Expr::CompoundIdentifier(vec![called.clone(), Ident::with_quote('"', column)]);
            added.extend(mentioned.columns.difference(&grouped).map(column));
        }
        if let GroupByExpr::Expressions(groups, _) = &mut select.group_by {
            self.has_added |= !added.is_empty();
            groups.extend(added);
        }
    }
}

/// A table under its name in a SELECT.
struct SelectTable<'a> {
    table: &'a KeyedTable,
    called: String,
    /// Columns of the other tables.
    elsewhere: BTreeSet<&'a str>,
}

impl SelectTable<'_> {
    /// The column of the table to which an expression refers.
    fn column(&self, expr: &Expr) -> Option<String> {
        let (table, column) = match expr {
            Expr::Identifier(column) => (None, normalized(column)),
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [.., table, column] => (Some(normalized(table)), normalized(column)),
                _ => return None,
            },
            _ => return None,
        };
        let is_own = match table {
            Some(table) => table == self.called,
            None => !self.elsewhere.contains(column.as_str()),
        };
        (is_own && self.table.columns.contains(&column)).then_some(column)
    }
}

struct ColumnMentions<'a> {
    own: SelectTable<'a>,
    columns: BTreeSet<String>,
}

impl Visitor for ColumnMentions<'_> {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        self.columns.extend(self.own.column(expr));
        ControlFlow::Continue(())
    }
}

fn each_table<'a>(from: &'a [TableWithJoins], visit: &mut impl FnMut(&'a ObjectName, Option<&'a Ident>)) {
    for table in from {
        for factor in std::iter::once(&table.relation).chain(table.joins.iter().map(|join| &join.relation)) {
            match factor {
                TableFactor::Table { name, alias, args: None, .. } if alias.as_ref().is_none_or(|alias| alias.columns.is_empty()) => {
                    visit(name, alias.as_ref().map(|alias| &alias.name));
                }
                TableFactor::NestedJoin { table_with_joins, alias: None } => {
                    each_table(std::slice::from_ref(table_with_joins.as_ref()), visit)
                }
                _ => {}
            }
        }
    }
}

fn parts_of(name: &ObjectName) -> Vec<String> {
    name.0.iter().filter_map(ObjectNamePart::as_ident).map(normalized).collect()
}
