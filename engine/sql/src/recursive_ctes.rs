//! WITH RECURSIVE: DataFusion plans the two sides of each UNION and ignores their WITH, ORDER BY and LIMIT.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{Cte, ObjectName, Query, SetExpr, Visitor, With};

use super::fragments::query_of;
use super::merged_names::normalized;
use crate::walk::Walk;
use common::error::EngineError;

pub fn keep_clauses(with: &mut With) -> Result<(), EngineError> {
    if !with.recursive {
        return Ok(());
    }
    with.cte_tables.iter_mut().try_for_each(keep)
}

fn keep(cte: &mut Cte) -> Result<(), EngineError> {
    let query = cte.query.as_mut();
    let has_more = query.order_by.is_some() || query.limit_clause.is_some() || query.fetch.is_some();
    if !matches!(query.body.as_ref(), SetExpr::SetOperation { .. }) || !(has_more || query.with.is_some()) {
        return Ok(());
    }
    let name = normalized(&cte.alias.name);
    let is_recursive = query.body.walk(&mut RelationReader { name: &name }).is_break();
    if is_recursive && has_more {
        let feature = format!("ORDER BY, LIMIT and OFFSET at the end of the recursive query {name}");
        return Err(EngineError::unsupported(feature, Some("put them behind the query that reads from it")));
    }
    if is_recursive {
        // Both sides see the WITH in front.
        if let (Some(with), SetExpr::SetOperation { left, right, .. }) = (query.with.take(), query.body.as_mut()) {
            [left, right].into_iter().try_for_each(|side| wrap(side, |inner| inner.with = Some(with.clone())))?;
        }
        return Ok(());
    }
    let whole = query.clone();
    let mut outer = empty()?;
    outer.body = Box::new(SetExpr::Query(Box::new(whole)));
    *query = outer;
    Ok(())
}

/// Makes a side a separate query.
fn wrap(side: &mut SetExpr, change: impl FnOnce(&mut Query)) -> Result<(), EngineError> {
    let mut query = empty()?;
    std::mem::swap(query.body.as_mut(), side);
    change(&mut query);
    *side = SetExpr::Query(Box::new(query));
    Ok(())
}

fn empty() -> Result<Query, EngineError> {
    query_of("SELECT 1").map_err(|error| EngineError::internal(error.to_string()))
}

/// Whether a query reads from the relation of this name.
struct RelationReader<'a> {
    name: &'a str,
}

impl Visitor for RelationReader<'_> {
    type Break = ();

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        match relation.0.as_slice() {
            [part] if part.as_ident().is_some_and(|ident| normalized(ident) == self.name) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}
