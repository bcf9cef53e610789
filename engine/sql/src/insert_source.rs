//! The query of an INSERT, and of a CREATE TABLE with types, is planned separately if VALUES are inside of it: DataFusion would give all
//! VALUES in it, at any depth, the types of the table's columns.

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::common::{Column, Result};
use datafusion::logical_expr::{DdlStatement, Expr, LogicalPlan, Projection, cast};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{self, Query, SetExpr, Visitor};

use super::fragments::query_of;
use crate::walk::{Walk, sql_statement_mut};
use common::error::EngineError;

/// Takes the query out of the statement, if it must be planned separately.
pub fn take_source(statement: &mut Statement) -> Result<Option<Box<Query>>, EngineError> {
    let is_run = matches!(&*statement, Statement::Statement(inner) if !matches!(inner.as_ref(), ast::Statement::Prepare { .. }));
    let source = sql_statement_mut(statement).and_then(source_of);
    let Some(source) = source.filter(|source| source.as_deref().is_some_and(has_inner_values)) else {
        return Ok(None);
    };
    let is_direct = source.as_ref().is_some_and(|query| matches!(query.body.as_ref(), SetExpr::Values(_)));
    if is_direct || !is_run {
        let (feature, hint) = match is_direct {
            true => ("VALUES in a subquery among the VALUES of an INSERT", "use INSERT … SELECT"),
            false => ("PREPARE and EXPLAIN of an INSERT from VALUES inside of a query", "run the INSERT itself"),
        };
        return Err(EngineError::unsupported(feature, Some(hint)));
    }
    Ok(source.take())
}

fn source_of(statement: &mut ast::Statement) -> Option<&mut Option<Box<Query>>> {
    match statement {
        ast::Statement::Insert(insert) => Some(&mut insert.source),
        ast::Statement::CreateTable(create) if !create.columns.is_empty() => Some(&mut create.query),
        // EXPLAIN with parameters is planned this way, too.
        ast::Statement::Prepare { statement, .. } => source_of(statement),
        _ => None,
    }
}

fn has_inner_values(query: &Query) -> bool {
    query.walk(&mut InnerValues { depth: 0 }).is_break()
}

/// Finds VALUES except those that are the whole query, which get the types of the table correctly.
struct InnerValues {
    depth: usize,
}

impl Visitor for InnerValues {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        self.depth += 1;
        let is_whole = self.depth == 1 && matches!(query.body.as_ref(), SetExpr::Values(_));
        if !is_whole && is_values(&query.body) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.depth -= 1;
        ControlFlow::Continue(())
    }
}

fn is_values(body: &SetExpr) -> bool {
    match body {
        SetExpr::Values(_) => true,
        SetExpr::SetOperation { left, right, .. } => is_values(left) || is_values(right),
        _ => false,
    }
}

/// Replaces the query of an INSERT by a query with so many columns.
pub fn put_placeholder(statement: &mut Statement, columns: usize) -> Result<(), EngineError> {
    if let Some(ast::Statement::Insert(insert)) = sql_statement_mut(statement) {
        let nulls: Vec<String> = names(columns).map(|name| format!("NULL AS {name}")).collect();
        let query = query_of(&format!("SELECT {}", nulls.join(", ")));
        insert.source = Some(Box::new(query.map_err(|error| EngineError::internal(error.to_string()))?));
    }
    Ok(())
}

fn names(columns: usize) -> impl Iterator<Item = String> {
    (1..=columns).map(|number| format!("column{number}"))
}

/// Inserts the plan of the query into the plan of the statement.
pub fn with_source(plan: LogicalPlan, source: LogicalPlan) -> Result<LogicalPlan> {
    let columns = source.schema().fields().len();
    match plan {
        LogicalPlan::Dml(mut insert) => {
            let LogicalPlan::Projection(Projection { expr, .. }) = insert.input.as_ref() else {
                return Err(EngineError::internal("an INSERT has no projection").into());
            };
            let columns = source.schema().iter().zip(names(columns)).map(|(field, name)| Expr::Column(Column::from(field)).alias(name));
            let columns = columns.collect();
            let source = LogicalPlan::Projection(Projection::try_new(columns, Arc::new(source))?);
            insert.input = Arc::new(LogicalPlan::Projection(Projection::try_new(expr.clone(), Arc::new(source))?));
            Ok(LogicalPlan::Dml(insert))
        }
        LogicalPlan::Ddl(DdlStatement::CreateMemoryTable(mut create)) => {
            let declared = create.input.schema();
            if declared.fields().len() != columns {
                let message = format!("the table has {} columns, and its query {columns}", declared.fields().len());
                return Err(EngineError::Sql { message, position: None, hint: None }.into());
            }
            let casts = declared
                .fields()
                .iter()
                .zip(source.schema().iter())
                .map(|(declared, field)| cast(Expr::Column(Column::from(field)), declared.data_type().clone()).alias(declared.name()));
            let casts = casts.collect();
            create.input = Arc::new(LogicalPlan::Projection(Projection::try_new(casts, Arc::new(source))?));
            Ok(LogicalPlan::Ddl(DdlStatement::CreateMemoryTable(create)))
        }
        other => Ok(other),
    }
}
