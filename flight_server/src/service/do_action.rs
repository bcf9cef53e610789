//! DoAction. Messages of Flight SQL are wrapped in an `Any`, those of Flight itself are not.

use arrow_flight::sql::{
    ActionBeginSavepointRequest, ActionBeginSavepointResult, ActionBeginTransactionRequest, ActionBeginTransactionResult,
    ActionCancelQueryRequest, ActionCancelQueryResult, ActionClosePreparedStatementRequest, ActionCreatePreparedStatementRequest,
    ActionCreatePreparedStatementResult, ActionCreatePreparedSubstraitPlanRequest, ActionEndSavepointRequest, ActionEndTransactionRequest,
    Any, Command, ProstMessageExt,
};
use arrow_flight::{
    Action, ActionType, CancelFlightInfoRequest, CancelFlightInfoResult, CancelStatus, FlightInfo, RenewFlightEndpointRequest,
};
use bytes::Bytes;
use flight_wire::{BlobsCommand, ChunksCommand, TableCommand, is_json, progress_json};
use prost::Message;
use serde::Deserialize;
use tonic::{Response, Status};

use super::bounds::{check_info, check_length};
use super::commands::decode;
use super::{Answers, Service, one};
use crate::error::protobuf_status;
use crate::flight::{ACTIONS, act, lease_of, leased_table};
use crate::sessions::CallContext;
use crate::sql::statements::{Statement, plan_of};
use crate::stream::schema_bytes;

/// The actions of Flight SQL and of Flight: name, and the protobuf messages of request and response.
const STANDARD: [(&str, &str); 13] = [
    ("CreatePreparedStatement", "Request: ActionCreatePreparedStatementRequest\nResponse: ActionCreatePreparedStatementResult"),
    ("ClosePreparedStatement", "Request: ActionClosePreparedStatementRequest\nResponse: none"),
    ("BeginTransaction", "Request: ActionBeginTransactionRequest\nResponse: ActionBeginTransactionResult"),
    ("EndTransaction", "Request: ActionEndTransactionRequest\nResponse: none"),
    ("BeginSavepoint", "Request: ActionBeginSavepointRequest\nResponse: ActionBeginSavepointResult"),
    ("EndSavepoint", "Request: ActionEndSavepointRequest\nResponse: none"),
    ("CancelQuery", "Request: ActionCancelQueryRequest\nResponse: ActionCancelQueryResult"),
    ("CancelFlightInfo", "Request: CancelFlightInfoRequest\nResponse: CancelFlightInfoResult"),
    ("RenewFlightEndpoint", "Request: RenewFlightEndpointRequest\nResponse: FlightEndpoint"),
    ("SetSessionOptions", "Request: SetSessionOptionsRequest\nResponse: SetSessionOptionsResult"),
    ("GetSessionOptions", "Request: GetSessionOptionsRequest\nResponse: GetSessionOptionsResult"),
    ("CloseSession", "Request: CloseSessionRequest\nResponse: CloseSessionResult"),
    ("CreatePreparedSubstraitPlan", "Request: ActionCreatePreparedSubstraitPlanRequest\nResponse: ActionCreatePreparedStatementResult"),
];

