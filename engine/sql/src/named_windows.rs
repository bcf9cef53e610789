//! `WINDOW w AS (…)`, `OVER w` and `OVER (w …)`: named windows, combined as in PostgreSQL. DataFusion supports `OVER w` only in a SELECT
//! list, and ignores the definition of `w` in `OVER (w …)`.

use std::collections::HashMap;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Ident, NamedWindowDefinition, NamedWindowExpr, OrderBy, Query, Select, VisitorMut, WindowSpec, WindowType,
};

use super::merged_names::normalized;
use crate::walk::{WalkMut, into_result};
use common::error::EngineError;

/// Replaces each named window by its definition. `order_by` is that of the query, if the SELECT is the whole query.
pub fn inline_named_windows(select: &mut Select, order_by: Option<&mut OrderBy>) -> Result<(), EngineError> {
    let mut windows = Windows { known: HashMap::new(), depth: 0 };
    for NamedWindowDefinition(name, window) in std::mem::take(&mut select.named_window) {
        let window = match window {
            NamedWindowExpr::NamedWindow(other) => windows.named(&other)?.clone(),
            NamedWindowExpr::WindowSpec(spec) => windows.spelt(spec)?,
        };
        if windows.known.insert(normalized(&name), window).is_some() {
            return Err(wrong(format!("the window {name} is there twice"), "give one of them another name"));
        }
    }
    into_result(select.projection.walk_mut(&mut windows))?;
    into_result(select.qualify.walk_mut(&mut windows))?;
    order_by.map_or(Ok(()), |order_by| into_result(order_by.walk_mut(&mut windows)))
}

struct Windows {
    known: HashMap<String, WindowSpec>,
    /// The depth of subqueries, which have windows of their own.
    depth: usize,
}

impl Windows {
    fn named(&self, name: &Ident) -> Result<&WindowSpec, EngineError> {
        self.known.get(&normalized(name)).ok_or_else(|| {
            wrong(format!("there is no window {name}"), "say what it is behind the query's conditions, as in WINDOW w AS (PARTITION BY a)")
        })
    }

    /// Combines `(w …)` with the definition of `w`.
    fn spelt(&self, mut spec: WindowSpec) -> Result<WindowSpec, EngineError> {
        let Some(name) = spec.window_name.take() else { return Ok(spec) };
        let window = self.named(&name)?;
        if !spec.partition_by.is_empty() {
            return Err(wrong(format!("PARTITION BY of the window {name} cannot be replaced"), "leave PARTITION BY or the name out"));
        }
        if !spec.order_by.is_empty() && !window.order_by.is_empty() {
            return Err(wrong(format!("ORDER BY of the window {name} cannot be replaced"), "leave ORDER BY or the name out"));
        }
        if window.window_frame.is_some() {
            let hint = format!("write OVER {name} without parentheses, or leave the frame out where {name} is defined");
            return Err(wrong(format!("the window {name} has a frame, and is no part of another one"), &hint));
        }
        spec.partition_by.clone_from(&window.partition_by);
        if spec.order_by.is_empty() {
            spec.order_by.clone_from(&window.order_by);
        }
        Ok(spec)
    }
}

impl VisitorMut for Windows {
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
        let Expr::Function(function) = expr else { return ControlFlow::Continue(()) };
        if self.depth > 0 {
            return ControlFlow::Continue(());
        }
        let spelt = match function.over.take() {
            Some(WindowType::NamedWindow(name)) => self.named(&name).cloned(),
            Some(WindowType::WindowSpec(spec)) => self.spelt(spec),
            None => return ControlFlow::Continue(()),
        };
        match spelt {
            Ok(spec) => {
                function.over = Some(WindowType::WindowSpec(spec));
                ControlFlow::Continue(())
            }
            Err(error) => ControlFlow::Break(error),
        }
    }
}

fn wrong(message: String, hint: &str) -> EngineError {
    EngineError::Sql { message, position: None, hint: Some(hint.to_string()) }
}
