//! GetFlightInfo and GetSchema. A query is planned here and runs when it is fetched; anything else runs here, once,
//! and what is fetched then has no rows. GetSchema runs nothing.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use arrow_flight::sql::{Command, ProstMessageExt, TicketStatementQuery};
use arrow_flight::{FlightDescriptor, FlightEndpoint, FlightInfo, Ticket};
use prost::Message;
use tonic::Status;

use super::commands::{decode, metadata_schema, no_substrait, unknown};
use super::Service;
use crate::error::status_in;
use crate::flight::{self, TableCommand, is_json};
use crate::sessions::Caller;
use crate::statements::{Told, start};
use crate::stream::{schema_bytes, wire_schema};

impl Service {
    pub async fn info(&self, caller: &Caller, descriptor: FlightDescriptor) -> Result<FlightInfo, Status> {
        if is_plain(&descriptor) {
            let command = TableCommand::of_descriptor(&descriptor)?;
            return flight::info(&self.sessions, &self.leases, caller, &command, descriptor, &self.options).await;
        }
        match decode(&descriptor.cmd, "command")? {
            Command::CommandStatementQuery(query) => {
                let connection = self.connection(caller, query.transaction_id.as_deref())?;
                let started = start(&connection, &query.query, None, self.beside(caller)).await?;
                told(self.tickets.keep(started, caller, connection, query.query.len())?, descriptor)
            }
            Command::CommandPreparedStatementQuery(query) => {
                let prepared = self.prepared.get(&caller.owner, &query.prepared_statement_handle)?;
                let started = prepared.start(self.transactions.beside(prepared.session.as_ref())).await?;
                told(self.tickets.keep(started, caller, Arc::clone(&prepared.connection), prepared.words_bytes())?, descriptor)
            }
            Command::CommandStatementSubstraitPlan(_) => Err(no_substrait()),
            command => {
                let schema = metadata_schema(&command).ok_or_else(|| unknown(&command, "GetFlightInfo"))?;
                metadata(&schema, descriptor)
            }
        }
    }

    pub async fn schema(&self, caller: &Caller, descriptor: FlightDescriptor) -> Result<SchemaRef, Status> {
        if is_plain(&descriptor) {
            let command = TableCommand::of_descriptor(&descriptor)?;
            let connection = self.sessions.connection(caller)?;
            return flight::schema_of(&connection, &command, caller.wishes).await;
        }
        match decode(&descriptor.cmd, "command")? {
            Command::CommandStatementQuery(query) => {
                let connection = self.connection(caller, query.transaction_id.as_deref())?;
                let turn = connection.turn().await?;
                let described = turn.session().describe(&query.query).await.map_err(|error| status_in(error, &query.query))?;
                Ok(wire_schema(&described.schema, caller.wishes.types))
            }
            Command::CommandPreparedStatementQuery(query) => {
                Ok(Arc::clone(&self.prepared.get(&caller.owner, &query.prepared_statement_handle)?.schema))
            }
            Command::CommandStatementSubstraitPlan(_) => Err(no_substrait()),
            command => metadata_schema(&command).ok_or_else(|| unknown(&command, "GetSchema")),
        }
    }
}

/// Without SQL: a path, or JSON.
pub fn is_plain(descriptor: &FlightDescriptor) -> bool {
    is_json(&descriptor.cmd) || (descriptor.cmd.is_empty() && !descriptor.path.is_empty())
}

fn told(told: Told, descriptor: FlightDescriptor) -> Result<FlightInfo, Status> {
    let ticket = TicketStatementQuery { statement_handle: told.handle };
    Ok(FlightInfo {
        schema: schema_bytes(&told.schema)?,
        flight_descriptor: Some(descriptor),
        endpoint: vec![FlightEndpoint::new().with_ticket(Ticket::new(ticket.as_any().encode_to_vec()))],
        // Of a statement that changes rows: how many. Clients take it for the count of rows affected.
        total_records: told.rows.unwrap_or(-1),
        total_bytes: -1,
        ordered: true,
        app_metadata: told.report,
    })
}

/// The command itself is the ticket: it is asked again when it is fetched.
fn metadata(schema: &SchemaRef, descriptor: FlightDescriptor) -> Result<FlightInfo, Status> {
    let ticket = Ticket::new(descriptor.cmd.clone());
    Ok(FlightInfo {
        schema: schema_bytes(schema)?,
        flight_descriptor: Some(descriptor),
        endpoint: vec![FlightEndpoint::new().with_ticket(ticket)],
        ordered: true,
        ..FlightInfo::new()
    })
}
