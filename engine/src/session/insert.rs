//! INSERT of few literal rows without the planner, and the write of a target's rows to the store.

use std::sync::Arc;
use std::time::Instant;

use arrow::array::RecordBatch;
use pmem_store::{Acknowledgement, DEFAULT_NAMESPACE, Durability, StoreError, TableVersion};

use super::Session;
use crate::insert::{InsertTarget, InsertValues, insert_values};
use crate::output::{QueryOutput, ReportSources};
use crate::queries::{Query, StatementKind};
use common::count::count_batch;
use common::engine_settings::switches;
use common::error::EngineError;
use common::memory::QueryPool;
use common::privilege::Privilege;
use common::report::ReportCollector;
use table::access::check_not_audit;
use table::blocking::{blocking, blocking_here};
use table::constraints::Enforcer;
use table::physical::physical_rows;
use table::write::{FEW_BYTES, FEW_ROWS, RowWriter, check_not_null};

impl Session {
    /// Runs the statement if it is an INSERT of few literal rows; `None` if it has to be planned.
    pub(crate) async fn insert_directly(&self, text: &str, query: &Query) -> Result<Option<QueryOutput>, EngineError> {
        let started = Instant::now();
        if !self.inserts_directly() {
            return Ok(None);
        }
        let Some(statement) = insert_values(text) else { return Ok(None) };
        if self.means_temporary_table(&statement) {
            return Ok(None);
        }
        let Some(target) = self.target(target_name(&statement))? else { return Ok(None) };
        let Some(rows) = target.rows(&statement, self.catalog.zone().as_deref()) else { return Ok(None) };
        // It is done before anybody could stop it.
        query.commit_guard.begin_commit()?;
        query.set_kind(StatementKind::Write);
        let count = match self.write_rows(&target, rows).await {
            // Starts again, as every statement does after a conflict.
            Err(EngineError::Store(StoreError::Conflict { .. } | StoreError::TableGone)) if !self.is_in_transaction() => {
                query.commit_guard.abandon_commit();
                return Ok(None);
            }
            count => count?,
        };
        let process = Arc::clone(&self.engine.runtime.memory_pool);
        let report_sources = ReportSources {
            started,
            planning_ms: 0.0,
            collector: Arc::new(ReportCollector::default()),
            pool: Arc::new(QueryPool::new(process, self.engine.query_memory_limit_bytes)),
            plan: None,
            transaction: Arc::clone(&self.transaction),
            planned_in: self.transaction.open_id(),
            read_recheck: None,
        };
        Ok(Some(QueryOutput::write_output(count_batch(count)?, report_sources)))
    }

    /// Whether direct inserts are enabled, and names and literals have their default meaning.
    fn inserts_directly(&self) -> bool {
        let directly = {
            let state = self.context.state_ref();
            let state = state.read();
            let options = state.config().options();
            options.sql_parser.parse_float_as_decimal && switches(options).direct_inserts
        };
        directly && self.names_are_plain() && !self.transaction.has_failed()
    }

    fn means_temporary_table(&self, statement: &InsertValues) -> bool {
        let temporary = self.catalog.temporary();
        !temporary.is_empty() && temporary.named(&statement.reference()).is_some()
    }

    /// Whether identifiers have their default meaning.
    pub(crate) fn names_are_plain(&self) -> bool {
        let state = self.context.state_ref();
        let state = state.read();
        let options = state.config().options();
        options.catalog.default_schema == DEFAULT_NAMESPACE && options.sql_parser.enable_ident_normalization
    }

    /// The table as the next statement sees it.
    pub(super) fn target(&self, name: (String, String)) -> Result<Option<Arc<InsertTarget>>, EngineError> {
        check_not_audit(&name.0, &name.1)?;
        let target = match self.transaction.snapshot() {
            // The transaction may have changed the table.
            Some(snapshot) => match snapshot.table(&name.0, &name.1)? {
                Some(table) => Some(Arc::new(InsertTarget::new(&self.engine, &table)?)),
                None => None,
            },
            None => self.targets.current(&self.engine, name)?,
        };
        self.seen_target(target)
    }

