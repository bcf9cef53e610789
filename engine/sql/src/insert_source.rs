//! The query of an INSERT, and of a CREATE TABLE with types, is planned separately if VALUES are inside of it: DataFusion would give all
//! VALUES in it, at any depth, the types of the table's columns. So is the query of an INSERT whose PREPARE declares types: DataFusion
//! would forget them (insert_to_plan in statement.rs of datafusion-sql).

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::common::{Column, Result};
use datafusion::logical_expr::{DdlStatement, Expr, LogicalPlan, Prepare, Projection, Statement as PlanStatement, cast};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{self, Query, SetExpr, Visitor};

use super::fragments::query_of;
use crate::walk::{Walk, sql_statement_mut};
use common::error::EngineError;

/// Takes the query out of the statement, as a statement of its own, if it must be planned separately.
pub fn take_source(statement: &mut Statement) -> Result<Option<Statement>, EngineError> {
    let is_run = matches!(statement, Statement::Statement(_));
    let Some(statement) = sql_statement_mut(statement) else { return Ok(None) };
    let types = match statement {
        ast::Statement::Prepare { name, data_types, .. } => Some((name.clone(), data_types.clone())),
        _ => None,
    };
    let has_types = is_run && types.as_ref().is_some_and(|(_, data_types)| !data_types.is_empty());
    let Some(source) = source_of(statement) else { return Ok(None) };
    let Some(query) = source.as_deref() else { return Ok(None) };
    let is_direct = matches!(query.body.as_ref(), SetExpr::Values(_));
    let has_values = has_inner_values(query);
    if !has_values && (is_direct || !has_types) {
        return Ok(None);
    }
    if is_direct {
        let hint = Some("use INSERT … SELECT");
        return Err(EngineError::unsupported("VALUES in a subquery among the VALUES of an INSERT", hint));
    }
    if !is_run {
        return Err(EngineError::unsupported("EXPLAIN of an INSERT from VALUES inside of a query", Some("run the INSERT itself")));
    }
    Ok(source.take().map(|query| {
        let query = ast::Statement::Query(query);
        let statement = match types {
            Some((name, data_types)) => ast::Statement::Prepare { name, data_types, statement: Box::new(query) },
            None => query,
        };
        Statement::Statement(Box::new(statement))
    }))
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

/// Replaces the query of an INSERT, which was taken, by a query with as many columns as its plan.
pub fn put_placeholder(statement: &mut Statement, source: &LogicalPlan) -> Result<(), EngineError> {
    let columns = match source {
        LogicalPlan::Statement(PlanStatement::Prepare(prepare)) => prepare.input.schema().fields().len(),
        query => query.schema().fields().len(),
    };
    let statement = match sql_statement_mut(statement) {
        Some(ast::Statement::Prepare { statement, .. }) => Some(statement.as_mut()),
        statement => statement,
    };
    if let Some(ast::Statement::Insert(insert)) = statement {
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
    if let LogicalPlan::Statement(PlanStatement::Prepare(source)) = source {
        let LogicalPlan::Statement(PlanStatement::Prepare(prepare)) = plan else {
            return Err(EngineError::internal("the query of a PREPARE is in none").into());
        };
        let input = with_source(Arc::unwrap_or_clone(prepare.input), Arc::unwrap_or_clone(source.input))?;
        return Ok(LogicalPlan::Statement(PlanStatement::Prepare(Prepare { input: Arc::new(input), ..source })));
    }
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
