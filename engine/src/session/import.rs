//! Imports files that a program reads into a table.

use std::sync::Arc;

use tracing::Instrument;

use super::Session;
use crate::ingest::load::{ImportSummary, LoadOptions};
use crate::queries::{Query, StatementKind};
use common::error::EngineError;
use common::type_names::quoted;
use files::import::FileScan;

impl Session {
    /// Reads files into a table, in one commit.
    pub async fn import(&self, options: LoadOptions, scan: FileScan) -> Result<ImportSummary, EngineError> {
        let entry = self.register_statement(&format!("IMPORT INTO {}", quoted(&options.table)));
        let done = self.import_in(entry.query(), options, scan).instrument(entry.query().span.clone()).await;
        let rows = done.as_ref().map_or(0, |done| done.rows);
        entry.close(StatementKind::Write, rows, done)
    }

    async fn import_in(&self, query: &Arc<Query>, options: LoadOptions, scan: FileScan) -> Result<ImportSummary, EngineError> {
        let start_lock = self.start_lock(query).await?;
        let ctx = self.begin(&start_lock, "", query)?;
        match ctx.catalog.check(|authorization| authorization.files("import files")) {
            Ok(()) => query.commit_guard.until_stopped(Box::pin(crate::ingest::load::load(&ctx, options, scan))).await,
            Err(error) => Err(error),
        }
    }
}
