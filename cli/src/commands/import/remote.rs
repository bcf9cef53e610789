//! Imports files of this machine into tables of a server: they are read here, streamed, and committed there at once.

use std::sync::Arc;
use std::time::Instant;

use engine::import::{FileScan, IfExists, IfMissing, ImportError, IngestTarget};
use engine::{RecordBatch, TableListing};
use flight_client::{IngestError, RemoteSession};
use tokio::sync::mpsc;

use super::{Imported, Load};
use crate::errors::{CliError, Result, StatementError};

/// Batches that are read ahead of the network.
const AHEAD: usize = 2;

pub async fn load(session: &RemoteSession, load: &Load<'_>, scan: FileScan) -> Result<Imported> {
    let started = Instant::now();
    let failed = |error| CliError::from(StatementError::from(error));
    let table_schema = match load.args.append {
        true => session.table_schema(load.namespace, load.name).await.map_err(failed)?,
        false => None,
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
    let target = IngestTarget {
        schema: Some(load.namespace.to_string()),
        table: load.name.to_string(),
        if_missing: IfMissing::Create,
        if_exists: match (load.args.append, load.args.replace) {
            (true, _) => IfExists::Append,
            (_, true) => IfExists::Replace,
            _ => IfExists::Fail,
        },
    };
    let (schema, progress) = (scan.schema(), scan.progress());
    let rows = session.ingest(target, schema, read(scan)).await.map_err(|error| match error {
        IngestError::Rows(error) => CliError::message(error),
        IngestError::Remote(error) => failed(error),
    })?;
    let elapsed_ms = started.elapsed().as_secs_f64() * 1e3;
    let is_it = |table: &TableListing| table.schema == load.namespace && table.name == load.name;
    let table = session.tables().await.map_err(failed)?.into_iter().find(is_it);
    let size_bytes = table.and_then(|table| table.size_bytes).unwrap_or(0);
    Ok(Imported { rows, rows_skipped: progress.rows_skipped(), size_bytes, segments: None, elapsed_ms })
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
