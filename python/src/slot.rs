//! A result with a single reader at a time.
//!
//! **Invariant.** A result that has lost rows, by an error or because its reader was interrupted, returns that error on
//! every further read. It never looks like one that is complete.

use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
use engine::{EngineError, QueryOutput, QueryReport, StatementKind};
use futures::StreamExt;
use tokio::runtime::Handle;
use tokio::time::interval;

use crate::refusal::Refusal;
use crate::waiting::TICK;

pub enum Started {
    Query(QueryOutput),
    Done { kind: StatementKind, rows_changed: Option<u64>, report: QueryReport },
}

/// A result that has one reader at a time. Closing its session takes the result from the reader.
pub struct Slot {
    state: Mutex<SlotState>,
    pub schema: SchemaRef,
    pub kind: StatementKind,
    pub rows_changed: Option<u64>,
    /// The report of a moment ago.
    report: Mutex<QueryReport>,
    pub runtime: Handle,
    pub sql: String,
}

enum SlotState {
    Waiting(Box<QueryOutput>),
    /// A reader waits for the next rows.
    Lent,
    /// All rows were returned.
    Ended,
    /// No more rows will come, and some were lost.
    Broken(Refusal),
}

impl Slot {
    pub fn new(started: Started, runtime: Handle, sql: String) -> Slot {
        let (state, schema, kind, rows_changed, report) = match started {
            Started::Query(output) => {
                let (schema, report) = (output.schema(), output.report());
                (SlotState::Waiting(Box::new(output)), schema, StatementKind::Query, None, report)
            }
            Started::Done { kind, rows_changed, report } => (SlotState::Ended, Arc::new(Schema::empty()), kind, rows_changed, report),
        };
        Slot { state: Mutex::new(state), schema, kind, rows_changed, report: Mutex::new(report), runtime, sql }
    }

    /// Lends the result to a reader; `None` at the end. The reader returns it by `collect` or `return_with`, or stops it.
    pub fn lend(&self) -> Result<Option<Box<QueryOutput>>, Refusal> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(&mut *state, SlotState::Lent) {
            SlotState::Waiting(output) => Ok(Some(output)),
            SlotState::Ended => {
                *state = SlotState::Ended;
                Ok(None)
            }
            SlotState::Lent => Err(Refusal::Busy),
            SlotState::Broken(refusal) => {
                *state = SlotState::Broken(refusal.clone());
                Err(refusal)
            }
        }
    }

    fn give_back(&self, output: Box<QueryOutput>) {
        self.note(&output);
        self.settle(SlotState::Waiting(output));
    }

    fn end(&self, output: &QueryOutput) {
        self.note(output);
        self.settle(SlotState::Ended);
    }

    fn failed(&self, output: &QueryOutput, error: EngineError) -> Arc<EngineError> {
        let error = Arc::new(error);
        self.note(output);
        self.settle(SlotState::Broken(Refusal::Failed(Arc::clone(&error))));
        error
    }

    /// From here on there are no more rows, for the first given reason. This also holds while a reader has the result that was
    /// interrupted, or that does not know yet that the result was closed.
    pub fn stop(&self, refusal: Refusal) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*state, SlotState::Broken(_)) {
            return;
        }
        let before = std::mem::replace(&mut *state, SlotState::Broken(refusal));
        // Dropped outside of the lock, because it may be a running query.
        drop(state);
        drop(before);
    }

    /// The reason for which the reader must stop.
    pub fn stopped(&self) -> Option<Refusal> {
        match &*self.state.lock().unwrap_or_else(PoisonError::into_inner) {
            SlotState::Broken(refusal) => Some(refusal.clone()),
            _ => None,
        }
    }

    /// Called by the reader to return the result. A result that was interrupted or closed meanwhile stays so.
    fn settle(&self, next: SlotState) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*state, SlotState::Lent) {
            *state = next;
        }
    }

    fn note(&self, output: &QueryOutput) {
        *self.report.lock().unwrap_or_else(PoisonError::into_inner) = output.report();
    }

    pub fn report(&self) -> QueryReport {
        match &*self.state.lock().unwrap_or_else(PoisonError::into_inner) {
            SlotState::Waiting(output) => output.report(),
            _ => self.noted(),
        }
    }

    /// The current report; while a reader has the result, the report of a moment ago.
    pub fn noted(&self) -> QueryReport {
        self.report.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// All remaining rows.
    pub async fn collect(&self, mut output: Box<QueryOutput>) -> Result<Vec<RecordBatch>, Arc<EngineError>> {
        let mut batches = Vec::new();
        let mut ticks = interval(TICK);
        loop {
            tokio::select! {
                next = output.next() => match next {
                    Some(Ok(batch)) => batches.push(batch),
                    Some(Err(error)) => return Err(self.failed(&output, error)),
                    None => break,
                },
                _ = ticks.tick() => self.note(&output),
            }
        }
        self.end(&output);
        Ok(batches)
    }

    /// Returns the lent result with its next batch; `None` at the end.
    pub fn return_with(
        &self,
        output: Box<QueryOutput>,
        next: Option<Result<RecordBatch, EngineError>>,
    ) -> Result<Option<RecordBatch>, Arc<EngineError>> {
        match next {
            Some(Ok(batch)) => {
                self.give_back(output);
                Ok(Some(batch))
            }
            Some(Err(error)) => Err(self.failed(&output, error)),
            None => {
                self.end(&output);
                Ok(None)
            }
        }
    }
}
