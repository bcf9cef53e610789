//! DoGet: the result of a ticket, an answer about metadata, a table, or the rows of a plan.

use std::sync::Arc;

use arrow_flight::Ticket;
use arrow_flight::sql::{Command, CommandStatementSubstraitPlan};
use flight_wire::{TableCommand, is_json};
use tonic::Status;

use super::Service;
use super::commands::{decode, metadata_rows, metadata_schema, unknown};
use crate::flight;
use crate::sessions::CallContext;
use crate::sql::statements::{Started, Statement, start};
use crate::stream::{FlightStream, of_batches};

impl Service {
    /// The result of a ticket is only passed on. Anything else is planned here first, which a server that shuts down refuses.
    pub async fn get(self: &Arc<Service>, caller: CallContext, ticket: Ticket) -> Result<FlightStream, Status> {
        let service = Arc::clone(self);
        if is_json(&ticket.ticket) {
            self.drain.check()?;
            let command = TableCommand::of_json(&ticket.ticket)?;
            let read = async move { flight::read(&service.sessions, &service.leases, &caller, &service.tickets, &command).await };
            return self.executors.lease().run(read).await;
        }
        match decode(&ticket.ticket, "ticket")? {
            Command::TicketStatementQuery(ticket) => self.tickets.fetch(&caller, &ticket.statement_handle),
            Command::CommandStatementSubstraitPlan(plan_command) => {
                self.drain.check()?;
                self.executors.lease().run(async move { service.run_plan(&caller, plan_command).await }).await
            }
            Command::CommandStatementQuery(_) | Command::CommandPreparedStatementQuery(_) => Err(Status::invalid_argument(
                "a statement is no ticket, so that nothing runs twice; take the ticket that GetFlightInfo gives",
            )),
            command => {
                let schema = metadata_schema(&command).ok_or_else(|| unknown(&command, "DoGet"))?;
                let connection = self.sessions.connection(&caller)?;
                let rows = async move {
                    let rows = metadata_rows(&connection, &command, &service.facts, caller.client_options.types).await?;
                    of_batches(&schema, vec![rows], caller.client_options)
                };
                self.executors.lease().run(rows).await
            }
        }
    }

    /// A plan only reads, and so may be its own ticket. This saves a call, and the server need not send the plan back. It does not
    /// matter how often a plan runs.
    async fn run_plan(&self, caller: &CallContext, plan_command: CommandStatementSubstraitPlan) -> Result<FlightStream, Status> {
        self.tickets.check_room(&caller.principal)?;
        let statement = Statement::of_plan(plan_command.plan, &caller.binding)?;
        let connection = self.connection(caller, plan_command.transaction_id.as_deref())?;
        match start(&connection, &statement, None, self.beside(caller)).await? {
            Started::Query(output) => self.tickets.read(caller, output, connection),
            Started::Done(_) => Err(Status::invalid_argument("a plan may only read")),
        }
    }
}
