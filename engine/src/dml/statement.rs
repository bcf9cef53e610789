//! Finds the statement that changes rows, also inside of EXPLAIN and PREPARE, and plans it.

use std::sync::Arc;

use datafusion::logical_expr::{Explain, LogicalPlan, PlanType, Prepare, Statement as PlanStatement, ToStringifiedPlan};
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{self, DataType, Ident, SetExpr, With};

use super::insert_defaults::fill_defaults;
use super::plan::RowChange;
use super::{delete, merge, update, upsert};
use crate::execution::StatementContext;
use crate::sql_planner::temporary_names::qualify_temporary_names;
use common::engine_settings::{Consistency, switches};
use common::error::EngineError;
use sql::walk::sql_statement_mut;

impl StatementContext {
    /// A session may want queries to read versions that are near. Queries inside of statements that write are none.
    pub(crate) fn choose_versions(&self, statement: &Statement) {
        if is_query(statement) && switches(self.state.config_options()).consistency() == Consistency::Eventual {
            self.catalog.read_staged_versions();
        }
    }

    /// The statement's logical plan; errors have their position in the text.
    pub(crate) async fn plan(&self, mut statement: Statement) -> Result<LogicalPlan, EngineError> {
        let lowers_names = self.state.config_options().sql_parser.enable_ident_normalization;
        qualify_temporary_names(&self.catalog.temporary(), &mut statement, lowers_names)?;
        fill_defaults(self, &mut statement)?;
        match planned(self, &mut statement).await? {
            Some(plan) => Ok(plan),
            None => self.plan_query(statement, Vec::new()).await,
        }
    }
}

fn is_query(statement: &Statement) -> bool {
    let is_query = |statement: &ast::Statement| match statement {
        ast::Statement::Query(_) => true,
        ast::Statement::Prepare { statement, .. } => matches!(**statement, ast::Statement::Query(_)),
        _ => false,
    };
    match statement {
        Statement::Statement(statement) => is_query(statement),
        Statement::Explain(explain) => self::is_query(&explain.statement),
        _ => false,
    }
}

/// The plan of a statement that changes rows, `None` for any other.
async fn planned(ctx: &StatementContext, statement: &mut Statement) -> Result<Option<LogicalPlan>, EngineError> {
    let Some(whole) = sql_statement_mut(statement) else { return Ok(None) };
    let types = DeclaredTypes::of(whole);
    let Some(place) = place_of_change(whole) else { return Ok(None) };
    let change = std::mem::replace(place, ast::Statement::UnlockTables);
    let mut row_change = match change_of(ctx, change, types).await? {
        Change::Rows(row_change) => row_change,
        Change::Plain(insert) => {
            *place = insert;
            return Ok(None);
        }
    };
    *place = row_change.query()?;
    let query = std::mem::replace(statement, Statement::Statement(Box::new(ast::Statement::UnlockTables)));
    let plan = ctx.plan_query(query, std::mem::take(&mut row_change.tables)).await?;
    Ok(Some(finished(&row_change, plan)?))
}

/// The types that a PREPARE declares for its parameters, for a part of its statement that is planned separately.
pub struct DeclaredTypes {
    name: Ident,
    data_types: Vec<DataType>,
}

impl DeclaredTypes {
    fn of(statement: &ast::Statement) -> Option<DeclaredTypes> {
        match statement {
            ast::Statement::Prepare { name, data_types, .. } if !data_types.is_empty() => {
                Some(DeclaredTypes { name: name.clone(), data_types: data_types.clone() })
            }
            _ => None,
        }
    }

    pub fn prepare(self, statement: ast::Statement) -> ast::Statement {
        ast::Statement::Prepare { name: self.name, data_types: self.data_types, statement: Box::new(statement) }
    }
}

enum Change {
    Rows(Box<RowChange>),
    /// An INSERT that DataFusion plans itself.
    Plain(ast::Statement),
}

fn place_of_change(statement: &mut ast::Statement) -> Option<&mut ast::Statement> {
    let is_change = match statement {
        ast::Statement::Delete(_) | ast::Statement::Update(_) | ast::Statement::Merge(_) | ast::Statement::Truncate(_) => true,
        ast::Statement::Insert(insert) => insert.on.is_some(),
        ast::Statement::Query(query) => {
            matches!(query.body.as_ref(), SetExpr::Delete(_) | SetExpr::Update(_) | SetExpr::Merge(_) | SetExpr::Insert(_))
        }
        _ => false,
    };
    match statement {
        change if is_change => Some(change),
        ast::Statement::Prepare { statement, .. } | ast::Statement::Explain { statement, .. } => place_of_change(statement),
        _ => None,
    }
}

async fn change_of(ctx: &StatementContext, statement: ast::Statement, types: Option<DeclaredTypes>) -> Result<Change, EngineError> {
    let (statement, with) = without_with(statement)?;
    let row_change = match statement {
        ast::Statement::Delete(statement) => delete::delete(ctx, statement, with).await?,
        ast::Statement::Update(statement) => update::update(ctx, statement, with).await?,
        ast::Statement::Merge(statement) => merge::merge(ctx, statement, with).await?,
        ast::Statement::Truncate(statement) => delete::truncate(ctx, statement).await?,
        ast::Statement::Insert(mut insert) => {
            if let Some(with) = with {
                upsert::add_with(&mut insert, with)?;
            }
            match insert.on.take() {
                Some(on) => upsert::upsert(ctx, insert, on, types).await?,
                None => return Ok(Change::Plain(ast::Statement::Insert(insert))),
            }
        }
        other => return Err(EngineError::internal(format!("{other} changes no rows"))),
    };
    Ok(Change::Rows(Box::new(row_change)))
}

/// `WITH … UPDATE …` is parsed as a query whose body is the statement.
fn without_with(statement: ast::Statement) -> Result<(ast::Statement, Option<With>), EngineError> {
    let query = match statement {
        ast::Statement::Query(query) => *query,
        other => return Ok((other, None)),
    };
    if query.order_by.is_some() || query.limit_clause.is_some() || query.fetch.is_some() || !query.pipe_operators.is_empty() {
        return Err(EngineError::unsupported("ORDER BY and LIMIT after a statement that changes rows", Some("leave them out")));
    }
    match *query.body {
        SetExpr::Delete(inner) | SetExpr::Update(inner) | SetExpr::Merge(inner) | SetExpr::Insert(inner) => Ok((inner, query.with)),
        other => Err(EngineError::internal(format!("{other} changes no rows"))),
    }
}

/// Puts the change above its query: below EXPLAIN and PREPARE, or at the top.
fn finished(row_change: &RowChange, plan: LogicalPlan) -> Result<LogicalPlan, EngineError> {
    Ok(match plan {
        LogicalPlan::Explain(explain) => {
            let plan = Arc::new(finished(row_change, Arc::unwrap_or_clone(explain.plan))?);
            let stringified_plans = vec![plan.to_stringified(PlanType::InitialLogicalPlan)];
            LogicalPlan::Explain(Explain { plan, stringified_plans, ..explain })
        }
        LogicalPlan::Analyze(mut analyze) => {
            analyze.input = Arc::new(finished(row_change, Arc::unwrap_or_clone(analyze.input))?);
            LogicalPlan::Analyze(analyze)
        }
        LogicalPlan::Statement(PlanStatement::Prepare(prepare)) => {
            let input = Arc::new(finished(row_change, Arc::unwrap_or_clone(prepare.input))?);
            LogicalPlan::Statement(PlanStatement::Prepare(Prepare { input, ..prepare }))
        }
        query => row_change.plan(query)?,
    })
}
