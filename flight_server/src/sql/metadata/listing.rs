//! What there is: tables of the store, and those that tell about it.

use engine::{EngineError, Session, TableListing};

pub const TABLE: &str = "TABLE";
pub const VIEW: &str = "VIEW";
/// Files that are read where they are.
pub const EXTERNAL_TABLE: &str = "EXTERNAL TABLE";
/// What the engine tells about itself and the store.
pub const SYSTEM_TABLE: &str = "SYSTEM TABLE";

/// In order. Volatile tables are no type of their own.
pub const TABLE_TYPES: [&str; 4] = [EXTERNAL_TABLE, SYSTEM_TABLE, TABLE, VIEW];

const INFORMATION_SCHEMA: &str = "information_schema";

/// The engine lists none of them; `information_schema_is_listed_as_it_is` holds them to what it has.
const INFORMATION_SCHEMA_TABLES: [&str; 7] = ["columns", "df_settings", "parameters", "routines", "schemata", "tables", "views"];

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Listed {
    pub schema: String,
    pub name: String,
    pub table_type: &'static str,
}

/// By schema, name and type.
pub fn listed(session: &Session) -> Result<Vec<Listed>, EngineError> {
    let system = session.system_tables();
    // A table of somebody's own in the schema `system` cannot be named where the engine has one of that name.
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

/// Of the store and of tables about it, each once, in order.
pub fn schema_names(session: &Session) -> Result<Vec<String>, EngineError> {
    let mut names = session.schema_names()?;
    names.extend(session.system_tables().into_iter().map(|table| table.schema));
    names.push(INFORMATION_SCHEMA.to_string());
    names.sort_unstable();
    names.dedup();
    Ok(names)
}
