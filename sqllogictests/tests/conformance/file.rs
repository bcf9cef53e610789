//! One `.slt` file: a store of its own, both runs, and what came of each record.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use engine::{Engine, EngineOptions, MaintenanceOptions};
use sqllogictest::{Record, RecordOutput, Runner, StatementExpect};

use crate::database::{Column, Database, types_agree};
use crate::pushed::Tallies;

/// More than the cores of a test machine, so that partitions really are polled apart.
const THREADS_FRESH: usize = 4;
const THREADS_REOPENED: usize = 1;
/// The second time a plan is kept, and the third time its operators are copied.
const RUNS_KEPT: usize = 3;

#[derive(Default)]
pub struct FileResult {
    /// Statements and queries that ran; one that runs twice counts once.
    pub records: usize,
    /// Queries that ran again on the reopened store.
    pub repeated: usize,
    /// The first failure of each failed record, by its place in the file.
    pub failures: BTreeMap<usize, String>,
}

impl FileResult {
    pub fn failed(&self) -> usize {
        self.failures.len()
    }

    pub fn passed(&self) -> usize {
        self.records.saturating_sub(self.failed())
    }

    fn fail(&mut self, index: usize, failure: String) {
        self.failures.entry(index).or_insert(failure);
    }
}

pub fn run(path: &Path) -> FileResult {
    let mut result = FileResult::default();
    let Some(records) = parsed(path, &mut result) else {
        return result;
    };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store = directory.path().join("store");
    let all: Vec<usize> = (0..records.len()).collect();
    let fresh = Mode { threads: THREADS_FRESH, runs: RUNS_KEPT, pushed: None };
    result.records = run_guarded(&store, &fresh, &records, &all, &mut result);
    let after_writes = queries_after_last_write(&records);
    let reopened = Mode { threads: THREADS_REOPENED, runs: RUNS_KEPT, pushed: None };
    result.repeated = run_guarded(&store, &reopened, &records, &after_writes, &mut result);
    result
}

/// The whole file on a fresh store, each query once more with its tables on another node.
pub fn run_pushed(path: &Path, tally: &Tallies) -> FileResult {
    let mut result = FileResult::default();
    let Some(records) = parsed(path, &mut result) else {
        return result;
    };
    let directory = tempfile::tempdir().expect("a temporary directory");
    let store = directory.path().join("store");
    let all: Vec<usize> = (0..records.len()).collect();
    let mode = Mode { threads: THREADS_FRESH, runs: 1, pushed: Some(Arc::clone(tally)) };
    result.records = run_guarded(&store, &mode, &records, &all, &mut result);
    result
}

/// How a file is run.
struct Mode {
    threads: usize,
    /// How often each query is run; its last answer counts.
    runs: usize,
    pushed: Option<Tallies>,
}

fn parsed(path: &Path, result: &mut FileResult) -> Option<Vec<Record<Column>>> {
    match sqllogictest::parse_file::<Column>(path) {
        Ok(records) => Some(records),
        Err(error) => {
            result.fail(0, error.to_string());
            None
        }
    }
}

/// The queries whose answers a reopened store must give unchanged.
fn queries_after_last_write(records: &[Record<Column>]) -> Vec<usize> {
    let last_write = records.iter().rposition(|record| match record {
        Record::Statement { expected, .. } => !matches!(expected, StatementExpect::Error(_)),
        _ => false,
    });
    (last_write.map_or(0, |index| index + 1)..records.len()).filter(|index| matches!(records[*index], Record::Query { .. })).collect()
}

/// A panic in the engine fails the file it happened in; the other files still run.
fn run_guarded(store: &Path, mode: &Mode, records: &[Record<Column>], chosen: &[usize], result: &mut FileResult) -> usize {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a tokio runtime");
    let run = catch_unwind(AssertUnwindSafe(|| runtime.block_on(run_records(store, mode, records, chosen, result))));
    run.unwrap_or_else(|_| {
        result.fail(records.len(), "the engine panicked (message above)".to_owned());
        result.failures.len()
    })
}

/// Returns how many of the chosen records were statements or queries meant for Quiver.
async fn run_records(store: &Path, mode: &Mode, records: &[Record<Column>], chosen: &[usize], result: &mut FileResult) -> usize {
    let options = EngineOptions {
        threads: Some(mode.threads),
        // Rows without ORDER BY come as they were written.
        maintenance: MaintenanceOptions { enabled: false, ..MaintenanceOptions::default() },
        ..EngineOptions::default()
    };
    let engine = match Engine::open(store, options) {
        Ok(engine) => engine,
        Err(error) => {
            result.fail(0, format!("cannot open the store: {error}"));
            return 1;
        }
    };
    let mut runner = Runner::new(|| {
        let (session, runs, pushed) = (engine.session(), mode.runs, mode.pushed.clone());
        async move { session.map(|session| Database { session: Arc::new(session), runs, pushed }) }
    });
    runner.with_normalizer(String::clone);
    runner.with_column_validator(types_agree);
    let mut ran = 0;
    for &index in chosen {
        match runner.run_async(records[index].clone()).await {
            Ok(RecordOutput::Nothing) => {}
            Ok(_) => ran += 1,
            Err(error) => {
                ran += 1;
                let place = match (mode.threads, &mode.pushed) {
                    (THREADS_REOPENED, _) => "after reopening: ",
                    (_, Some(_)) => "pushed down: ",
                    _ => "",
                };
                result.fail(index, format!("{place}{error}"));
            }
        }
    }
    ran
}
