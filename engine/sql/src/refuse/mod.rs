//! Refuses clauses that DataFusion parses and then ignores, or answers wrongly. Each would change the answer, so each is an error.
//!
//! The modules below destructure each type of the syntax tree completely. So a new field of the parser does not compile until it is used
//! or refused here.

mod expression;
mod function;
mod query;
mod relation;
mod select;

use std::ops::ControlFlow;

use datafusion::sql::parser::{CopyToSource, Statement};
use datafusion::sql::sqlparser::ast::{Expr, ObjectType, Query, Select, Statement as SqlStatement, TableFactor, Visit, Visitor};

use crate::walk::Walk;
use common::error::EngineError;

/// An error for the first clause that would be ignored.
pub fn refuse_ignored(statement: &Statement) -> Result<(), EngineError> {
    match statement {
        Statement::Statement(statement) => refuse(statement.as_ref()),
        Statement::Explain(explain) => match explain.statement.as_ref() {
            Statement::CopyTo(_) => Err(EngineError::unsupported("EXPLAIN of COPY", Some("explain the query it copies"))),
            inner => refuse_ignored(inner),
        },
        Statement::CopyTo(copy) => match &copy.source {
            CopyToSource::Query(query) => refuse(query.as_ref()),
            CopyToSource::Relation(_) => Ok(()),
        },
        Statement::CreateExternalTable(_) | Statement::Reset(_) => Ok(()),
    }
}

/// The same for a part of a statement.
pub fn refuse(part: &impl Visit) -> Result<(), EngineError> {
    match part.walk(&mut IgnoredClauses::default()) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break((feature, hint)) => Err(EngineError::unsupported(feature, (!hint.is_empty()).then_some(hint))),
    }
}

#[derive(Default)]
struct IgnoredClauses {
    /// Whether the next query is the whole statement.
    is_whole: bool,
}

/// Breaks with the unsupported feature and what to use instead.
type Refusal = ControlFlow<(String, &'static str)>;

fn no(feature: &str, hint: &'static str) -> Refusal {
    ControlFlow::Break((feature.to_string(), hint))
}

const YES: Refusal = ControlFlow::Continue(());

fn unless(is_used: bool, feature: &str, hint: &'static str) -> Refusal {
    if is_used { YES } else { no(feature, hint) }
}

impl Visitor for IgnoredClauses {
    type Break = (String, &'static str);

    fn pre_visit_query(&mut self, query: &Query) -> Refusal {
        query::check(query, std::mem::take(&mut self.is_whole))
    }

    fn pre_visit_select(&mut self, select: &Select) -> Refusal {
        select::check(select)
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> Refusal {
        relation::check(factor)
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> Refusal {
        expression::check(expr)
    }

    fn pre_visit_statement(&mut self, statement: &SqlStatement) -> Refusal {
        self.is_whole = matches!(statement, SqlStatement::Query(_));
        match statement {
            SqlStatement::Drop { names, .. } if names.len() > 1 => no("DROP of several names at once", "use a DROP for each"),
            SqlStatement::Drop { object_type, .. } if !matches!(object_type, ObjectType::Table | ObjectType::View | ObjectType::Schema) => {
                no(&format!("DROP {object_type}"), "tables, views and schemas can be dropped, and users and roles")
            }
            SqlStatement::CreateFunction(_) => {
                no("this form of CREATE FUNCTION", "write CREATE FUNCTION f(a DOUBLE) RETURNS DOUBLE RETURN a * 2")
            }
            SqlStatement::Insert(insert) if insert.returning.is_some() && insert.on.is_none() => {
                no("INSERT … RETURNING", "select the rows afterwards, in the same transaction")
            }
            SqlStatement::Drop { purge: true, .. } => no("DROP … PURGE", "leave PURGE out"),
            SqlStatement::Drop { temporary: true, .. } => no("DROP TEMPORARY of what is no table", "leave TEMPORARY out"),
            SqlStatement::CreateSchema { with: Some(_), .. }
            | SqlStatement::CreateSchema { options: Some(_), .. }
            | SqlStatement::CreateSchema { default_collate_spec: Some(_), .. }
            | SqlStatement::CreateSchema { clone: Some(_), .. } => no("options of CREATE SCHEMA", "leave them out"),
            SqlStatement::CreateView(view) if view.secure || view.or_alter || view.params.is_some() => {
                no("options of CREATE VIEW", "leave them out")
            }
            SqlStatement::Explain { estimate: true, .. } | SqlStatement::Explain { query_plan: true, .. } => {
                no("this kind of EXPLAIN", "use EXPLAIN or EXPLAIN ANALYZE")
            }
            _ => ControlFlow::Continue(()),
        }
    }
}
