//! A server as a node: it runs parts of another engine's plans, and serves its tables.

use std::fmt;
use std::future::{Future, poll_fn, ready};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use arrow::array::RecordBatch;
use arrow_flight::decode::{DecodedFlightData, DecodedPayload, FlightDataDecoder};
use arrow_flight::error::FlightError;
use arrow_flight::sql::{CommandStatementSubstraitPlan, ProstMessageExt, SubstraitPlan};
use arrow_flight::{FlightData, FlightDescriptor, Ticket};
use flight_wire::{BRIEF, TableCommand, TableMetadata, check, decoded, guarded, report_of_json};
use futures::stream::BoxStream;
use futures::{StreamExt, TryStreamExt};
use prost::Message;
use substrait_plans::pushdown::{Node, NodeError, NodeReport, NodeRows, NodeTable};
use tokio::sync::OnceCell;
use tonic::metadata::MetadataValue;
use tonic::{Status, Streaming};

use crate::connection_state::ConnectionState;
use crate::error::RemoteError;
use crate::link::Link;
use crate::location::node_name;
use crate::options::ConnectOptions;
use crate::output::{UNPACKED_BYTES_MAX, plain};
use crate::session::RemoteSession;

/// Connects with the first request, and reconnects after a break.
pub struct FlightNode {
    name: String,
    options: ConnectOptions,
    session: OnceCell<RemoteSession>,
}

impl fmt::Debug for FlightNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FlightNode").field("name", &self.name).finish_non_exhaustive()
    }
}

impl FlightNode {
    pub fn new(options: ConnectOptions) -> FlightNode {
        FlightNode { name: node_name(&options.address), options, session: OnceCell::new() }
    }

    async fn session(&self) -> Result<&RemoteSession, NodeError> {
        let connect = || RemoteSession::connect(self.options.clone());
        self.session.get_or_try_init(connect).await.map_err(|error| failed(&self.name, error))
    }

    /// Runs `call`, which only reads. So it is repeated once in a new session if the old one is gone.
    async fn call_with_retry<T, F>(&self, call: impl Fn(Link) -> F + Send + Sync) -> Result<(T, NodeSession), NodeError>
    where
        F: Future<Output = Result<T, Status>> + Send,
    {
        let session = self.session().await?;
        let mut is_again = false;
        loop {
            let mut link = session.link().await.map_err(|error| failed(&self.name, error))?;
            link.set_header(BRIEF, MetadataValue::from_static("true"));
            let over = NodeSession { shared: Arc::clone(&session.shared), number: link.number };
            match call(link).await {
                Ok(answer) => return Ok((answer, over)),
                Err(status) => {
                    let error = over.failed(&status);
                    if is_again || !error.is_lost() {
                        return Err(failed(&self.name, error));
                    }
                    is_again = true;
                }
            }
        }
    }

    async fn rows(&self, ticket: Ticket) -> Result<NodeRows, NodeError> {
        let (messages, over) = self.call_with_retry(|link| link.get(ticket.clone())).await?;
        let report = Arc::new(NodeReport::default());
        NodeReport::add(&report.bytes_sent, ticket.ticket.len());
        let mut coming = NodeStream { decoder: Some(decoder(messages, &report)), over, node: self.name.clone() };
        let schema = match coming.next().await.transpose()? {
            Some(DecodedFlightData { payload: DecodedPayload::Schema(schema), .. }) => Arc::new(plain(&schema)),
            _ => return Err(NodeError::Unlike { node: self.name.clone(), what: "rows without their columns".into() }),
        };
        Ok(NodeRows { schema, batches: coming.batches(), report })
    }
}

#[tonic::async_trait]
impl Node for FlightNode {
    fn address(&self) -> &str {
        &self.name
    }

    async fn table(&self, namespace: &str, name: &str) -> Result<NodeTable, NodeError> {
        // A range of rows, even if it covers all: for a whole table the server would take a lease and offer parts, which are not fetched.
        let command = TableCommand { rows: Some((0, u64::MAX)), ..table(namespace, name) };
        let descriptor = FlightDescriptor::new_cmd(command.to_json());
        let ask = |mut link: Link| {
            let request = link.request(descriptor.clone());
            async move { Ok(link.flight.get_flight_info(request).await?.into_inner()) }
        };
        let (info, _) = self.call_with_retry(ask).await?;
        let TableMetadata { function_languages } = TableMetadata::of_json(&info.app_metadata);
        let rows = u64::try_from(info.total_records).ok();
        let schema = guarded(|| info.try_decode_schema()).ok().and_then(Result::ok);
        let unlike = || NodeError::Unlike { node: self.name.clone(), what: "columns that cannot be read".into() };
        Ok(NodeTable { schema: Arc::new(plain(&schema.ok_or_else(unlike)?)), rows, languages: function_languages.into() })
    }

