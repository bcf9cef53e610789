//! A result and who reads it.

use std::sync::{Arc, Mutex, PoisonError};

use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
use engine::{EngineError, QueryOutput, QueryReport, StatementKind};
use futures::StreamExt;
use pyo3::PyResult;
use tokio::runtime::Handle;
use tokio::time::interval;

use crate::errors;
use crate::waiting::TICK;

pub enum Started {
    Query(QueryOutput),
    Done { kind: StatementKind, rows_changed: Option<u64>, report: QueryReport },
}

/// A result that has one reader at a time; closing its session takes it away from whoever that is.
pub struct Slot {
    state: Mutex<State>,
    pub schema: SchemaRef,
    pub kind: StatementKind,
    pub rows_changed: Option<u64>,
    /// As of a moment ago.
    report: Mutex<QueryReport>,
    pub runtime: Handle,
    pub sql: String,
}

enum State {
    Waiting(Box<QueryOutput>),
    /// Somebody waits for the next rows.
    Lent,
    Ended,
    Closed,
}

impl Slot {
    pub fn new(started: Started, runtime: Handle, sql: String) -> Slot {
        let (state, schema, kind, rows_changed, report) = match started {
            Started::Query(output) => {
                let (schema, report) = (output.schema(), output.report());
                (State::Waiting(Box::new(output)), schema, StatementKind::Query, None, report)
            }
            Started::Done { kind, rows_changed, report } => (State::Ended, Arc::new(Schema::empty()), kind, rows_changed, report),
        };
        Slot { state: Mutex::new(state), schema, kind, rows_changed, report: Mutex::new(report), runtime, sql }
    }

    /// None at the end.
    pub fn lend(&self) -> PyResult<Option<Box<QueryOutput>>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(&mut *state, State::Lent) {
            State::Waiting(output) => Ok(Some(output)),
            State::Ended => {
                *state = State::Ended;
                Ok(None)
            }
            State::Lent => Err(errors::busy()),
            State::Closed => {
                *state = State::Closed;
                Err(errors::closed())
            }
        }
    }

    pub fn give_back(&self, output: Box<QueryOutput>) {
        self.note(&output);
        self.settle(State::Waiting(output));
    }

    pub fn end(&self) {
        self.settle(State::Ended);
    }

    fn settle(&self, next: State) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !matches!(*state, State::Closed) {
            *state = next;
        }
    }

    pub fn close(&self) {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner) = State::Closed;
    }

    pub fn note(&self, output: &QueryOutput) {
        *self.report.lock().unwrap_or_else(PoisonError::into_inner) = output.report();
    }

    pub fn report(&self) -> QueryReport {
        match &*self.state.lock().unwrap_or_else(PoisonError::into_inner) {
            State::Waiting(output) => output.report(),
            _ => self.noted(),
        }
    }

    /// What was done as of a moment ago, also while somebody reads.
    pub fn noted(&self) -> QueryReport {
        self.report.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub async fn collect(&self, output: &mut QueryOutput) -> Result<Vec<RecordBatch>, EngineError> {
        let mut batches = Vec::new();
        let mut ticks = interval(TICK);
        loop {
            tokio::select! {
                next = output.next() => match next {
                    Some(batch) => batches.push(batch?),
                    None => break,
                },
                _ = ticks.tick() => self.note(output),
            }
        }
        self.note(output);
        Ok(batches)
    }
}

/// Takes what was lent back from a reader that was interrupted: its query has been dropped.
pub struct Lent<'a>(pub &'a Slot);

impl Drop for Lent<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*state, State::Lent) {
            *state = State::Ended;
        }
    }
}
