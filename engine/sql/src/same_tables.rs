//! Two tables of one name in two schemas in one FROM: `FROM t, s.t`. DataFusion matches `s.t.a` with the `a` of either table, and takes
//! the first, so each table gets an alias.

use std::collections::HashMap;
use std::ops::ControlFlow;

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, ObjectName, ObjectNamePart, OrderBy, Query, Select, SelectItem, SelectItemQualifiedWildcardKind, TableAlias, TableFactor,
    TableWithJoins, VisitorMut,
};

use super::merged_names::normalized;
use crate::walk::{WalkMut, each_select_mut, into_flow, into_result, walk_statement_mut};
use common::error::EngineError;
use common::names::DEFAULT_NAMESPACE;

pub fn qualify_same_tables(statement: &mut Statement) -> Result<(), EngineError> {
    into_result(walk_statement_mut(statement, &mut Queries))
}

struct Queries;

impl VisitorMut for Queries {
    type Break = EngineError;

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<EngineError> {
        into_flow(each_select_mut(&mut query.body, query.order_by.as_mut(), &mut in_select))
    }
}

fn in_select(select: &mut Select, order_by: Option<&mut OrderBy>) -> Result<(), EngineError> {
    let mut tables: HashMap<String, Vec<Vec<String>>> = HashMap::new();
    each_table(&mut select.from, &mut |name, _| {
        let parts = parts_of(name);
        if let Some(last) = parts.last() {
            tables.entry(last.clone()).or_default().push(parts);
        }
    });
    tables.retain(|_, names| names.len() > 1 && names.iter().any(|name| *name != names[0]));
    if tables.is_empty() {
        return Ok(());
    }
    each_table(&mut select.from, &mut |name, alias| {
        let parts = parts_of(name);
        if parts.last().is_some_and(|last| tables.contains_key(last)) {
            let name = Ident::with_quote('"', own_name(&parts));
            *alias = Some(TableAlias { explicit: true, name, columns: Vec::new(), at: None });
        }
    });
    let mut naming = TableQualifier { tables, depth: 0 };
    for item in &mut select.projection {
        if let SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) = item {
            let parts = parts_of(name);
            if let Some(own) = naming.own_name_of(&parts)? {
                *name = ObjectName::from(vec![Ident::with_quote('"', own)]);
            }
        }
    }
    into_result(select.walk_mut(&mut naming))?;
    order_by.map_or(Ok(()), |order_by| into_result(order_by.walk_mut(&mut naming)))
}

/// Visits the tables without an alias.
fn each_table(from: &mut [TableWithJoins], change: &mut impl FnMut(&ObjectName, &mut Option<TableAlias>)) {
    for table in from {
        for factor in std::iter::once(&mut table.relation).chain(table.joins.iter_mut().map(|join| &mut join.relation)) {
            match factor {
                TableFactor::Table { name, alias, args: None, .. } if alias.is_none() => change(name, alias),
                TableFactor::NestedJoin { table_with_joins, alias: None } => {
                    each_table(std::slice::from_mut(table_with_joins.as_mut()), change)
                }
                _ => {}
            }
        }
    }
}

fn parts_of(name: &ObjectName) -> Vec<String> {
    name.0.iter().filter_map(ObjectNamePart::as_ident).map(normalized).collect()
}

/// Without a period: DataFusion would read the part after it as the name of a table.
fn own_name(parts: &[String]) -> String {
    parts.iter().rev().map(String::as_str).collect::<Vec<_>>().join(" of ")
}

struct TableQualifier {
    /// Indexed by the last part of their names.
    tables: HashMap<String, Vec<Vec<String>>>,
    /// The depth of subqueries, which may have their own tables of these names.
    depth: usize,
}

impl TableQualifier {
    /// The alias for a table qualifier of a column.
    fn own_name_of(&self, parts: &[String]) -> Result<Option<String>, EngineError> {
        let Some(names) = parts.last().and_then(|last| self.tables.get(last)) else { return Ok(None) };
        if let [name] = parts {
            let hint = Some("give one of the tables another name with AS".to_string());
            return Err(EngineError::Sql { message: format!("there are several tables {name} here"), position: None, hint });
        }
        // A name without a schema is in the default schema.
        let is_named = |name: &&Vec<String>| *name == parts || name.len() == 1 && parts.len() == 2 && parts[0] == DEFAULT_NAMESPACE;
        Ok(names.iter().find(is_named).map(|name| own_name(name)))
    }
}

impl VisitorMut for TableQualifier {
    type Break = EngineError;

    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<EngineError> {
        self.depth += 1;
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<EngineError> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<EngineError> {
        let Expr::CompoundIdentifier(parts) = expr else { return ControlFlow::Continue(()) };
        let Some((column, table)) = parts.split_last().filter(|_| self.depth == 0) else { return ControlFlow::Continue(()) };
        let table: Vec<String> = table.iter().map(normalized).collect();
        match self.own_name_of(&table) {
            Ok(Some(own)) => {
                *expr = Expr::CompoundIdentifier(vec![Ident::with_quote('"', own), column.clone()]);
                ControlFlow::Continue(())
            }
            Ok(None) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }
}
