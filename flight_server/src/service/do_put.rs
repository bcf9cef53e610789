//! DoPut: statements that change rows, parameters, and rows themselves. The command is in the first message, and
//! the rows may begin in the same one.

use std::pin::Pin;

use arrow_flight::sql::{Command, CommandPreparedStatementQuery, DoPutPreparedStatementResult, DoPutUpdateResult};
use arrow_flight::{FlightData, FlightDescriptor};
use bytes::Bytes;
use flight_wire::PutCommand;
use futures::StreamExt;
use futures::stream::Peekable;
use prost::Message;
use tonic::{Status, Streaming};

use super::Service;
use super::commands::{decode, unknown};
use super::get_flight_info::is_plain;
use crate::active_streams::{self, StreamPermit, patient};
use crate::auth::Principal;
use crate::sessions::CallContext;
use crate::sql::ingest::{ingest, target};
use crate::sql::prepared::update;
use crate::sql::statements::{Statement, run};
use crate::stream::{Batches, incoming};

type Messages = Peekable<active_streams::Messages>;

/// A DoPut after its first message.
pub struct Put {
    pub descriptor: FlightDescriptor,
    messages: Messages,
    _permit: StreamPermit,
}

impl Service {
    pub async fn begin_put(&self, principal: &Principal, messages: Streaming<FlightData>) -> Result<Put, Status> {
        let permit = self.active_streams.put(principal)?;
        let mut messages = patient(messages, self.options.limits.call_idle).peekable();
        Ok(Put { descriptor: descriptor(&mut messages).await?, messages, _permit: permit })
    }

    /// The `app_metadata` of the only answer.
    pub async fn put(&self, caller: &CallContext, put: Put) -> Result<Bytes, Status> {
        let Put { descriptor, messages, _permit } = put;
        if is_plain(&descriptor)? {
            return self.put_rows(caller, PutCommand::of_descriptor(&descriptor)?, messages).await;
        }
        match decode(&descriptor.cmd, "command")? {
            Command::CommandStatementUpdate(command) => {
                let connection = self.connection(caller, command.transaction_id.as_deref())?;
                run(&connection, &Statement::Sql(command.query), None, self.beside(caller)).await.map(updated)
            }
            Command::CommandStatementIngest(command) => {
                let target = target(&command)?;
                let connection = self.connection(caller, command.transaction_id.as_deref())?;
                let rows = ingest(&connection, target, self.batches(messages).await?).await?;
                Ok(updated(i64::try_from(rows).unwrap_or(i64::MAX)))
            }
            Command::CommandPreparedStatementQuery(command) => self.bind(caller, command, messages).await,
            Command::CommandPreparedStatementUpdate(command) => {
                let prepared = self.prepared.get(&caller.principal, &command.prepared_statement_handle)?;
                let rows = self.prepared.received(self.batches(messages).await?).await?;
                let beside = self.transactions.beside(prepared.session.as_ref());
                update(&prepared, rows, &self.sessions, caller, beside).await.map(updated)
            }
            Command::CommandStatementSubstraitPlan(command) => {
                let statement = Statement::of_plan(command.plan, &caller.binding)?;
                let connection = self.connection(caller, command.transaction_id.as_deref())?;
                run(&connection, &statement, None, self.beside(caller)).await.map(updated)
            }
            command => Err(unknown(&command, "DoPut")),
        }
    }

    async fn bind(&self, caller: &CallContext, command: CommandPreparedStatementQuery, messages: Messages) -> Result<Bytes, Status> {
        let prepared = self.prepared.get(&caller.principal, &command.prepared_statement_handle)?;
        let rows = self.prepared.received(self.batches(messages).await?).await?;
        self.prepared.bind(&prepared, rows)?;
        let handle = Some(command.prepared_statement_handle);
        Ok(DoPutPreparedStatementResult { prepared_statement_handle: handle }.encode_to_vec().into())
    }

    async fn put_rows(&self, caller: &CallContext, command: PutCommand, messages: Messages) -> Result<Bytes, Status> {
        let connection = self.sessions.connection(caller)?;
        let rows = ingest(&connection, command.target(), self.batches(messages).await?).await?;
        Ok(serde_json::json!({ "rows_written": rows }).to_string().into())
    }

    async fn batches(&self, messages: Messages) -> Result<Option<Batches>, Status> {
        incoming(messages, &self.options).await
    }
}

async fn descriptor(messages: &mut Messages) -> Result<FlightDescriptor, Status> {
    let first = Pin::new(messages).peek().await;
    let missing = || Status::invalid_argument("the first message of DoPut has no descriptor; send the command or the path with it");
    match first {
        None => Err(missing()),
        Some(Err(error)) => Err(error.clone()),
        Some(Ok(message)) => message.flight_descriptor.clone().ok_or_else(missing),
    }
}

fn updated(record_count: i64) -> Bytes {
    DoPutUpdateResult { record_count }.encode_to_vec().into()
}
