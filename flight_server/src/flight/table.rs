//! A table by its name: its description and its rows.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use arrow_flight::{FlightDescriptor, FlightEndpoint, FlightInfo, Ticket};
use engine::{Session, TableListing};
use flight_wire::{TableCommand, TableMetadata, wire_schema};
use tonic::Status;

use super::lease::Leases;
use super::parts;
use crate::error::{status, status_by_path};
use crate::options::ServerOptions;
use crate::sessions::{CallContext, Connection, Sessions};
use crate::sql::statements::Tickets;
use crate::stream::{ClientOptions, FlightStream, schema_bytes};

/// Runs nothing: the tickets name the rows to read, and can be used repeatedly.
pub async fn info(
    sessions: &Sessions,
    leases: &Leases,
    caller: &CallContext,
    command: &TableCommand,
    descriptor: FlightDescriptor,
    options: &ServerOptions,
) -> Result<FlightInfo, Status> {
    let connection = sessions.connection(caller)?;
    let schema = schema_of(&connection, command, caller.client_options).await?;
    let (listed, function_languages) = {
        let turn = connection.turn().await?;
        let languages = turn.session().plan_languages().map_err(status)?;
        let listed = turn.session().table(&command.schema, &command.table).map_err(status)?;
        (listed, languages.into_iter().map(str::to_string).collect())
    };
    let app_metadata = TableMetadata { function_languages }.to_json();
    if let Some(listed) = listed.as_ref().filter(|listed| parts::are_for(listed, command, options))
        && let Some((endpoint, rows)) = parts::endpoints(leases, caller, sessions.lease(caller)?, command, options).await?
    {
        return Ok(FlightInfo {
            schema: schema_bytes(&schema)?,
            flight_descriptor: Some(descriptor),
            endpoint,
            total_records: flight_count(Some(rows)),
            total_bytes: flight_count(listed.size_bytes.filter(|_| command.columns.is_none())),
            // The endpoints, one after the other, give the rows in their stored order.
            ordered: true,
            app_metadata,
        });
    }
    let rows = listed.as_ref().and_then(|listed| listed.rows).filter(|_| command.version.is_none());
    let rows = match (rows, command.rows) {
        (Some(rows), Some((from, to))) => Some(rows.min(to).saturating_sub(from)),
        (rows, _) => rows,
    };
    let size_bytes = listed.and_then(|listed| listed.size_bytes).filter(|_| *command == table_command(command));
    Ok(FlightInfo {
        schema: schema_bytes(&schema)?,
        flight_descriptor: Some(descriptor),
        endpoint: vec![FlightEndpoint::new().with_ticket(Ticket::new(command.to_json()))],
        total_records: flight_count(rows),
        total_bytes: flight_count(size_bytes),
        ordered: true,
        app_metadata,
    })
}

fn table_command(command: &TableCommand) -> TableCommand {
    TableCommand { columns: None, rows: None, version: None, lease: None, ..command.clone() }
}

/// Flight uses -1 for unknown.
fn flight_count(number: Option<u64>) -> i64 {
    number.and_then(|number| i64::try_from(number).ok()).unwrap_or(-1)
}

/// The schema for a caller that is about to fetch the table.
pub async fn schema_of(connection: &Connection, command: &TableCommand, client_options: ClientOptions) -> Result<SchemaRef, Status> {
    let turn = connection.turn().await?;
    let session = turn.session();
    let described = match is_wide(session, command)? {
        true => session.describe_table_scan(&command.schema, &command.table, command.version).await,
        false => session.describe_to_run(&command.to_sql()).await,
    };
    let described = described.map_err(|error| status_by_path(error, command, session))?;
    Ok(wire_schema(&described.schema, client_options.types))
}

/// The schema for a list, which does not count as an attempt to read each table.
async fn schema_in_list(connection: &Connection, command: &TableCommand, client_options: ClientOptions) -> Result<SchemaRef, Status> {
    let turn = connection.turn().await?;
    let described = match is_wide(turn.session(), command)? {
        true => turn.session().describe_table_scan(&command.schema, &command.table, command.version).await,
        false => turn.session().describe(&command.to_sql()).await,
    };
    Ok(wire_schema(&described.map_err(status)?.schema, client_options.types))
}

/// Whether the command wants all columns, and they are too many to look up each.
fn is_wide(session: &Session, command: &TableCommand) -> Result<bool, Status> {
    Ok(command.columns.is_none() && session.has_many_columns(&command.schema, &command.table).map_err(status)?)
}

pub async fn read(
    sessions: &Sessions,
    leases: &Leases,
    caller: &CallContext,
    tickets: &Tickets,
    command: &TableCommand,
) -> Result<FlightStream, Status> {
    tickets.check_room(&caller.principal)?;
    if let Some(lease) = &command.lease {
        let lease = leases.get(caller, lease)?;
        let output = lease.read(command).await?;
        return Ok(lease.guarded(tickets.read(caller, output, Arc::clone(&lease))?));
    }
    let session = sessions.another(caller)?;
    if command.rows.is_some() {
        // Rows are counted in the order in which they lie, and one reader at a time keeps to it.
        session.execute_own("SET threads = 1").await.map_err(status)?;
    }
    let sql = command.to_sql();
    let output = match command.rows.is_none() && is_wide(&session, command)? {
        true => session.scan_table(&sql, &command.schema, &command.table, command.version).await,
        false => session.execute(&sql).await,
    };
    let output = output.map_err(|error| status_by_path(error, command, &session))?;
    tickets.read(caller, output, session)
}

/// The description of a table in a list.
pub async fn listed(connection: &Arc<Connection>, listed: TableListing, client_options: ClientOptions) -> Result<FlightInfo, Status> {
    let path = vec![listed.schema, listed.name];
    let command = TableCommand::of_path(&path)?;
    let schema = schema_in_list(connection, &command, client_options).await?;
    Ok(FlightInfo {
        schema: schema_bytes(&schema)?,
        flight_descriptor: Some(FlightDescriptor::new_path(path)),
        endpoint: vec![FlightEndpoint::new().with_ticket(Ticket::new(command.to_json()))],
        total_records: flight_count(listed.rows),
        total_bytes: flight_count(listed.size_bytes),
        ordered: true,
        ..FlightInfo::new()
    })
}
