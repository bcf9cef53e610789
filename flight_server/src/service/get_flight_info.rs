//! GetFlightInfo and GetSchema. A query is planned here and runs when it is fetched; anything else runs here, once,
//! and its result has no rows. GetSchema runs nothing.

use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use arrow_flight::flight_descriptor::DescriptorType;
use arrow_flight::sql::{Command, ProstMessageExt, TicketStatementQuery};
use arrow_flight::{FlightDescriptor, FlightEndpoint, FlightInfo, Ticket};
use flight_wire::{TableCommand, is_json, wire_schema};
use prost::Message;
use tonic::Status;

use super::Service;
use super::commands::{decode, metadata_schema, unknown};
use crate::flight;
use crate::sessions::{CallContext, Connection};
use crate::sql::statements::{Statement, TicketInfo, start};
use crate::stream::schema_bytes;

impl Service {
    pub async fn info(&self, caller: &CallContext, descriptor: FlightDescriptor) -> Result<FlightInfo, Status> {
        if is_plain(&descriptor)? {
            let command = TableCommand::of_descriptor(&descriptor)?;
            return flight::info(&self.sessions, &self.leases, caller, &command, descriptor, &self.options).await;
        }
        match decode(&descriptor.cmd, "command")? {
            Command::CommandStatementQuery(query) => {
                let connection = self.connection(caller, query.transaction_id.as_deref())?;
                self.planned(caller, connection, Statement::Sql(query.query), descriptor).await
            }
            Command::CommandPreparedStatementQuery(query) => {
                let prepared = self.prepared.get(&caller.principal, &query.prepared_statement_handle)?;
                let started = prepared.start(self.transactions.beside(prepared.session.as_ref())).await?;
                flight_info(self.tickets.keep(started, caller, Arc::clone(&prepared.connection), prepared.words_bytes())?, descriptor)
            }
            Command::CommandStatementSubstraitPlan(plan_command) => {
                let statement = Statement::of_plan(plan_command.plan, &caller.binding)?;
                let connection = self.connection(caller, plan_command.transaction_id.as_deref())?;
                self.planned(caller, connection, statement, descriptor).await
            }
            command => {
                let schema = metadata_schema(&command).ok_or_else(|| unknown(&command, "GetFlightInfo"))?;
                metadata(&schema, descriptor)
            }
        }
    }

    async fn planned(
        &self,
        caller: &CallContext,
        connection: Arc<Connection>,
        statement: Statement,
        descriptor: FlightDescriptor,
    ) -> Result<FlightInfo, Status> {
        let started = start(&connection, &statement, None, self.beside(caller)).await?;
        flight_info(self.tickets.keep(started, caller, connection, statement.words_bytes())?, descriptor)
    }

    pub async fn schema(&self, caller: &CallContext, descriptor: FlightDescriptor) -> Result<SchemaRef, Status> {
        if is_plain(&descriptor)? {
            let command = TableCommand::of_descriptor(&descriptor)?;
            let connection = self.sessions.connection(caller)?;
            return flight::schema_of(&connection, &command, caller.client_options).await;
        }
        match decode(&descriptor.cmd, "command")? {
            Command::CommandStatementQuery(query) => {
                let connection = self.connection(caller, query.transaction_id.as_deref())?;
                self.described(caller, &connection, &Statement::Sql(query.query)).await
            }
            Command::CommandPreparedStatementQuery(query) => {
                self.prepared.get(&caller.principal, &query.prepared_statement_handle)?.schema_now(caller.client_options).await
            }
            Command::CommandStatementSubstraitPlan(plan_command) => {
                let statement = Statement::of_plan(plan_command.plan, &caller.binding)?;
                let connection = self.connection(caller, plan_command.transaction_id.as_deref())?;
                self.described(caller, &connection, &statement).await
            }
            command => metadata_schema(&command).ok_or_else(|| unknown(&command, "GetSchema")),
        }
    }

    async fn described(&self, caller: &CallContext, connection: &Connection, statement: &Statement) -> Result<SchemaRef, Status> {
        let described = statement.describe(&connection.turn().await?).await?;
        Ok(wire_schema(&described.schema, caller.client_options.types))
    }
}

/// A table without SQL: a path, or JSON. A descriptor that is neither this nor a command is an error.
pub fn is_plain(descriptor: &FlightDescriptor) -> Result<bool, Status> {
    let refused = |why: String| Err(Status::invalid_argument(format!("the descriptor {why}")));
    let (has_command, has_path) = (!descriptor.cmd.is_empty(), !descriptor.path.is_empty());
    match DescriptorType::try_from(descriptor.r#type) {
        Err(_) => refused(format!("has the type {}, which there is not; send a path (1) or a command (2)", descriptor.r#type)),
        Ok(_) if !has_command && !has_path => refused("is empty; send a path or a command".to_string()),
        Ok(_) if has_command && has_path => refused("has a path and a command; send one of them".to_string()),
        Ok(DescriptorType::Path) if has_command => refused("is said to be a path and is a command; send it as one".to_string()),
        Ok(DescriptorType::Cmd) if has_path => refused("is said to be a command and is a path; send it as one".to_string()),
        Ok(_) => Ok(has_path || is_json(&descriptor.cmd)),
    }
}

fn flight_info(ticket_info: TicketInfo, descriptor: FlightDescriptor) -> Result<FlightInfo, Status> {
    let ticket = TicketStatementQuery { statement_handle: ticket_info.handle };
    Ok(FlightInfo {
        schema: schema_bytes(&ticket_info.schema)?,
        flight_descriptor: Some(descriptor),
        endpoint: vec![FlightEndpoint::new().with_ticket(Ticket::new(ticket.as_any().encode_to_vec()))],
        // For a statement that changes rows this is their number. Clients use it as the count of affected rows.
        total_records: ticket_info.rows.unwrap_or(-1),
        total_bytes: -1,
        ordered: true,
        app_metadata: ticket_info.report,
    })
}

/// The command itself is the ticket: it is answered when it is fetched.
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
