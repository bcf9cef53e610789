//! A table named by a text, as an argument of table functions: `kmeans('points', …)`.
//!
//! The name is resolved in the session's catalog like a name in FROM: the statement's snapshot, the user's grants and the
//! open transaction decide its meaning, and the scan of the table checks for SELECT.

use std::sync::Arc;

use datafusion::catalog::{Session, TableFunctionArgs, TableProvider};
use datafusion::common::{DataFusionError, Result, TableReference};
use datafusion::execution::SessionState;
use datafusion::logical_expr::Expr;
use futures::FutureExt;

use common::error::EngineError;
use common::messages::{described, display_name};
use common::names::TEMP;
use common::type_names::quoted;

/// What table functions need to know about the tables of their session.
pub trait SessionTables: Send + Sync {
    /// Whether a name without a schema is that of a temporary table.
    fn is_temporary(&self, name: &TableReference) -> bool;

    /// A hint for a missing table, if there is one with a similar name.
    fn near_table(&self, name: &TableReference) -> Option<String>;

    /// Whether the rows of the table lie in the store.
    fn is_stored(&self, table: &dyn TableProvider) -> bool;

    /// Whether the files of the store are persistent memory.
    fn is_persistent(&self) -> bool;
}

/// Finds the tables of a session; `None` if DataFusion has made the session by itself.
pub type TablesOf = fn(&dyn Session) -> Option<Arc<dyn SessionTables>>;

/// A table, and its name in messages, without quotes.
pub struct NamedTable {
    pub name: String,
    pub table: Arc<dyn TableProvider>,
}

/// The table that the argument at `position` (from 0) names: `'t'`, `'schema.t'` or `'schema."T"'`. It is read like a name in FROM; if
/// there is no such table, other readings of the text are tried.
pub fn table_named(args: &TableFunctionArgs<'_, '_>, tables: TablesOf, function: &str, position: usize) -> Result<NamedTable> {
    let text = text_argument(args, function, position)?;
    let state = args.session().as_any().downcast_ref::<SessionState>();
    let state = state.ok_or_else(|| EngineError::internal(format!("{function} is called outside a session")))?;
    let readings = readings(text);
    for reference in &readings {
        if let Some(table) = named_table(state, tables, reference.clone(), function)? {
            return Ok(NamedTable { name: display_name(reference), table });
        }
    }
    Err(no_table(state, tables, text, &readings))
}

/// The readings of the text, the likeliest first: letters are folded as in FROM, then left as they are; then the text between dots is a
/// name even if FROM would require quotes around it, as in `s.My Table`; and at last the text is one name with all of its dots.
fn readings(text: &str) -> Vec<TableReference> {
    let mut readings = vec![TableReference::parse_str(text), TableReference::parse_str_normalized(text, true)];
    readings.extend(between_dots(text));
    readings.push(TableReference::bare(text));
    let mut distinct: Vec<TableReference> = Vec::new();
    for reading in readings {
        if !distinct.contains(&reading) {
            distinct.push(reading);
        }
    }
    distinct
}

/// Reads `S.My Table` as the table of exactly that name in the schema `s`, and in `S`; before the schema there may be a catalog.
fn between_dots(text: &str) -> Vec<TableReference> {
    let parts: Vec<&str> = text.split('.').collect();
    if parts.iter().any(|part| !part.matches('"').count().is_multiple_of(2)) {
        // The dot is inside of quotes.
        return Vec::new();
    }
    let parts: Vec<String> = parts.into_iter().map(unquoted).collect();
    match parts.as_slice() {
        [schema, table] => {
            vec![TableReference::partial(schema.to_lowercase(), table.as_str()), TableReference::partial(schema.as_str(), table.as_str())]
        }
        [catalog, schema, table] => vec![
            TableReference::full(catalog.to_lowercase(), schema.to_lowercase(), table.as_str()),
            TableReference::full(catalog.as_str(), schema.as_str(), table.as_str()),
        ],
        _ => Vec::new(),
    }
}

/// A name without the double quotes around it, if there are any.
pub fn unquoted(name: &str) -> String {
    let inner = name.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inner.map_or_else(|| name.to_string(), |inner| inner.replace("\"\"", "\""))
}

fn no_table(state: &SessionState, tables: TablesOf, text: &str, readings: &[TableReference]) -> DataFusionError {
    // FROM reads the name in the same way, so the error is the planner's.
    if let [reference, ..] = readings
        && is_plain(text)
    {
        let catalog = &state.config_options().catalog;
        let full = reference.clone().resolve(&catalog.default_catalog, &catalog.default_schema);
        return EngineError::NoTable(full).into_datafusion();
    }
    // If FROM could not read the text, the part before the dot is still the schema.
    let with_schema = readings.iter().find(|reading| reading.schema().is_some());
    let bare = TableReference::bare(text);
    let reading = with_schema.or(readings.first()).unwrap_or(&bare);
    let near = tables(state).and_then(|tables| tables.near_table(reading));
    let hint = near.unwrap_or_else(|| {
        let read = read_as(reading);
        format!("'{text}' was read as {read}; double quotes make one name of capitals, blanks and dots: '\"My Table\"', 's.\"My Table\"'")
    });
    EngineError::Sql { message: format!("table \"{}\" does not exist", display_name(reading)), position: None, hint: Some(hint) }.into()
}

