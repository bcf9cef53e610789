//! Lists the tables of the store and the system tables.

use engine::{EngineError, Session, TableListing};

pub const TABLE: &str = "TABLE";
pub const VIEW: &str = "VIEW";
/// Tables over files outside of the store.
pub const EXTERNAL_TABLE: &str = "EXTERNAL TABLE";
/// Tables of the engine about itself and the store.
pub const SYSTEM_TABLE: &str = "SYSTEM TABLE";

/// Sorted. Temporary tables have no type of their own.
pub const TABLE_TYPES: [&str; 4] = [EXTERNAL_TABLE, SYSTEM_TABLE, TABLE, VIEW];

/// The type that a client means: Grafana's plugin asks for `BASE TABLE`, as information_schema calls it, and for `table`.
pub fn table_type(spelling: &str) -> String {
    let upper = spelling.to_ascii_uppercase();
    if upper == "BASE TABLE" { TABLE.to_string() } else { upper }
}

const INFORMATION_SCHEMA: &str = "information_schema";

/// The engine does not list them. The test `information_schema_is_listed_as_it_is` compares them with those that it has.
const INFORMATION_SCHEMA_TABLES: [&str; 7] = ["columns", "df_settings", "parameters", "routines", "schemata", "tables", "views"];

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Listed {
    pub schema: String,
    pub name: String,
    pub table_type: &'static str,
}

/// Sorted by schema, name and type.
pub fn listed(session: &Session) -> Result<Vec<Listed>, EngineError> {
    let system = session.system_tables();
    // A user's table in the schema `system` is hidden by an engine's table of the same name.
    let is_hidden = |own: &TableListing| system.iter().any(|table| table.schema == own.schema && table.name == own.name);
    let mut own = session.tables()?;
    own.retain(|table| !is_hidden(table));
    let about = INFORMATION_SCHEMA_TABLES.iter().map(|name| Listed {
        schema: INFORMATION_SCHEMA.to_string(),
        name: (*name).to_string(),
        table_type: SYSTEM_TABLE,
    });
    let mut listed: Vec<Listed> = own.into_iter().chain(system).map(of).chain(about).collect();
    listed.sort_unstable();
    Ok(listed)
}

fn of(table: TableListing) -> Listed {
    let table_type = match table.kind.as_str() {
        "view" => VIEW,
        "external" => EXTERNAL_TABLE,
        "system" => SYSTEM_TABLE,
        _ => TABLE,
    };
    Listed { schema: table.schema, name: table.name, table_type }
}

/// The schemas of the store and of system tables, sorted and without duplicates.
pub fn schema_names(session: &Session) -> Result<Vec<String>, EngineError> {
    let mut names = session.schema_names()?;
    names.extend(session.system_tables().into_iter().map(|table| table.schema));
    names.push(INFORMATION_SCHEMA.to_string());
    names.sort_unstable();
    names.dedup();
    Ok(names)
}
