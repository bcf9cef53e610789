//! SHOW TABLES, SHOW SCHEMAS and SHOW VIEWS as queries over information_schema.

use datafusion::sql::sqlparser::ast::Statement;

/// The query that answers the statement, if it is one of these.
pub fn query_for(statement: &Statement) -> Option<String> {
    const TABLES: &str = "SELECT table_schema, table_name, table_type FROM information_schema.tables \
         WHERE table_schema <> 'information_schema'";
    // With a filter (LIKE, FROM …) the statement is another; DataFusion answers or refuses it.
    match statement.to_string().as_str() {
        "SHOW TABLES" => Some(format!("{TABLES} ORDER BY 1, 2")),
        "SHOW VIEWS" => Some(format!("{TABLES} AND table_type = 'VIEW' ORDER BY 1, 2")),
        "SHOW SCHEMAS" => Some("SELECT schema_name FROM information_schema.schemata ORDER BY 1".to_string()),
        _ => None,
    }
}
