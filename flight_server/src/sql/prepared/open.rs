//! The prepared statements that are open, and the parameters bound to them.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use engine::StatementKind;
use flight_wire::{batch_bytes, guarded, parameter_schema, wire_schema};
use futures::StreamExt;
use parking_lot::Mutex;
use tonic::Status;

use crate::auth::Principal;
use crate::budget::{Budget, BudgetShare};
use crate::handles::{Handle, Handles};
use crate::options::ServerOptions;
use crate::sessions::{CallContext, Connection};
use crate::sql::statements::{Started, Statement, Values, is_kill, start_in};
use crate::sql::transactions::TransactionScope;
use crate::stream::{Batches, ClientOptions};

/// The limit of rows of parameters: a statement other than a plain INSERT runs once for each of them.
const PARAMETER_ROWS_MAX: usize = 1_000_000;
/// The approximate memory of a column of the result or of a parameter, including its metadata.
const FIELD_BYTES: usize = 1 << 10;

pub struct PreparedStatements {
    open: Handles<Prepared>,
    parameter_bytes_max: usize,
    budget: Arc<Budget>,
}

pub struct Prepared {
    pub(super) statement: Statement,
    pub(super) kind: StatementKind,
    pub connection: Arc<Connection>,
    /// The session in which it was prepared, and with which it ends.
    pub session: Option<Handle>,
    /// The schemas as they are sent. That of the result is empty if there is no result.
    pub schema: SchemaRef,
    pub parameters: SchemaRef,
    bound: Mutex<Bound>,
    /// The share of the budget for its text and its columns.
    _shares: [BudgetShare; 2],
}

/// Rows of parameters as they were sent, and their share of the budget.
#[derive(Default)]
pub struct BoundRows {
    pub rows: Vec<RecordBatch>,
    bytes: usize,
}

/// Rows of parameters.
#[derive(Default)]
struct Bound {
    rows: Vec<RecordBatch>,
    _share: Option<BudgetShare>,
}

impl PreparedStatements {
    pub fn new(options: &ServerOptions, budget: &Arc<Budget>) -> PreparedStatements {
        let max = options.prepared_max;
        let open = Handles::new("prepared statements", max, options.limits.of_user(max), options.prepared_idle);
        PreparedStatements { open, parameter_bytes_max: options.parameter_bytes_max, budget: Arc::clone(budget) }
    }

    /// Plans the statement to find its columns and parameters, without running it.
    pub async fn prepare(
        &self,
        connection: Arc<Connection>,
        caller: &CallContext,
        statement: Statement,
    ) -> Result<(Handle, Arc<Prepared>), Status> {
        let words = self.budget.take(statement.bytes())?;
        let turn = connection.turn().await?;
        let described = statement.describe(&turn).await?;
        drop(turn);
        let schema = wire_schema(&described.schema, caller.client_options.types);
        let parameters = parameter_schema(&described.parameters, caller.client_options.types);
        let columns = self.budget.take(FIELD_BYTES * (schema.fields().len() + parameters.fields().len()))?;
        let kind = described.kind;
        let session = caller.session.as_ref().map(|(handle, _)| handle.clone());
        let prepared = Arc::new(Prepared {
            statement,
            kind,
            connection,
            session,
            schema,
            parameters,
            bound: Mutex::default(),
            _shares: [words, columns],
        });
        Ok((self.open.insert_arc(&caller.principal, Arc::clone(&prepared))?, prepared))
    }

    pub fn get(&self, principal: &Principal, handle: &[u8]) -> Result<Arc<Prepared>, Status> {
        self.open.get(principal, handle)
    }

    /// False if it was closed before, which is harmless.
    pub fn close(&self, principal: &Principal, handle: &[u8]) -> bool {
        self.open.remove(principal, handle)
    }

    pub fn retain(&self, keep: impl Fn(&Principal) -> bool) {
        self.open.retain(|principal, _| keep(principal));
    }

    pub fn end_of_session(&self, session: &[u8]) {
        self.open.retain(|_, prepared| prepared.session.as_deref() != Some(session));
    }

    pub fn sweep(&self) {
        self.open.sweep();
    }

    pub fn count(&self) -> usize {
        self.open.len()
    }

    /// Binds parameters, which replace those that were bound before.
    pub fn bind(&self, prepared: &Prepared, received: Option<BoundRows>) -> Result<(), Status> {
        let BoundRows { rows, bytes } = received.unwrap_or_default();
        // The old ones are dropped first, because both together may exceed the budget.
        *prepared.bound.lock() = Bound::default();
        let share = self.budget.take(bytes)?;
        *prepared.bound.lock() = Bound { rows, _share: Some(share) };
        Ok(())
    }

    /// The rows of parameters that a client sends, without empty batches.
    pub async fn received(&self, batches: Option<Batches>) -> Result<Option<BoundRows>, Status> {
        let Some(mut batches) = batches else { return Ok(None) };
        if batches.schema().fields().is_empty() {
            return Ok(None);
        }
        let (mut rows, mut bytes, mut row_count) = (Vec::new(), 0usize, 0usize);
        while let Some(batch) = batches.next().await {
            let batch = batch?;
            bytes = bytes.saturating_add(guarded(|| batch_bytes(&batch))?);
            row_count = row_count.saturating_add(batch.num_rows());
            if row_count > PARAMETER_ROWS_MAX {
                return Err(Status::resource_exhausted(format!(
                    "there are more than {PARAMETER_ROWS_MAX} rows of parameters; bind fewer at a time, or send them by \
                     CommandStatementIngest"
                )));
            }
            if bytes.max(batches.bytes()) > self.parameter_bytes_max {
                let max = self.parameter_bytes_max;
                return Err(Status::resource_exhausted(format!(
                    "the parameters have more than {max} bytes; bind fewer rows at a time, or send them by CommandStatementIngest"
                )));
            }
            if batch.num_rows() > 0 {
                rows.push(batch);
            }
        }
        Ok(Some(BoundRows { rows, bytes: bytes.max(batches.bytes()) }))
    }
}

impl Prepared {
    /// The schema of the parameters.
    pub fn words_bytes(&self) -> usize {
        self.statement.words_bytes()
    }

    pub fn is_kill(&self) -> bool {
        matches!(&self.statement, Statement::Sql(sql) if is_kill(sql))
    }

    pub(super) fn bound(&self) -> Vec<RecordBatch> {
        self.bound.lock().rows.clone()
    }

    /// Describes the current columns, if the caller may still see them.
    pub async fn schema_now(&self, client_options: ClientOptions) -> Result<SchemaRef, Status> {
        let described = self.statement.describe(&self.connection.turn_of_prepared().await?).await?;
        Ok(wire_schema(&described.schema, client_options.types))
    }

    /// Plans it with the bound row, if it is a query.
    pub async fn start(&self, beside: TransactionScope<'_>) -> Result<Started, Status> {
        let bound = self.bound();
        let turn = self.connection.turn_of_prepared().await?;
        match bound.as_slice() {
            [] => start_in(&turn, &self.statement, None, beside).await,
            [batch] if batch.num_rows() == 1 => start_in(&turn, &self.statement, Some(Values { batch, row: 0 }), beside).await,
            more => {
                let rows: usize = more.iter().map(RecordBatch::num_rows).sum();
                Err(Status::invalid_argument(format!(
                    "{rows} rows of parameters are bound, and a query takes one; bind one, or run a statement that changes rows by DoPut"
                )))
            }
        }
    }
}
