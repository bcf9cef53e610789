//! Statements that are rewritten for DataFusion: SHOW to queries of information_schema, SET TIME ZONE to SET of the setting.

use datafusion::execution::SessionState;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{self, Ident, ObjectName, Set, ShowStatementFilter};

use super::settings::{STORE_SETTINGS, shown_name, unknown_setting};
use common::engine_settings::NAMES;
use common::error::EngineError;

/// The equivalent statement.
pub fn rewrite_show(state: &SessionState, statement: Statement) -> Result<Statement, EngineError> {
    let Statement::Statement(inner) = &statement else { return Ok(statement) };
    let query = match inner.as_ref() {
        ast::Statement::ShowVariable { variable } => variable_query(state, variable)?,
        ast::Statement::Set(Set::SetTimeZone { local: false, value }) => {
            let set = Set::SingleAssignment {
                scope: None,
                hivevar: false,
                variable: ObjectName::from(vec![Ident::new("timezone")]),
                values: vec![value.clone()],
            };
            return Ok(Statement::Statement(Box::new(ast::Statement::Set(set))));
        }
        other => listing_query(other),
    };
    match query {
        Some(query) => Ok(state.sql_to_statement(&query, &state.config().options().sql_parser.dialect)?),
        None => Ok(statement),
    }
}

/// A row for each definition; DataFusion combines the definitions of a name with each other.
const FUNCTIONS: &str = "SELECT DISTINCT routine_name AS function_name, data_type AS return_type, syntax_example, function_type, description \
     FROM information_schema.routines WHERE routine_type = 'FUNCTION'";

/// SHOW TABLES, SHOW SCHEMAS, SHOW VIEWS and SHOW FUNCTIONS.
fn listing_query(statement: &ast::Statement) -> Option<String> {
    const TABLES: &str = "SELECT table_schema, table_name, table_type FROM information_schema.tables \
         WHERE table_schema NOT IN ('information_schema', 'system')";
    if let ast::Statement::ShowFunctions { filter } = statement {
        let condition = match filter {
            None => String::new(),
            Some(ShowStatementFilter::Like(pattern)) => format!(" AND routine_name LIKE '{}'", pattern.replace('\'', "''")),
            Some(ShowStatementFilter::ILike(pattern)) => format!(" AND routine_name ILIKE '{}'", pattern.replace('\'', "''")),
            Some(_) => return None,
        };
        return Some(format!("{FUNCTIONS}{condition} ORDER BY 1, 3, 2"));
    }
    if !matches!(statement, ast::Statement::ShowTables { .. } | ast::Statement::ShowViews { .. } | ast::Statement::ShowSchemas { .. }) {
        return None;
    }
    // With a filter (LIKE, FROM …) the text differs; DataFusion answers or refuses it.
    match statement.to_string().as_str() {
        "SHOW TABLES" => Some(format!("{TABLES} ORDER BY 1, 2")),
        "SHOW VIEWS" => Some(format!("{TABLES} AND table_type = 'VIEW' ORDER BY 1, 2")),
        "SHOW SCHEMAS" => Some("SELECT schema_name FROM information_schema.schemata WHERE schema_name <> 'system' ORDER BY 1".to_string()),
        _ => None,
    }
}

/// SHOW of a setting, under the name that the statement uses.
/// Includes the settings that `system.settings` leaves out as too special.
const ALL: &str = "SELECT name, value FROM system.settings \
     UNION ALL SELECT name, value FROM information_schema.df_settings \
     WHERE name LIKE 'datafusion.%' AND name NOT IN (SELECT name FROM system.settings) ORDER BY name";

fn variable_query(state: &SessionState, variable: &[Ident]) -> Result<Option<String>, EngineError> {
    let words: Vec<String> = variable.iter().map(|word| word.value.to_lowercase()).collect();
    let asked = match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["all"] => return Ok(Some(ALL.to_string())),
        [.., "verbose"] => return Ok(None),
        ["time", "zone"] => "timezone".to_string(),
        words => words.join("."),
    };
    // DataFusion does not list them under these names.
    let name = shown_name(&asked);
    if STORE_SETTINGS.contains(&asked.as_str()) || NAMES.contains(&name) {
        return Ok(Some(format!("SELECT '{asked}' AS name, value FROM system.settings WHERE name = '{name}'")));
    }
    let entries = state.config().options().entries();
    if !entries.iter().any(|entry| entry.key == name) && !name.starts_with("datafusion.runtime.") {
        let all: Vec<String> = entries.into_iter().map(|entry| entry.key).collect();
        return Err(unknown_setting(&asked, &all));
    }
    let (asked, name) = (asked.replace('\'', "''"), name.replace('\'', "''"));
    Ok(Some(format!("SELECT '{asked}' AS name, value FROM information_schema.df_settings WHERE name = '{name}'")))
}