    /// One call suffices: a plan is its own ticket.
    async fn run(&self, plan: Vec<u8>) -> Result<NodeRows, NodeError> {
        let plan = SubstraitPlan { plan: plan.into(), version: String::new() };
        let command = CommandStatementSubstraitPlan { plan: Some(plan), transaction_id: None };
        self.rows(Ticket::new(command.as_any().encode_to_vec())).await
    }

    async fn fetch(&self, namespace: &str, name: &str) -> Result<NodeRows, NodeError> {
        self.rows(Ticket::new(table(namespace, name).to_json())).await
    }
}

fn table(namespace: &str, name: &str) -> TableCommand {
    TableCommand { schema: namespace.to_string(), table: name.to_string(), columns: None, rows: None, version: None, lease: None }
}

/// The session and the link of a request.
struct NodeSession {
    shared: Arc<ConnectionState>,
    number: u64,
}

impl NodeSession {
    fn failed(&self, status: &Status) -> RemoteError {
        self.shared.failed(self.number, status, "")
    }
}

/// The address is said once, as tables have it.
fn failed(node: &str, error: RemoteError) -> NodeError {
    let node = node.to_string();
    let hint = error.hint_for_tables().map(str::to_string);
    match error {
        RemoteError::Statement { message, hint, kind, .. } => NodeError::Refused { node, message, hint, kind },
        RemoteError::Protocol { what, .. } => NodeError::Unlike { node, what },
        // Its words about settings and transactions do not apply: sessions of a node have none.
        error @ RemoteError::Ended { .. } => NodeError::Unreachable { node, reason: error.to_string(), hint: None },
        RemoteError::Lost { reason, .. } => NodeError::Unreachable { node, reason, hint: None },
        RemoteError::Unreachable { reason, .. } => NodeError::Unreachable { node, reason, hint },
        RemoteError::NotAdmitted { reason, .. } => {
            NodeError::Unreachable { node, reason: format!("it does not let you in: {reason}"), hint }
        }
        error @ (RemoteError::TlsFile { .. } | RemoteError::OwnCertificate { .. } | RemoteError::TlsUnused { .. }) => {
            NodeError::Unreachable { node, reason: error.to_string(), hint }
        }
    }
}

/// Counts messages before they are decoded, and removes the report, which is a message of its own.
fn decoder(messages: Streaming<FlightData>, report: &Arc<NodeReport>) -> FlightDataDecoder {
    let report = Arc::clone(report);
    let checked = messages.try_filter_map(move |message| {
        let bytes = message.data_header.len() + message.data_body.len() + message.app_metadata.len();
        NodeReport::add(&report.bytes_on_wire, bytes);
        if let Some((brief_report, _)) = report_of_json(&message.app_metadata) {
            report.bytes_touched.store(brief_report.bytes_touched, Ordering::Relaxed);
            report.bytes_returned.store(brief_report.bytes_returned, Ordering::Relaxed);
        }
        let has_data = !message.data_header.is_empty() || !message.data_body.is_empty();
        let checked = if has_data { check(&message, UNPACKED_BYTES_MAX) } else { Ok(()) };
        ready(checked.map(|()| has_data.then_some(message)))
    });
    FlightDataDecoder::new(checked.map_err(FlightError::from))
}

/// The stream of messages.
struct NodeStream {
    decoder: Option<FlightDataDecoder>,
    over: NodeSession,
    node: String,
}

impl NodeStream {
    async fn next(&mut self) -> Option<Result<DecodedFlightData, NodeError>> {
        let next = poll_fn(|context| decoded(&mut self.decoder, context)).await?;
        Some(next.map_err(|status| failed(&self.node, self.over.failed(&status))))
    }

    fn batches(self) -> BoxStream<'static, Result<RecordBatch, NodeError>> {
        let batches = futures::stream::unfold(self, |mut coming| async move {
            loop {
                match coming.next().await? {
                    Err(error) => return Some((Err(error), coming)),
                    Ok(DecodedFlightData { payload: DecodedPayload::RecordBatch(batch), .. }) if batch.num_rows() > 0 => {
                        return Some((Ok(batch), coming));
                    }
                    Ok(_) => {}
                }
            }
        });
        batches.boxed()
    }
}
