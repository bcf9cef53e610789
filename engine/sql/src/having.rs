//! `SELECT 1 FROM t HAVING true`: without GROUP BY all rows are one group, as in PostgreSQL. DataFusion handles that only if there are
//! aggregates.

use std::ops::ControlFlow;

use datafusion::common::DataFusionError;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Select, VisitMut, VisitorMut};

use super::fragments::expr_of;
use common::error::EngineError;

/// Whether an error is about this. DataFusion gives it the general type of planning errors.
pub fn is_about_having(error: &DataFusionError) -> bool {
    matches!(error.find_root(), DataFusionError::Plan(message) if message.starts_with("HAVING clause references: "))
}

/// Adds an aggregate without effect to each HAVING.
pub fn add_aggregates(statement: &mut Statement) -> Result<(), EngineError> {
    match statement {
        Statement::Statement(statement) => {
            let aggregate = expr_of("count(*) >= 0").map_err(|error| EngineError::internal(error.to_string()))?;
            let _ = statement.visit(&mut HavingRewriter(aggregate));
            Ok(())
        }
        Statement::Explain(explain) => add_aggregates(&mut explain.statement),
        Statement::CreateExternalTable(_) | Statement::CopyTo(_) | Statement::Reset(_) => Ok(()),
    }
}

struct HavingRewriter(Expr);

impl VisitorMut for HavingRewriter {
    type Break = ();

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        if let Some(having) = select.having.take() {
            let left = Box::new(Expr::Nested(Box::new(having)));
            select.having = Some(Expr::BinaryOp { left, op: BinaryOperator::And, right: Box::new(self.0.clone()) });
        }
        ControlFlow::Continue(())
    }
}
