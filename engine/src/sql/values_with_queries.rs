//! `VALUES ((SELECT 42), 2)`: rows with queries in them, as SELECTs. DataFusion computes VALUES before any query has run.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Expr, Query, SelectItem, SetExpr, SetOperator, SetQuantifier, Visit, Visitor};

use super::fragments::query_of;
use crate::error::EngineError;

/// Changes the body in place, if it is such VALUES.
pub fn select_values(body: &mut SetExpr) -> Result<(), EngineError> {
    let SetExpr::Values(values) = body else { return Ok(()) };
    if !values.rows.iter().any(|row| row.content.iter().any(|value| value.visit(&mut Queries).is_break())) {
        return Ok(());
    }
    let mut whole: Option<SetExpr> = None;
    for row in &values.rows {
        let row = select_of(&row.content)?;
        whole = Some(match whole {
            None => row,
            Some(before) => SetExpr::SetOperation {
                op: SetOperator::Union,
                set_quantifier: SetQuantifier::All,
                left: Box::new(before),
                right: Box::new(row),
            },
        });
    }
    if let Some(whole) = whole {
        *body = whole;
    }
    Ok(())
}

fn select_of(row: &[Expr]) -> Result<SetExpr, EngineError> {
    let names: Vec<String> = (1..=row.len()).map(|number| format!("NULL AS column{number}")).collect();
    let query = query_of(&format!("SELECT {}", names.join(", "))).map_err(|error| EngineError::internal(error.to_string()))?;
    let SetExpr::Select(mut select) = *query.body else { return Err(EngineError::internal("a SELECT is none")) };
    for (item, value) in select.projection.iter_mut().zip(row) {
        if let SelectItem::ExprWithAlias { expr, .. } = item {
            expr.clone_from(value);
        }
    }
    Ok(SetExpr::Select(select))
}

struct Queries;

impl Visitor for Queries {
    type Break = ();

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        ControlFlow::Break(())
    }
}