    /// `None` for a table that the session's user cannot see; an error if the user may not insert into it.
    fn seen_target(&self, target: Option<Arc<InsertTarget>>) -> Result<Option<Arc<InsertTarget>>, EngineError> {
        let (Some(target), Some(authorization)) = (&target, self.catalog.authorization_now()?) else { return Ok(target) };
        let version = &target.version;
        if authorization.on_table(version.id, &version.namespace).is_none() {
            return Ok(None);
        }
        authorization.known_table(Privilege::Insert, version.id, &version.namespace, &version.name)?;
        Ok(Some(Arc::clone(target)))
    }

    /// Whether the session's user may still insert into a table that the session has written to before.
    pub(super) fn may_insert(&self, target: &InsertTarget) -> Result<bool, EngineError> {
        let Some(authorization) = self.catalog.authorization_now()? else { return Ok(true) };
        Ok(authorization.on_table(target.version.id, &target.version.namespace).has(Privilege::Insert))
    }

    /// Writes rows in the target's declared types and order. A conflict if the table has changed since the target was made.
    pub(super) async fn write_rows(&self, target: &Arc<InsertTarget>, rows: RecordBatch) -> Result<u64, EngineError> {
        let count = rows.num_rows() as u64;
        if count == 0 {
            return Ok(0);
        }
        let is_few = rows.num_rows() <= FEW_ROWS && rows.get_array_memory_size() <= FEW_BYTES;
        if is_few && target.has_no_keys() && !self.is_in_transaction() && self.append_to_log(target, &rows).await? {
            return Ok(count);
        }
        let catalog = self.catalog.for_statement(None)?;
        let (scope, now) = (catalog.write_scope(), catalog.snapshot());
        // The rows and the rules are for a known version of the table, so the transaction must begin with that version.
        let is_same_version = |table| TableVersion::from(&table) == target.version;
        if !now.table(&target.version.namespace, &target.version.name)?.is_some_and(is_same_version) {
            return Err(StoreError::Conflict { table: target.version.name.clone() }.into());
        }
        let is_quick = is_few && target.has_no_keys() && self.is_in_transaction();
        let target = Arc::clone(target);
        let write = move || {
            let mut writer = RowWriter::of_table(&scope, target.write.clone(), &target.rules)?;
            writer.write(rows)?;
            writer.commit_now("INSERT")
        };
        // Without a file to write and keys to search there is nothing to wait for.
        if is_quick { write() } else { blocking(write).await }
    }

    /// Returns false, without any effect, if the rows cannot go to the table's log alone.
    async fn append_to_log(&self, target: &Arc<InsertTarget>, rows: &RecordBatch) -> Result<bool, EngineError> {
        check_not_null(rows, &target.write, 0)?;
        if !target.rules.checks.is_empty() {
            Enforcer::new(&target.rules).see(rows)?;
        }
        let rows = physical_rows(std::slice::from_ref(rows), &target.physical)?;
        let durability = self.transaction.durability().unwrap_or(target.durability);
        if durability == Durability::Async && self.engine.store.append_at_once(&target.version, &rows)?.is_some() {
            self.engine.maintenance.wake();
            return Ok(true);
        }
        let (engine, target) = (Arc::clone(&self.engine), Arc::clone(target));
        let append = move || -> Result<Option<Acknowledgement>, EngineError> {
            let appended = engine.store.append_rows(&target.version, &rows, Some(durability))?;
            engine.maintenance.wake();
            Ok(appended)
        };
        // Waits for flushes and for the commits of others must not delay other tasks.
        if durability == Durability::Sync || self.engine.store.is_committing() {
            let done = blocking_here(move || Ok(append()?.map(Acknowledgement::wait).transpose()?)).await?;
            return Ok(done.is_some());
        }
        let Some(appended) = append()? else { return Ok(false) };
        match appended.is_visible() {
            true => appended.wait()?,
            false => blocking_here(move || Ok(appended.wait()?)).await?,
        };
        Ok(true)
    }
}

fn target_name(statement: &InsertValues) -> (String, String) {
    let namespace = statement.schema.as_deref().unwrap_or(DEFAULT_NAMESPACE);
    (namespace.to_string(), statement.table.clone())
}
