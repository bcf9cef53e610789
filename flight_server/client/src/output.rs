//! The result of a statement as a stream, which is read no faster than its user consumes it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use arrow::array::{RecordBatch, RecordBatchOptions, UInt64Array};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow_flight::decode::{DecodedPayload, FlightDataDecoder};
use arrow_flight::error::FlightError;
use arrow_flight::{FlightInfo, Ticket};
use engine::{QueryReport, StatementKind};
use flight_wire::{batch_bytes, check, decoded, guarded, report_of_json};
use futures::{Stream, StreamExt, TryStreamExt};

use crate::connection_state::ConnectionState;
use crate::error::RemoteError;
use crate::link::Link;

/// The limit for a decompressed message. The client asks for no compression.
pub(crate) const UNPACKED_BYTES_MAX: u64 = 2 << 30;

pub struct RemoteOutput {
    shared: Arc<ConnectionState>,
    /// The number of the link that the result comes over.
    number: u64,
    sql: String,
    schema: SchemaRef,
    kind: StatementKind,
    rows: Rows,
    report: QueryReport,
    /// Until the report comes, this counts the rows that have arrived.
    rows_received: u64,
    bytes_received: u64,
    is_reported: bool,
}

enum Rows {
    /// The stream of the server; `None` after its end.
    Coming(Option<FlightDataDecoder>),
    /// The number of rows of a write, as the engine's one-row result.
    Counted(Option<RecordBatch>),
}

impl RemoteOutput {
    pub(crate) fn begin(shared: &Arc<ConnectionState>, link: Link, info: FlightInfo, sql: &str) -> Result<RemoteOutput, RemoteError> {
        let (report, kind) = report_of_json(&info.app_metadata).unwrap_or_default();
        let changed = u64::try_from(info.total_records).unwrap_or(0);
        let tickets: Vec<Ticket> = info.endpoint.iter().filter_map(|endpoint| endpoint.ticket.clone()).collect();
        let schema = guarded(|| info.try_decode_schema()).ok().and_then(Result::ok);
        let schema = schema.ok_or_else(|| shared.protocol("a schema that cannot be read"))?;
        let number = link.number;
        let kind = kind.unwrap_or(match (schema.fields().is_empty(), changed) {
            (false, _) => StatementKind::Query,
            (true, 0) => StatementKind::Ddl,
            (true, _) => StatementKind::Write,
        });
        let (schema, rows) = match kind {
            StatementKind::Write => {
                let count = counted(changed).ok_or_else(|| shared.protocol("a number of rows"))?;
                (count.schema(), Rows::Counted(Some(count)))
            }
            _ if schema.fields().is_empty() => (Arc::new(schema), Rows::Counted(None)),
            _ => (Arc::new(plain(&schema)), Rows::Coming(Some(decoder(link, tickets)))),
        };
        let is_reported = !matches!(rows, Rows::Coming(_));
        let (shared, sql) = (Arc::clone(shared), sql.to_string());
        Ok(RemoteOutput { shared, number, sql, schema, kind, rows, report, rows_received: 0, bytes_received: 0, is_reported })
    }

    pub fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    pub fn kind(&self) -> StatementKind {
        self.kind
    }

    /// Complete once the stream has ended. Before that, it only counts what has arrived.
    pub fn report(&self) -> QueryReport {
        match self.is_reported {
            true => self.report.clone(),
            false => QueryReport { rows_returned: self.rows_received, bytes_returned: self.bytes_received, ..QueryReport::default() },
        }
    }

    pub async fn collect(mut self) -> Result<Vec<RecordBatch>, RemoteError> {
        let mut batches = Vec::new();
        while let Some(batch) = self.next().await {
            batches.push(batch?);
        }
        Ok(batches)
    }

