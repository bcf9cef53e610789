//! Ingests batches that a program sends into a table.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use futures::Stream;
use pmem_store::DEFAULT_NAMESPACE;
use tracing::Instrument;

use super::{Session, StartLock};
use crate::ingest::sent::{IngestTarget, ingest};
use crate::queries::{Query, StatementKind};
use common::error::EngineError;
use common::type_names::full_name;

impl Session {
    /// Adds all rows in one commit, or in the open transaction; none if the stream fails. Returns the number of rows.
    pub async fn ingest(
        &self,
        target: IngestTarget,
        schema: SchemaRef,
        batches: impl Stream<Item = Result<RecordBatch, EngineError>> + Send + 'static,
    ) -> Result<u64, EngineError> {
        // A table of that name may exist in another schema.
        let name = full_name(target.schema.as_deref().unwrap_or(DEFAULT_NAMESPACE), &target.table);
        let entry = self.register_statement(&format!("INGEST INTO {name}"));
        let run = async {
            let start_lock = self.start_lock(entry.query()).await?;
            self.ingest_in(&start_lock, entry.query(), target, schema, batches).await
        };
        let done = run.instrument(entry.query().span.clone()).await;
        let rows = done.as_ref().copied().unwrap_or(0);
        entry.close(StatementKind::Write, rows, done)
    }

    /// As part of the statement `query`, which holds the start lock.
    pub(crate) async fn ingest_in(
        &self,
        start_lock: &StartLock<'_>,
        query: &Arc<Query>,
        target: IngestTarget,
        schema: SchemaRef,
        batches: impl Stream<Item = Result<RecordBatch, EngineError>> + Send + 'static,
    ) -> Result<u64, EngineError> {
        self.check_not_failed()?;
        let ctx = self.begin(start_lock, "", query)?;
        let done = query.commit_guard.until_stopped(ingest(&ctx, target, schema, Box::pin(batches))).await;
        if done.is_err() {
            self.fail_transaction();
        }
        done
    }
}
