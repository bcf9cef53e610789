//! Imports files of this machine into tables of a server.

use std::time::Instant;

use engine::TableListing;
use engine::import::{FileScan, IfExists, IfMissing, IngestTarget};
use flight_client::RemoteSession;

use super::{Imported, Load};
use crate::errors::{CliError, Result, StatementError};
use crate::session::ingest::ingest;

pub async fn load(session: &RemoteSession, load: &Load<'_>, scan: FileScan) -> Result<Imported> {
    let started = Instant::now();
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
    let progress = scan.progress();
    let rows = ingest(session, target, scan).await?;
    let elapsed_ms = started.elapsed().as_secs_f64() * 1e3;
    let is_it = |table: &TableListing| table.schema == load.namespace && table.name == load.name;
    let tables = session.tables().await.map_err(|error| CliError::from(StatementError::from(error)))?;
    let size_bytes = tables.into_iter().find(is_it).and_then(|table| table.size_bytes).unwrap_or(0);
    Ok(Imported { rows, rows_skipped: progress.rows_skipped(), size_bytes, segments: None, order_by: Vec::new(), elapsed_ms })
}
