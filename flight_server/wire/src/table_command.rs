//! The table that a client requests: a path, or JSON with more options in a command or a ticket.
//!
//! ```json
//! {"schema": "main", "table": "flights", "columns": ["carrier", "dep_delay"], "rows": [0, 100000], "version": 41}
//! {"schema": "main", "table": "flights", "mode": "append"}
//! ```

use arrow_flight::FlightDescriptor;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tonic::Status;

use engine::SELECT_COLUMNS_MAX;
use engine::import::{IfExists, IfMissing, IngestTarget};

/// The limit for a command. A list of columns fits in easily.
const JSON_BYTES_MAX: usize = 1 << 20;

const ROWS_MAX: u64 = i64::MAX as u64;

#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TableCommand {
    #[serde(default = "default_schema")]
    pub schema: String,
    pub table: String,
    /// All columns in their order, if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub columns: Option<Vec<String>>,
    /// A half-open range of rows, counted from 0 in their stored order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<(u64, u64)>,
    /// A version of the store; the latest one if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// A lease, which determines the version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PutCommand {
    #[serde(default = "default_schema")]
    pub schema: String,
    pub table: String,
    #[serde(default)]
    pub mode: PutMode,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PutMode {
    #[default]
    Append,
    Create,
    Replace,
    CreateAppend,
}

pub const DEFAULT_SCHEMA: &str = "main";

pub(crate) fn default_schema() -> String {
    DEFAULT_SCHEMA.to_string()
}

/// No protobuf message begins with this byte, so the two forms cannot be confused.
pub fn is_json(command: &[u8]) -> bool {
    command.first() == Some(&b'{')
}

impl TableCommand {
    /// The table of a lease, and whether the client decodes columns that are stored in other types.
    pub fn of_lease(json: &[u8]) -> Result<(TableCommand, bool), Status> {
        let mut fields: Map<String, Value> = parse(json)?;
        let can_decode = match fields.remove("encodings") {
            None => false,
            Some(Value::Bool(can_decode)) => can_decode,
            Some(other) => return Err(Status::invalid_argument(format!("encodings is {other}; it is true or false"))),
        };
        let table = serde_json::to_vec(&fields).map_err(|error| Status::internal(error.to_string()))?;
        Ok((TableCommand::of_json(&table)?, can_decode))
    }

    pub fn of_json(json: &[u8]) -> Result<TableCommand, Status> {
        let command: TableCommand = parse(json)?;
        check_name(&command.table)?;
        if let Some((from, to)) = command.rows.filter(|(from, to)| from > to) {
            return Err(Status::invalid_argument(format!("rows [{from}, {to}] end before they begin")));
        }
        if command.lease.is_some() && command.version.is_some() {
            return Err(Status::invalid_argument("a lease holds one version; leave out one of the two"));
        }
        if command.columns.as_ref().is_some_and(Vec::is_empty) {
            return Err(Status::invalid_argument("the list of columns is empty; name some, or leave it out for all"));
        }
        if let Some(columns) = command.columns.as_ref().map(Vec::len).filter(|columns| *columns > SELECT_COLUMNS_MAX) {
            let message = format!("the list names {columns} columns, more than {SELECT_COLUMNS_MAX}; leave it out for all");
            return Err(Status::invalid_argument(message));
        }
        Ok(command)
    }

    pub fn of_path(path: &[String]) -> Result<TableCommand, Status> {
        let (schema, table) = of_path(path)?;
        Ok(TableCommand { schema, table, columns: None, rows: None, version: None, lease: None })
    }

    pub fn of_descriptor(descriptor: &FlightDescriptor) -> Result<TableCommand, Status> {
        match is_json(&descriptor.cmd) {
            true => TableCommand::of_json(&descriptor.cmd),
            false => TableCommand::of_path(&descriptor.path),
        }
    }

    pub fn to_sql(&self) -> String {
        let columns = self.columns.as_ref().map(|columns| columns.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", "));
        let mut sql = format!("SELECT {} FROM {}.{}", columns.as_deref().unwrap_or("*"), quoted(&self.schema), quoted(&self.table));
        if let Some(version) = self.version {
            sql.push_str(&format!(" FOR VERSION AS OF {version}"));
        }
        if let Some((from, to)) = self.rows {
            // There are no more rows than SQL can count.
            let (from, to) = (from.min(ROWS_MAX), to.min(ROWS_MAX));
            sql.push_str(&format!(" LIMIT {} OFFSET {from}", to.saturating_sub(from)));
        }
        sql
    }

    pub fn to_json(&self) -> Vec<u8> {
        serde_json::json!(self).to_string().into_bytes()
    }
}