/// The name means the same with quotes and without them.
fn is_plain(text: &str) -> bool {
    let starts = |part: &str| part.starts_with(|first: char| !first.is_numeric());
    let is_plain = |part: &str| starts(part) && part.chars().all(|char| char.is_lowercase() || char.is_numeric() || char == '_');
    text.split('.').count() <= 3 && text.split('.').all(is_plain)
}

fn read_as(reference: &TableReference) -> String {
    match reference.schema() {
        Some(schema) => format!("the table {} of the schema {}", quoted(reference.table()), quoted(schema)),
        None => format!("the table {}", quoted(reference.table())),
    }
}

/// A text among the arguments: that at `position`, from 0.
pub fn text_argument<'a>(args: &TableFunctionArgs<'a, '_>, function: &str, position: usize) -> Result<&'a str> {
    let number = position + 1;
    let refused = |message: String, text: &str| {
        let hint = Some(format!("write it as a text: {function}('{text}', …)"));
        EngineError::Sql { message, position: None, hint }
    };
    let Some(other) = args.exprs().get(position) else {
        return Err(refused(format!("{function} lacks argument {number}, the name of a table"), "…").into());
    };
    if let Expr::Literal(value, _) = other
        && let Some(Some(text)) = value.try_as_str()
    {
        return Ok(text);
    }
    let text = match other {
        Expr::Column(column) => column.name.as_str(),
        _ => "…",
    };
    Err(refused(format!("argument {number} of {function} must be the name of a table, not {}", described(other)), text).into())
}

/// Functions are called while a statement is planned, which is synchronous. Tables and views of the store are available at
/// once.
pub fn named_table(
    state: &SessionState,
    tables: TablesOf,
    reference: TableReference,
    function: &str,
) -> Result<Option<Arc<dyn TableProvider>>> {
    let table = reference.table().to_string();
    let name = display_name(&reference);
    let from = reference.to_quoted_string();
    let reference = resolve_temporary(state, tables, reference);
    let Ok(schema) = state.schema_for_ref(reference) else { return Ok(None) };
    schema.table(&table).now_or_never().unwrap_or_else(|| {
        let message = format!("{function} of \"{name}\", which is made of files or lies on another node,");
        let hint = format!("make a table of it first: CREATE TABLE t AS SELECT * FROM {from}; and then {function}('t', …)");
        Err(EngineError::unsupported(message, Some(&hint)).into())
    })
}

/// As in FROM, a name without a schema means the session's temporary table where there is one.
fn resolve_temporary(state: &SessionState, tables: TablesOf, reference: TableReference) -> TableReference {
    match tables(state).is_some_and(|tables| tables.is_temporary(&reference)) {
        true => TableReference::partial(TEMP, reference.table()),
        false => reference,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_as_a_name_in_from_first() {
        let all = |text: &str| readings(text).iter().map(TableReference::to_quoted_string).collect::<Vec<_>>();
        assert_eq!(all("t"), ["t"]);
        assert_eq!(all("T"), ["t", "\"T\""]);
        assert_eq!(all("\"M X\""), ["\"M X\"", "\"\"\"M X\"\"\""]);
        assert_eq!(all("S2.M X"), ["\"S2.M X\"", "s2.\"M X\"", "\"S2\".\"M X\""]);
        assert_eq!(all("s2.\"a.b\"")[0], "s2.\"a.b\"");
        assert_eq!(all("a.b"), ["a.b", "\"a.b\""]);
        assert_eq!(all("\"A.b\"")[0], "\"A.b\"");
        assert_eq!(all("C.S2.M X"), ["\"C.S2.M X\"", "c.s2.\"M X\"", "\"C\".\"S2\".\"M X\""]);
        assert_eq!(between_dots("\"A.b\""), []);
        assert_eq!(between_dots("s.\"A.b\""), []);
        assert_eq!(between_dots("a.b.c.d"), []);
    }

    #[test]
    fn a_name_is_plain_if_it_needs_no_quotes() {
        for (text, expected) in
            [("t", true), ("s.t_1", true), ("c.s._t", true), ("1abc", false), ("s.1abc", false), ("s.", false), ("T", false)]
        {
            assert_eq!(is_plain(text), expected, "{text}");
        }
    }
}
