//! Numbers the SELECTs of a statement; the numbers stay the same while the SELECTs are changed.

use std::ops::ControlFlow;

use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{OrderBy, Query, Select, VisitorMut};

use common::error::EngineError;
use sql::walk::{each_select_mut, into_flow, into_result, walk_statement_mut};

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

impl<F: FnMut(usize, &mut Select, Option<&mut OrderBy>) -> Result<bool, EngineError>> VisitorMut for Selects<F> {
    type Break = EngineError;

    /// The sources of a query are visited before it.
    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<EngineError> {
        into_flow(each_select_mut(&mut query.body, query.order_by.as_mut(), &mut |select, order_by| {
            self.count += 1;
            self.has_changed |= (self.change)(self.count, select, order_by)?;
            Ok(())
        }))
    }
}
