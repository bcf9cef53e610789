//! Numbers the SELECTs of a statement; the numbers stay the same while the SELECTs are changed.

use std::ops::ControlFlow;

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{OrderBy, Query, Select, SetExpr, VisitorMut};

use common::error::EngineError;
use sql::walk::{into_result, walk_statement_mut};

/// Calls `change` with each SELECT, its number and its ORDER BY. Returns whether any call returned true.
pub fn each_select(
    statement: &mut Statement,
    change: impl FnMut(usize, &mut Select, Option<&mut OrderBy>) -> Result<bool, EngineError>,
) -> Result<bool, EngineError> {
    let mut selects = Selects { change, count: 0, has_changed: false };
    into_result(walk_statement_mut(statement, &mut selects))?;
    Ok(selects.has_changed)
}

struct Selects<F> {
    change: F,
    count: usize,
    has_changed: bool,
}

impl<F: FnMut(usize, &mut Select, Option<&mut OrderBy>) -> Result<bool, EngineError>> Selects<F> {
    fn in_body(&mut self, body: &mut SetExpr, order_by: Option<&mut OrderBy>) -> Result<(), EngineError> {
        match body {
            SetExpr::Select(select) => {
                self.count += 1;
                self.has_changed |= (self.change)(self.count, select, order_by)?;
                Ok(())
            }
            SetExpr::SetOperation { left, right, .. } => {
                self.in_body(left, None)?;
                self.in_body(right, None)
            }
            _ => Ok(()),
        }
    }
}

impl<F: FnMut(usize, &mut Select, Option<&mut OrderBy>) -> Result<bool, EngineError>> VisitorMut for Selects<F> {
    type Break = EngineError;

    /// The sources of a query are visited before it.
    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<EngineError> {
        match self.in_body(&mut query.body, query.order_by.as_mut()) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => ControlFlow::Break(error),
        }
    }
}