impl PutCommand {
    pub fn of_descriptor(descriptor: &FlightDescriptor) -> Result<PutCommand, Status> {
        if is_json(&descriptor.cmd) {
            let command: PutCommand = parse(&descriptor.cmd)?;
            return check_name(&command.table).map(|()| command);
        }
        let (schema, table) = of_path(&descriptor.path)?;
        Ok(PutCommand { schema, table, mode: PutMode::Append })
    }

    pub fn target(self) -> IngestTarget {
        let (if_missing, if_exists) = match self.mode {
            PutMode::Append => (IfMissing::Fail, IfExists::Append),
            PutMode::Create => (IfMissing::Create, IfExists::Fail),
            PutMode::Replace => (IfMissing::Create, IfExists::Replace),
            PutMode::CreateAppend => (IfMissing::Create, IfExists::Append),
        };
        IngestTarget { schema: Some(self.schema), table: self.table, if_missing, if_exists }
    }
}

/// An error if the name is empty.
pub fn check_name(table: &str) -> Result<(), Status> {
    match table.is_empty() {
        true => Err(Status::invalid_argument("the name of the table is empty; give the name of one")),
        false => Ok(()),
    }
}

fn of_path(path: &[String]) -> Result<(String, String), Status> {
    match path {
        [table] => check_name(table).map(|()| (DEFAULT_SCHEMA.to_string(), table.clone())),
        [schema, table] => check_name(table).map(|()| (schema.clone(), table.clone())),
        other => {
            let names = other.len();
            Err(Status::invalid_argument(format!("a path of {names} names is no table; give [table] or [schema, table]")))
        }
    }
}

pub(crate) fn parse<T: DeserializeOwned>(json: &[u8]) -> Result<T, Status> {
    if json.len() > JSON_BYTES_MAX {
        return Err(Status::invalid_argument(format!("a command of {} bytes is longer than {JSON_BYTES_MAX}", json.len())));
    }
    let refused = |error| Status::invalid_argument(format!("the JSON of the command is not understood: {error}; see docs/flight-sql.md"));
    serde_json::from_slice(json).map_err(refused)
}

pub fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_never_interpreted_as_sql() {
        let command =
            TableCommand::of_json(br#"{"table": "a\"; DROP TABLE b", "columns": ["x\"y"], "rows": [5, 7], "version": 3}"#).unwrap();
        let sql = "SELECT \"x\"\"y\" FROM \"main\".\"a\"\"; DROP TABLE b\" FOR VERSION AS OF 3 LIMIT 2 OFFSET 5";
        assert_eq!(command.to_sql(), sql);
        assert_eq!(TableCommand::of_json(&command.to_json()).unwrap(), command);
    }

    #[test]
    fn a_range_beyond_the_last_row_means_all_rows() {
        let command = TableCommand::of_json(br#"{"table": "t", "rows": [7, 18446744073709551615]}"#).unwrap();
        assert_eq!(command.to_sql(), format!("SELECT * FROM \"main\".\"t\" LIMIT {} OFFSET 7", i64::MAX - 7));
    }

    #[test]
    fn an_invalid_command_is_refused() {
        for json in [
            r#"{"table": "t", "rows": [7, 5]}"#,
            r#"{"table": "t", "columns": []}"#,
            r#"{"table": "t", "colums": []}"#,
            r#"{"table": ""}"#,
            "{",
            "{}",
            r#"{"table": 7}"#,
        ] {
            assert_eq!(TableCommand::of_json(json.as_bytes()).unwrap_err().code(), tonic::Code::InvalidArgument, "{json}");
        }
        let many = serde_json::json!({"table": "t", "columns": vec!["a"; 100_000]}).to_string();
        let error = TableCommand::of_json(many.as_bytes()).unwrap_err();
        assert_eq!(error.message(), "the list names 100000 columns, more than 16384; leave it out for all");
        assert!(TableCommand::of_path(&[]).is_err());
        for path in [vec![String::new()], vec!["main".into(), String::new()]] {
            assert!(TableCommand::of_path(&path).unwrap_err().message().contains("the name of the table is empty"));
        }
    }
}
