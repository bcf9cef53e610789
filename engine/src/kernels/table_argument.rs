//! A table named by a text, as table functions take it: `kmeans('points', …)`.
//!
//! The name is looked up in the session's catalog, as names in FROM are: the statement's snapshot, the user's grants and the
//! open transaction say what it means, and whoever scans the table asks for SELECT there.

use std::sync::Arc;

use datafusion::catalog::{TableFunctionArgs, TableProvider};
use datafusion::common::{DataFusionError, Result, TableReference};
use datafusion::execution::SessionState;
use datafusion::logical_expr::Expr;
use futures::FutureExt;

use crate::catalog::{StoreCatalog, TEMP};
use crate::error::EngineError;

/// The table that the argument at `position` (from 0) names: `'t'`, `'schema.t'` or `'"T"'`. Letters are folded as in FROM;
/// where no table has the folded name, the name as it is written is tried too.
pub(crate) fn table_named(args: &TableFunctionArgs<'_, '_>, function: &str, position: usize) -> Result<Arc<dyn TableProvider>> {
    let name = text_argument(args, function, position, "the name of a table")?;
    let state = args.session().as_any().downcast_ref::<SessionState>();
    let state = state.ok_or_else(|| EngineError::internal(format!("{function} is called outside a session")))?;
    let folded = TableReference::parse_str(name);
    let exact = TableReference::parse_str_normalized(name, true);
    for reference in [&folded, &exact] {
        if let Some(table) = lookup(state, reference.clone(), function)? {
            return Ok(table);
        }
    }
    // In the planner's words, which become those that people know from FROM.
    let catalog = &state.config_options().catalog;
    let full = folded.resolve(&catalog.default_catalog, &catalog.default_schema);
    Err(DataFusionError::Plan(format!("table '{full}' not found")))
}

/// The text at `position`; `what` says in an error what it is to be.
pub(crate) fn text_argument<'a>(args: &TableFunctionArgs<'a, '_>, function: &str, position: usize, what: &str) -> Result<&'a str> {
    let number = position + 1;
    let refused = |message: String| {
        let hint = Some(format!("write it as a text: {function}('…', …)"));
        EngineError::Sql { message, position: None, hint }
    };
    match args.exprs().get(position) {
        Some(Expr::Literal(value, _)) => match value.try_as_str() {
            Some(Some(text)) => Ok(text),
            _ => Err(refused(format!("argument {number} of {function} is to be {what}, and not {value}")).into()),
        },
        Some(other) => Err(refused(format!("argument {number} of {function} is to be {what}, and not the expression {other}")).into()),
        None => Err(refused(format!("{function} lacks argument {number}, {what}")).into()),
    }
}

/// Functions are called while a statement is planned, where nothing can be waited for. Tables and views of the store are known at
/// once.
fn lookup(state: &SessionState, reference: TableReference, function: &str) -> Result<Option<Arc<dyn TableProvider>>> {
    let shown = reference.to_string();
    let table = reference.table().to_string();
    let reference = where_it_is(state, reference);
    let Ok(schema) = state.schema_for_ref(reference) else { return Ok(None) };
    schema.table(&table).now_or_never().unwrap_or_else(|| {
        let what = format!("{function} of \"{shown}\", which is made of files or lies on another node,");
        let hint = format!("make a table of it first: CREATE TABLE t AS SELECT * FROM {shown}; and then {function}('t', …)");
        Err(EngineError::unsupported(what, Some(&hint)).into())
    })
}

/// As in FROM, a name without a schema means the session's volatile table where there is one.
fn where_it_is(state: &SessionState, reference: TableReference) -> TableReference {
    match StoreCatalog::of(state).is_some_and(|catalog| catalog.volatile().named(&reference).is_some()) {
        true => TableReference::partial(TEMP, reference.table()),
        false => reference,
    }
}
