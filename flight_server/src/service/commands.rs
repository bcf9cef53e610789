//! Decoding commands of Flight SQL, and answering those about metadata, which need no state.

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use arrow_flight::sql::{Any, Command, CommandStatementQuery, CommandStatementSubstraitPlan, CommandStatementUpdate};
use engine::Engine;
use flight_wire::WireTypes;
use prost::Message;
use tonic::Status;

use super::Service;
use super::bounds::check_length;
use crate::error::{protobuf_status, status};
use crate::options::ServerOptions;
use crate::sessions::{CallContext, Connection};
use crate::sql::metadata::{ServerFacts, catalogs, db_schemas, foreign_keys, primary_keys, sql_info, table_types, tables, xdbc_types};
use crate::sql::statements::is_kill;

pub fn decode(bytes: &[u8], what: &str) -> Result<Command, Status> {
    if bytes.is_empty() {
        return Err(Status::invalid_argument(format!("the {what} is empty; send one that says something")));
    }
    let any = Any::decode(bytes).map_err(|_| protobuf_status(what))?;
    // Statements and plans have limits of their own.
    let is_statement = any.is::<CommandStatementQuery>() || any.is::<CommandStatementUpdate>() || any.is::<CommandStatementSubstraitPlan>();
    if !is_statement {
        check_length(&any.value, what)?;
    }
    Command::try_from(any).map_err(|_| protobuf_status(what))
}

/// No KILL statement is longer.
const KILL_BYTES_MAX: usize = 1 << 10;

impl Service {
    /// Whether the command is KILL, which must not wait for the statement that it ends.
    pub fn is_kill(&self, caller: &CallContext, command: &[u8]) -> bool {
        if command.len() > KILL_BYTES_MAX {
            return false;
        }
        let prepared = |handle: &[u8]| self.prepared.get(&caller.principal, handle).is_ok_and(|prepared| prepared.is_kill());
        match Any::decode(command).map(Command::try_from) {
            Ok(Ok(Command::CommandStatementQuery(query))) => is_kill(&query.query),
            Ok(Ok(Command::CommandStatementUpdate(update))) => is_kill(&update.query),
            Ok(Ok(Command::CommandPreparedStatementQuery(query))) => prepared(&query.prepared_statement_handle),
            Ok(Ok(Command::CommandPreparedStatementUpdate(update))) => prepared(&update.prepared_statement_handle),
            _ => false,
        }
    }
}

pub fn unknown(command: &Command, call: &str) -> Status {
    let name = command.type_url().rsplit(['/', '.']).next().unwrap_or_default();
    let name: String = name.chars().take(60).collect();
    Status::unimplemented(format!("{call} of \"{name}\" is not answered; docs/flight-sql.md lists what is"))
}

/// `None` if the command is not about metadata.
pub fn metadata_schema(command: &Command) -> Option<SchemaRef> {
    Some(match command {
        Command::CommandGetCatalogs(_) => catalogs::schema(),
        Command::CommandGetDbSchemas(_) => db_schemas::schema(),
        Command::CommandGetTables(command) => tables::schema(command.include_schema),
        Command::CommandGetTableTypes(_) => table_types::schema(),
        Command::CommandGetPrimaryKeys(_) => primary_keys::schema(),
        Command::CommandGetExportedKeys(_) | Command::CommandGetImportedKeys(_) | Command::CommandGetCrossReference(_) => {
            foreign_keys::schema()
        }
        Command::CommandGetSqlInfo(_) => sql_info::schema(),
        Command::CommandGetXdbcTypeInfo(_) => xdbc_types::schema(),
        _ => return None,
    })
}

/// Answers the commands for which [`metadata_schema`] has the columns.
pub async fn metadata_rows(
    connection: &Connection,
    command: &Command,
    facts: &ServerFacts,
    types: WireTypes,
) -> Result<RecordBatch, Status> {
    let turn = connection.turn().await?;
    let session = turn.session();
    let rows = match command {
        Command::CommandGetCatalogs(command) => catalogs::batch(session, command),
        Command::CommandGetDbSchemas(command) => db_schemas::batch(session, command),
        Command::CommandGetTables(command) => tables::batch(session, command, types).await,
        Command::CommandGetTableTypes(command) => table_types::batch(session, command),
        Command::CommandGetPrimaryKeys(command) => primary_keys::batch(session, command).await,
        Command::CommandGetExportedKeys(_) | Command::CommandGetImportedKeys(_) | Command::CommandGetCrossReference(_) => {
            Ok(foreign_keys::batch())
        }
        Command::CommandGetSqlInfo(command) => sql_info::batch(session, command, facts),
        Command::CommandGetXdbcTypeInfo(command) => xdbc_types::batch(session, command),
        other => return Err(unknown(other, "DoGet")),
    };
    rows.map_err(status)
}

/// The engine enforces this limit of statements.
const STATEMENT_BYTES_MAX: i64 = 64 << 20;

pub fn facts(engine: &Engine, options: &ServerOptions) -> ServerFacts {
    let ms = |duration: std::time::Duration| i32::try_from(duration.as_millis()).unwrap_or(i32::MAX);
    ServerFacts {
        is_read_only: engine.store().is_read_only(),
        prepared_timeout_ms: ms(options.prepared_idle),
        transaction_timeout_ms: ms(options.transaction_idle),
        statement_bytes_max: STATEMENT_BYTES_MAX,
        ..ServerFacts::default()
    }
}
