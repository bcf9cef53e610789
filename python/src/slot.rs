//! A result and who reads it.
//!
//! **Invariant.** A result of which rows were lost, by an error or because its reader was interrupted, says so whenever
//! it is asked for more: it never looks like one that came to its end.

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

/// A result that has one reader at a time; closing its session takes it away from whoever that is.
pub struct Slot {
    state: Mutex<SlotState>,
    pub schema: SchemaRef,
    pub kind: StatementKind,
    pub rows_changed: Option<u64>,
    /// As of a moment ago.
    report: Mutex<QueryReport>,
    pub runtime: Handle,
    pub sql: String,
}

enum SlotState {
    Waiting(Box<QueryOutput>),
    /// Somebody waits for the next rows.
    Lent,
    /// All rows were given out.
    Ended,
    /// No more rows will come, and these were not all.
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

    /// None at the end. Who has it says by `collect` or `taken` what came of it, or stops it.
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

    /// From here on there are no rows, for the first reason that was given: also where a reader had them, who was
    /// interrupted or does not know yet that the result was closed.
    pub fn stop(&self, refusal: Refusal) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*state, SlotState::Broken(_)) {
            return;
        }
        let before = std::mem::replace(&mut *state, SlotState::Broken(refusal));
        // Outside of the lock: it may be a query, which ends.
        drop(state);
        drop(before);
    }

    /// Why whoever reads is to stop.
    pub fn stopped(&self) -> Option<Refusal> {
        match &*self.state.lock().unwrap_or_else(PoisonError::into_inner) {
            SlotState::Broken(refusal) => Some(refusal.clone()),
            _ => None,
        }
    }

    /// Of who was lent it. One that was interrupted or closed meanwhile stays so.
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

    /// What was done as of a moment ago, also while somebody reads.
    pub fn noted(&self) -> QueryReport {
        self.report.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// All rows that are left.
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

    /// What came of asking a result that was lent for a batch; None at the end.
    pub fn taken(
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