    /// `None` for the batch without rows that only carries the report.
    fn receive(&mut self, batch: RecordBatch, metadata: &[u8]) -> Option<Result<RecordBatch, RemoteError>> {
        if let Some((report, _)) = report_of_json(metadata) {
            self.report = if self.is_reported { sum(&self.report, &report) } else { report };
            self.is_reported = true;
            if batch.num_rows() == 0 {
                return None;
            }
        }
        self.rows_received += batch.num_rows() as u64;
        self.bytes_received += batch_bytes(&batch) as u64;
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        let batch = RecordBatch::try_new_with_options(self.schema(), batch.columns().to_vec(), &options);
        Some(batch.map_err(|_| self.shared.protocol("rows of other columns than it promised")))
    }
}

impl Stream for RemoteOutput {
    type Item = Result<RecordBatch, RemoteError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let coming = match &mut self.rows {
                Rows::Counted(count) => return Poll::Ready(count.take().map(Ok)),
                Rows::Coming(coming) => coming,
            };
            let next = match decoded(coming, context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(next) => next,
            };
            match next {
                None => {
                    *coming = None;
                    return Poll::Ready(None);
                }
                Some(Err(status)) => {
                    *coming = None;
                    let error = self.shared.failed(self.number, &status, &self.sql);
                    return Poll::Ready(Some(Err(error)));
                }
                Some(Ok(message)) => {
                    let metadata = message.app_metadata();
                    if let DecodedPayload::RecordBatch(batch) = message.payload
                        && let Some(result) = self.receive(batch, &metadata)
                    {
                        return Poll::Ready(Some(result));
                    }
                }
            }
        }
    }
}

/// The messages of all tickets, one ticket after the other: a ticket is fetched when the previous one has ended.
fn decoder(link: Link, tickets: Vec<Ticket>) -> FlightDataDecoder {
    let streams = futures::stream::iter(tickets).then(move |ticket| link.clone().get(ticket));
    let messages = streams.try_flatten().and_then(|message| async {
        match message.data_header.is_empty() {
            true => Ok(message),
            false => check(&message, UNPACKED_BYTES_MAX).map(|()| message),
        }
    });
    FlightDataDecoder::new(messages.map_err(FlightError::from))
}

/// Removes the metadata that Flight SQL adds to columns: it was not in the result.
pub(crate) fn plain(schema: &Schema) -> Schema {
    let fields = schema.fields().iter().map(|field| {
        let mut metadata = field.metadata().clone();
        metadata.retain(|key, _| !key.starts_with("ARROW:FLIGHT:SQL:"));
        field.as_ref().clone().with_metadata(metadata)
    });
    Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone())
}

fn counted(rows: u64) -> Option<RecordBatch> {
    let schema = Schema::new(vec![Field::new("count", DataType::UInt64, false)]);
    RecordBatch::try_new(Arc::new(schema), vec![Arc::new(UInt64Array::from(vec![rows]))]).ok()
}

/// Adds up the reports of the parts of one result.
fn sum(one: &QueryReport, other: &QueryReport) -> QueryReport {
    QueryReport {
        elapsed_ms: one.elapsed_ms + other.elapsed_ms,
        planning_ms: one.planning_ms + other.planning_ms,
        bytes_touched: one.bytes_touched + other.bytes_touched,
        node_bytes_touched: one.node_bytes_touched + other.node_bytes_touched,
        bytes_returned: one.bytes_returned + other.bytes_returned,
        rows_returned: one.rows_returned + other.rows_returned,
        rows_scanned: one.rows_scanned + other.rows_scanned,
        rows_total: one.rows_total + other.rows_total,
        segments_total: one.segments_total + other.segments_total,
        segments_pruned: one.segments_pruned + other.segments_pruned,
        zones_total: one.zones_total + other.zones_total,
        zones_pruned: one.zones_pruned + other.zones_pruned,
        precopied_bytes: one.precopied_bytes + other.precopied_bytes,
        reread_bytes: one.reread_bytes + other.reread_bytes,
        placed_bytes: one.placed_bytes + other.placed_bytes,
        staleness_ms: one.staleness_ms.max(other.staleness_ms),
        spilled_bytes: one.spilled_bytes + other.spilled_bytes,
        peak_memory_bytes: one.peak_memory_bytes.max(other.peak_memory_bytes),
    }
}
