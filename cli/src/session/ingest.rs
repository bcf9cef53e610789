//! Files of this machine in tables of a server: they are read here, streamed, and committed there at once.

use std::sync::Arc;

use engine::RecordBatch;
use engine::import::{FileScan, IfExists, IfMissing, ImportError, IngestTarget, ReadOptions};
use flight_client::{IngestError, RemoteSession};
use tokio::sync::mpsc;

use crate::errors::{CliError, Result, StatementError};

/// Batches that are read ahead of the network.
const AHEAD: usize = 2;

/// Appends the rows of a file to a table, and counts them.
pub async fn append(session: &RemoteSession, (schema, table): (String, String), path: &str) -> Result<u64> {
    let scan = FileScan::open(&[path.to_string()], ReadOptions::default()).map_err(CliError::message)?;
    let target = IngestTarget { schema: Some(schema), table, if_missing: IfMissing::Fail, if_exists: IfExists::Append };
    ingest(session, target, scan).await
}

/// Writes the rows of files to a table, and counts them.
pub async fn ingest(session: &RemoteSession, target: IngestTarget, scan: FileScan) -> Result<u64> {
    let failed = |error| CliError::from(StatementError::from(error));
    let table_schema = match target.if_exists {
        IfExists::Append => {
            let schema = target.schema.as_deref().unwrap_or("main");
            session.table_schema(schema, &target.table).await.map_err(failed)?
        }
        _ => None,
    };
    let scan = match table_schema {
        // The types of the table apply: digits in a VARCHAR column stay text. The server fills columns that no file has.
        Some(schema) => {
            let mut scan = scan;
            let missing = scan.missing(&schema);
            let read: Vec<usize> = (0..schema.fields().len()).filter(|column| !missing.contains(column)).collect();
            scan.with_schema(Arc::new(schema.project(&read).map_err(CliError::message)?)).map_err(CliError::message)?
        }
        None => scan,
    };
    let schema = scan.schema();
    session.ingest(target, schema, read(scan)).await.map_err(|error| match error {
        IngestError::Rows(error) => CliError::message(error),
        IngestError::Remote(error) => failed(error),
    })
}

/// A separate thread reads the files, and waits for the sender.
fn read(scan: FileScan) -> impl futures::Stream<Item = std::result::Result<RecordBatch, ImportError>> + Send + 'static {
    let (sender, mut receiver) = mpsc::channel(AHEAD);
    tokio::task::spawn_blocking(move || {
        for batch in scan.batches() {
            if sender.blocking_send(batch).is_err() {
                return;
            }
        }
    });
    futures::stream::poll_fn(move |context| receiver.poll_recv(context))
}
