//! DoGet: a result that was promised, an answer about metadata, or a table.

use arrow_flight::Ticket;
use arrow_flight::sql::Command;
use tonic::Status;

use super::Service;
use super::commands::{decode, metadata_rows, metadata_schema, unknown};
use crate::flight::{self, TableCommand, is_json};
use crate::sessions::Caller;
use crate::stream::{FlightStream, of_batches};

impl Service {
    pub async fn get(&self, caller: &Caller, ticket: Ticket) -> Result<FlightStream, Status> {
        if is_json(&ticket.ticket) {
            let command = TableCommand::of_json(&ticket.ticket)?;
            return flight::read(&self.sessions, &self.leases, caller, &self.tickets, &command).await;
        }
        match decode(&ticket.ticket, "ticket")? {
            Command::TicketStatementQuery(ticket) => self.tickets.fetch(&caller.owner, &ticket.statement_handle, caller.wishes),
            Command::CommandStatementQuery(_) | Command::CommandPreparedStatementQuery(_) => Err(Status::invalid_argument(
                "a statement is no ticket, so that nothing runs twice; take the ticket that GetFlightInfo gives",
            )),
            command => {
                let schema = metadata_schema(&command).ok_or_else(|| unknown(&command, "DoGet"))?;
                let connection = self.sessions.connection(caller)?;
                let rows = metadata_rows(&connection, &command, &self.facts, caller.wishes.types).await?;
                of_batches(&schema, vec![rows], caller.wishes)
            }
        }
    }
}