pub fn list() -> Vec<ActionType> {
    let action = |(name, text): &(&str, &str)| ActionType { r#type: (*name).to_string(), description: (*text).to_string() };
    STANDARD.iter().chain(&ACTIONS).map(action).collect()
}

/// Actions that run no statement, and may be about running ones.
const SHORT: [&str; 10] = [
    "BeginTransaction",
    "CancelFlightInfo",
    "CancelQuery",
    "ClosePreparedStatement",
    "RenewFlightEndpoint",
    "cancel_call",
    "progress",
    "release_lease",
    "renew_lease",
    "stats",
];

/// Whether the action is answered at once, without waiting for a statement.
pub fn is_short(action: &Action) -> bool {
    SHORT.contains(&action.r#type.as_str())
}

/// The body of `substrait_plan`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Query {
    sql: String,
}

type Acted = Result<Response<Answers<arrow_flight::Result>>, Status>;

impl Service {
    pub async fn action(&self, caller: &CallContext, action: Action) -> Acted {
        let body = &action.body;
        match action.r#type.as_str() {
            "CreatePreparedStatement" | "CreatePreparedSubstraitPlan" | "BeginTransaction" if self.drain.has_begun() => {
                Err(self.drain.refusal())
            }
            "CreatePreparedStatement" => self.prepare_sql(caller, packed(body)?).await,
            "CreatePreparedSubstraitPlan" => self.prepare_plan(caller, packed(body)?).await,
            "ClosePreparedStatement" => {
                let request: ActionClosePreparedStatementRequest = packed(body)?;
                self.prepared.close(&caller.principal, &request.prepared_statement_handle);
                nothing()
            }
            "BeginTransaction" => {
                let _: ActionBeginTransactionRequest = packed(body)?;
                let session = caller.session.as_ref().map(|(_, connection)| connection.as_ref());
                let transaction_id = self.transactions.begin(&caller.principal, self.sessions.transaction(caller)?, session)?;
                answer(ActionBeginTransactionResult { transaction_id }.as_any())
            }
            "EndTransaction" => {
                let request: ActionEndTransactionRequest = packed(body)?;
                self.transactions.end(&caller.principal, &request.transaction_id, request.action).await?;
                nothing()
            }
            "BeginSavepoint" => {
                let request: ActionBeginSavepointRequest = packed(body)?;
                let savepoint_id = self.transactions.begin_savepoint(&caller.principal, &request.transaction_id).await?;
                answer(ActionBeginSavepointResult { savepoint_id }.as_any())
            }
            "EndSavepoint" => {
                let request: ActionEndSavepointRequest = packed(body)?;
                self.transactions.end_savepoint(&caller.principal, &request.savepoint_id, request.action).await?;
                nothing()
            }
            "CancelQuery" => {
                let request: ActionCancelQueryRequest = packed(body)?;
                check_info(&request.info, &[])?;
                let info = FlightInfo::decode(request.info).map_err(|_| protobuf_status("FlightInfo"))?;
                answer(ActionCancelQueryResult { result: self.cancel(caller, info)? as i32 }.as_any())
            }
            "CancelFlightInfo" => {
                check_info(body, &[1])?;
                let request = CancelFlightInfoRequest::decode(body.clone()).map_err(|_| protobuf_status("request"))?;
                let info = request.info.ok_or_else(|| protobuf_status("request"))?;
                answer(CancelFlightInfoResult::new(self.cancel(caller, info)?))
            }
            "RenewFlightEndpoint" => {
                check_length(body, "request")?;
                let request = RenewFlightEndpointRequest::decode(body.clone()).map_err(|_| protobuf_status("request"))?;
                let endpoint = request.endpoint.ok_or_else(|| protobuf_status("request"))?;
                let ticket = endpoint.ticket.as_ref().map_or(&Bytes::new(), |ticket| &ticket.ticket).clone();
                self.renew(caller, &ticket)?;
                answer(endpoint)
            }
            "SetSessionOptions" => self.set_session_options(caller, body).await,
            "GetSessionOptions" => self.get_session_options(caller).await,
            "CloseSession" => self.close_session(caller),
            "lease" => {
                self.leases.check_allowed(caller)?;
                let (table, can_decode) = leased_table(body)?;
                let answers = self.leases.lease(caller, self.sessions.lease(caller)?, &table, can_decode).await?;
                Ok(Response::new(Box::pin(futures::stream::iter(answers.map(|body| Ok(arrow_flight::Result { body }))))))
            }
            "lease_chunks" => {
                self.leases.check_allowed(caller)?;
                answered(self.leases.lease_chunks(caller, self.sessions.lease(caller)?, &ChunksCommand::of_json(body)?).await?)
            }
            "lease_blobs" => {
                self.leases.check_allowed(caller)?;
                answered(self.leases.lease_blobs(caller, self.sessions.lease(caller)?, &BlobsCommand::of_json(body)?).await?)
            }
            "renew_lease" => self.leases.renew(caller, body).and_then(|()| nothing()),
            "release_lease" => self.leases.release(caller, body).and_then(|()| nothing()),
            "progress" => self.progress(caller, body),
            "cancel_call" => self.cancel_call(caller, body),
            "stats" => answered(self.stats()),
            "substrait_plan" => self.substrait_plan(caller, body).await,
            name => {
                self.drain.check()?;
                act(&*self.sessions.connection(caller)?, name, body).await?;
                nothing()
            }
        }
    }

    async fn prepare_sql(&self, caller: &CallContext, request: ActionCreatePreparedStatementRequest) -> Acted {
        self.prepare(caller, Statement::Sql(request.query), request.transaction_id).await
    }

    async fn prepare_plan(&self, caller: &CallContext, request: ActionCreatePreparedSubstraitPlanRequest) -> Acted {
        self.prepare(caller, Statement::of_plan(request.plan, &caller.binding)?, request.transaction_id).await
    }

    async fn prepare(&self, caller: &CallContext, statement: Statement, transaction: Option<Bytes>) -> Acted {
        let connection = self.connection(caller, transaction.as_deref())?;
        let (handle, prepared) = self.prepared.prepare(connection, caller, statement).await?;
        // An absent schema means that there is no result: JDBC treats such a statement as an update.
        let dataset_schema = match prepared.schema.fields().is_empty() {
            true => Bytes::new(),
            false => schema_bytes(&prepared.schema)?,
        };
        let parameter_schema = schema_bytes(&prepared.parameters)?;
        answer(ActionCreatePreparedStatementResult { prepared_statement_handle: handle, dataset_schema, parameter_schema }.as_any())
    }

    /// The plan of a query. The body is JSON.
    async fn substrait_plan(&self, caller: &CallContext, body: &Bytes) -> Acted {
        self.drain.check()?;
        let bad_body =
            |error| Status::invalid_argument(format!("the body of the action is to be JSON, such as {{\"sql\": \"SELECT 1\"}}: {error}"));
        let query: Query = serde_json::from_slice(body).map_err(bad_body)?;
        let connection = self.sessions.connection(caller)?;
        let turn = connection.turn().await?;
        answered(plan_of(&turn, &query.sql).await?)
    }

    /// Renews the lease or the waiting result of a ticket.
    fn renew(&self, caller: &CallContext, ticket: &[u8]) -> Result<(), Status> {
        if is_json(ticket) {
            let lease = TableCommand::of_json(ticket)?.lease;
            return lease.map_or(Ok(()), |lease| self.leases.renew(caller, lease.as_bytes()));
        }
        match decode(ticket, "ticket")? {
            Command::TicketStatementQuery(ticket) => self.tickets.renew(&caller.principal, &ticket.statement_handle),
            _ => Ok(()),
        }
    }

    /// Cancels every result of the FlightInfo.
    fn cancel(&self, caller: &CallContext, info: FlightInfo) -> Result<CancelStatus, Status> {
        let tickets = info.endpoint.iter().map(|endpoint| endpoint.ticket.as_ref().map(|ticket| &ticket.ticket));
        let cancelled = tickets.flatten().filter_map(|ticket| match handle_of(Some(ticket)) {
            Some(handle) => self.tickets.cancel(&caller.principal, &handle),
            None => lease_of(ticket).filter(|lease| self.leases.cancel(caller, lease.as_bytes())).map(|_| CancelStatus::Cancelled),
        });
        let cancelled: Vec<_> = cancelled.collect();
        let unknown =
            || Status::not_found("this FlightInfo has no result that waits or runs: it was fetched to its end, or cancelled before");
        cancelled.first().copied().ok_or_else(unknown)
    }

    /// The progress of a statement of the caller: that of a ticket, or the last one of the session. It is looked up without
    /// SQL, so that it works while the statement holds the session's lock and all permits are taken. A statement that does not
    /// run, or belongs to another user, has no answer and is no error: clients that poll are often late.
    fn progress(&self, caller: &CallContext, body: &Bytes) -> Acted {
        let report = match (body.is_empty(), &caller.session) {
            (true, Some((_, connection))) => connection.progress(),
            (true, None) => {
                return Err(Status::failed_precondition(
                    "this call has no session whose statement it could mean; send the ticket of a result",
                ));
            }
            (false, _) => {
                let handle = handle_of(Some(body));
                let handle = handle.ok_or_else(|| {
                    Status::invalid_argument("the body of the action is to be the ticket of a statement's result, or empty")
                })?;
                self.tickets.progress(&caller.principal, &handle)
            }
        };
        report.map_or_else(nothing, |report| answered(progress_json(&report)))
    }

    fn cancel_call(&self, caller: &CallContext, name: &Bytes) -> Acted {
        match self.named_calls.end(&caller.principal, name) {
            true => nothing(),
            false => Err(Status::not_found("no call of yours runs by this name; it has ended, or has not come yet")),
        }
    }

    fn stats(&self) -> Bytes {
        let counts = self.counts();
        let stats = serde_json::json!({
            "sessions": counts.sessions,
            "transactions": counts.transactions,
            "prepared_statements": counts.prepared_statements,
            "results_waiting": counts.results_waiting,
            "results_running": counts.results_running,
            "leases": counts.leases,
        });
        stats.to_string().into()
    }
}

/// The handle in a ticket of this server.
fn handle_of(ticket: Option<&Bytes>) -> Option<Bytes> {
    match decode(ticket?, "ticket") {
        Ok(Command::TicketStatementQuery(ticket)) => Some(ticket.statement_handle),
        _ => None,
    }
}

fn packed<M: ProstMessageExt>(body: &Bytes) -> Result<M, Status> {
    let long = [
        ActionCreatePreparedStatementRequest::type_url(),
        ActionCreatePreparedSubstraitPlanRequest::type_url(),
        ActionCancelQueryRequest::type_url(),
    ];
    if !long.contains(&M::type_url()) {
        check_length(body, "body of the action")?;
    }
    let any = Any::decode(body.clone()).map_err(|_| protobuf_status("body of the action"))?;
    any.unpack().ok().flatten().ok_or_else(|| protobuf_status("body of the action"))
}

pub fn answer(message: impl Message) -> Acted {
    answered(message.encode_to_vec().into())
}

fn answered(body: Bytes) -> Acted {
    Ok(Response::new(one(arrow_flight::Result { body })))
}

fn nothing() -> Acted {
    Ok(Response::new(Box::pin(futures::stream::empty())))
}
