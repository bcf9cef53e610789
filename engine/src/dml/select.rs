//! Builds the query that finds the rows of a statement.

use datafusion::sql::sqlparser::ast::{
    Expr, Ident, Query, Select, SelectItem, SetExpr, Statement, TableAlias, TableFactor, TableWithJoins, With,
};
use datafusion::sql::sqlparser::parser::Parser;

use super::private_names::{PREFIX, TARGET};
use super::target::ChangeTarget;
use common::error::EngineError;
use sql::QuiverDialect;
use table::catalog::PRIVATE_SCHEMA;

/// The index of an expression among the query's columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item(pub usize);

/// A query whose columns are the expressions of the statement, so that DataFusion resolves their names and types.
pub struct Finder {
    query: Box<Query>,
    items: Vec<SelectItem>,
}

impl Finder {
    /// A query `FROM` the target alone.
    pub fn of(target: &ChangeTarget) -> Result<Finder, EngineError> {
        Finder::from_text(&target_text(target))
    }

    /// `from` is the text after FROM.
    pub fn from_text(from: &str) -> Result<Finder, EngineError> {
        let mut query = query_of(&format!("SELECT NULL FROM {from}"))?;
        let nothing = select_of(&mut query)?.projection.pop();
        let mut finder = Finder { query, items: Vec::new() };
        // A query needs a column even if the statement has no expressions.
        if let Some(SelectItem::UnnamedExpr(nothing)) = nothing {
            finder.item(nothing);
        }
        Ok(finder)
    }

    pub fn with(mut self, with: Option<With>) -> Finder {
        self.query.with = with;
        self
    }

    pub fn item(&mut self, expr: Expr) -> Item {
        let item = Item(self.items.len());
        let alias = Ident::with_quote('"', format!("{PREFIX}{}", item.0));
        self.items.push(SelectItem::ExprWithAlias { expr, alias });
        item
    }

    pub fn from(&mut self) -> Result<&mut Vec<TableWithJoins>, EngineError> {
        Ok(&mut select_of(&mut self.query)?.from)
    }

    /// Adds the other tables of the statement, each under its own name.
    pub fn add_tables(&mut self, target: &ChangeTarget, others: Vec<TableWithJoins>) -> Result<(), EngineError> {
        for table in &others {
            target.check_alone(&table.relation)?;
            table.joins.iter().try_for_each(|join| target.check_alone(&join.relation))?;
        }
        self.from()?.extend(others);
        Ok(())
    }

    pub fn filter(&mut self, condition: Option<Expr>) -> Result<(), EngineError> {
        select_of(&mut self.query)?.selection = condition;
        Ok(())
    }

    pub fn finish(mut self) -> Result<Statement, EngineError> {
        select_of(&mut self.query)?.projection = self.items;
        Ok(Statement::Query(self.query))
    }
}

/// `(SELECT columns FROM source) AS alias`
pub fn derived(columns: &str, source: TableFactor, alias: Option<Ident>) -> Result<TableFactor, EngineError> {
    let mut query = query_of(&format!("SELECT NULL FROM (SELECT {columns} FROM x)"))?;
    let Some(TableWithJoins { relation: mut subquery, .. }) = select_of(&mut query)?.from.pop() else {
        return Err(EngineError::internal("a subquery is gone"));
    };
    if let TableFactor::Derived { subquery, alias: name, .. } = &mut subquery {
        select_of(subquery)?.from = vec![TableWithJoins { relation: source, joins: Vec::new() }];
        *name = alias.map(|name| TableAlias { explicit: true, name, columns: Vec::new(), at: None });
    }
    Ok(subquery)
}

fn select_of(query: &mut Query) -> Result<&mut Select, EngineError> {
    match query.body.as_mut() {
        SetExpr::Select(select) => Ok(select),
        other => Err(EngineError::internal(format!("a query became {other}"))),
    }
}

/// The name of a table or subquery in the statement.
pub fn name_of(factor: &TableFactor) -> Option<Ident> {
    match factor {
        TableFactor::Table { name, alias: None, .. } => name.0.last().and_then(|part| part.as_ident()).cloned(),
        TableFactor::Table { alias, .. }
        | TableFactor::Derived { alias, .. }
        | TableFactor::TableFunction { alias, .. }
        | TableFactor::Function { alias, .. }
        | TableFactor::UNNEST { alias, .. } => alias.as_ref().map(|alias| alias.name.clone()),
        _ => None,
    }
}

/// The target with its row ids, under the statement's name for it.
pub fn target_text(target: &ChangeTarget) -> String {
    format!("{PRIVATE_SCHEMA}.{TARGET} AS {}", quoted(&target.alias))
}

pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

pub fn query_of(sql: &str) -> Result<Box<Query>, EngineError> {
    let parsed = Parser::parse_sql(&QuiverDialect, sql).ok().and_then(|mut parsed| parsed.pop());
    match parsed {
        Some(Statement::Query(query)) => Ok(query),
        _ => Err(EngineError::internal(format!("cannot be read again: {sql}"))),
    }
}

pub fn expr_of(sql: &str) -> Result<Expr, EngineError> {
    let mut query = query_of(&format!("SELECT {sql}"))?;
    match select_of(&mut query)?.projection.pop() {
        Some(SelectItem::UnnamedExpr(expr)) => Ok(expr),
        _ => Err(EngineError::internal(format!("cannot be read again: {sql}"))),
    }
}
