//! Sends rows of the client into a table of the server, in one commit.

use std::future::pending;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use arrow_flight::encode::FlightDataEncoderBuilder;
use arrow_flight::error::FlightError;
use arrow_flight::sql::{
    CommandStatementIngest, DoPutUpdateResult, ProstMessageExt, TableDefinitionOptions, TableExistsOption, TableNotExistOption,
};
use arrow_flight::{FlightData, FlightDescriptor};
use engine::RecordBatch;
use engine::import::{IfExists, IfMissing, IngestTarget};
use flight_wire::{WireTypes, for_wire, wire_schema};
use futures::{Stream, StreamExt};
use parking_lot::Mutex;
use prost::Message;
use tokio::sync::oneshot;

use crate::error::RemoteError;
use crate::session::RemoteSession;

#[derive(Debug)]
pub enum IngestError<E> {
    /// The client's stream of rows failed. The server has kept none of them.
    Rows(E),
    Remote(RemoteError),
}

impl RemoteSession {
    /// Sends all of the rows, or none if their stream fails. Returns their number.
    pub async fn ingest<E: Send + 'static>(
        &self,
        target: IngestTarget,
        schema: SchemaRef,
        rows: impl Stream<Item = Result<RecordBatch, E>> + Send + 'static,
    ) -> Result<u64, IngestError<E>> {
        let mut link = self.link().await.map_err(IngestError::Remote)?;
        let (broken, breaks) = oneshot::channel();
        let wire = wire_schema(&schema, WireTypes::default());
        let error = Arc::new(Mutex::new(None));
        let noted = Arc::clone(&error);
        let pieces = rows.flat_map(move |rows| {
            let pieces = match rows {
                Ok(batch) => for_wire(batch, &wire).into_iter().map(|piece| piece.map_err(FlightError::from)).collect(),
                Err(error) => {
                    *noted.lock() = Some(error);
                    vec![Err(FlightError::protocol("the rows broke off"))]
                }
            };
            futures::stream::iter(pieces)
        });
        let messages = FlightDataEncoderBuilder::new()
            .with_flight_descriptor(Some(FlightDescriptor::new_cmd(command(target).as_any().encode_to_vec())))
            .with_schema(wire_schema(&schema, WireTypes::default()))
            .with_max_flight_data_size(usize::MAX)
            .build(pieces);
        let (request, number) = (link.request(unterminated_stream(messages, broken)), link.number);
        let call = async {
            let mut answers = link.flight.do_put(request).await?.into_inner();
            answers.message().await
        };
        let answer = tokio::select! {
            biased;
            Ok(unsent) = breaks => return Err(match error.lock().take() {
                Some(error) => IngestError::Rows(error),
                None => IngestError::Remote(self.shared.protocol(&format!("it is sent no such rows ({unsent})"))),
            }),
            answer = call => answer.map_err(|status| IngestError::Remote(self.shared.failed(number, &status, "")))?,
        };
        let unclear = || IngestError::Remote(self.shared.protocol("no number of rows"));
        let count = answer.and_then(|answer| DoPutUpdateResult::decode(answer.app_metadata).ok()).ok_or_else(unclear)?;
        u64::try_from(count.record_count).map_err(|_| unclear())
    }
}

/// The server takes a stream that ends normally as complete. So this one never ends after an error: it reports it, and the
/// call is dropped instead.
fn unterminated_stream(
    messages: impl Stream<Item = Result<FlightData, FlightError>> + Send + Unpin + 'static,
    broken: oneshot::Sender<FlightError>,
) -> impl Stream<Item = FlightData> + Send + 'static {
    futures::stream::unfold((messages, broken), |(mut messages, broken)| async move {
        match messages.next().await {
            None => None,
            Some(Ok(message)) => Some((message, (messages, broken))),
            Some(Err(error)) => {
                // The receiver is gone if the call has already ended.
                let _ = broken.send(error);
                pending().await
            }
        }
    })
}

fn command(target: IngestTarget) -> CommandStatementIngest {
    let if_not_exist = match target.if_missing {
        IfMissing::Create => TableNotExistOption::Create,
        IfMissing::Fail => TableNotExistOption::Fail,
    };
    let if_exists = match target.if_exists {
        IfExists::Append => TableExistsOption::Append,
        IfExists::Replace => TableExistsOption::Replace,
        IfExists::Fail => TableExistsOption::Fail,
    };
    let options = TableDefinitionOptions { if_not_exist: if_not_exist as i32, if_exists: if_exists as i32 };
    CommandStatementIngest {
        table_definition_options: Some(options),
        table: target.table,
        schema: target.schema,
        ..CommandStatementIngest::default()
    }
}
