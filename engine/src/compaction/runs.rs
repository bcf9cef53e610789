//! The running compactions, and the most recent finished ones.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use parking_lot::Mutex;
use pmem_store::{StoreError, TableRecord, TableSnapshot};

use super::pick::Job;
use common::clock::now_ms;

/// How many are remembered.
const LAST_MAX: usize = 200;

/// How a compaction ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CompactionOutcome {
    Done,
    /// Another transaction changed its segments, or the table is gone.
    Conflict,
    /// Another task needed the table or the process ended; it is restarted later.
    Stopped,
    Failed(String),
}

#[derive(Debug, Clone)]
pub struct RunInfo {
    pub namespace: String,
    pub table: String,
    pub started_by: &'static str,
    pub started_at_ms: u64,
    pub finished_at_ms: Option<u64>,
    pub segments_before: u64,
    pub segments_after: Option<u64>,
    pub row_count: u64,
    pub bytes_before: u64,
    pub bytes_after: Option<u64>,
    /// `None` while it runs.
    pub outcome: Option<CompactionOutcome>,
}

#[derive(Debug, Default)]
pub struct Runs {
    inner: Mutex<RunsState>,
}

#[derive(Debug, Default)]
struct RunsState {
    next: u64,
    running: BTreeMap<u64, RunInfo>,
    last: VecDeque<RunInfo>,
    /// How many have ended, including those that are no longer remembered.
    done: u64,
    conflict: u64,
    stopped: u64,
    failed: u64,
}

impl RunsState {
    fn remember(&mut self, info: RunInfo) {
        match info.outcome {
            None => {}
            Some(CompactionOutcome::Done) => self.done += 1,
            Some(CompactionOutcome::Conflict) => self.conflict += 1,
            Some(CompactionOutcome::Stopped) => self.stopped += 1,
            Some(CompactionOutcome::Failed(_)) => self.failed += 1,
        }
        if self.last.len() == LAST_MAX {
            self.last.pop_front();
        }
        self.last.push_back(info);
    }
}

impl Runs {
    pub fn begin(self: &Arc<Self>, table: &TableSnapshot, job: &Job, started_by: &'static str) -> OpenRun {
        let record = table.record();
        let info = RunInfo {
            namespace: record.namespace.clone(),
            table: record.name.clone(),
            started_by,
            started_at_ms: now_ms(),
            finished_at_ms: None,
            segments_before: job.pieces.len() as u64,
            segments_after: None,
            row_count: job.live_rows(),
            bytes_before: job.size_bytes(),
            bytes_after: None,
            outcome: None,
        };
        let mut inner = self.inner.lock();
        inner.next += 1;
        let number = inner.next;
        inner.running.insert(number, info);
        OpenRun { runs: Arc::clone(self), number, outcome: CompactionOutcome::Stopped, after: None }
    }

    /// Records that the log of a table could not be sealed in the background.
    pub fn could_not_seal(&self, record: &TableRecord, error: &StoreError) {
        let now = now_ms();
        self.inner.lock().remember(RunInfo {
            namespace: record.namespace.clone(),
            table: record.name.clone(),
            started_by: "background",
            started_at_ms: now,
            finished_at_ms: Some(now),
            segments_before: 0,
            segments_after: None,
            row_count: 0,
            bytes_before: 0,
            bytes_after: None,
            outcome: Some(CompactionOutcome::Failed(error.to_string())),
        });
    }

    /// How many are running, and how many have ended with each outcome.
    pub fn counts(&self) -> (u64, Vec<(&'static str, u64)>) {
        let inner = self.inner.lock();
        let ended = vec![("done", inner.done), ("conflict", inner.conflict), ("stopped", inner.stopped), ("failed", inner.failed)];
        (inner.running.len() as u64, ended)
    }

    /// The finished ones, the oldest first, then the running ones.
    pub fn all(&self) -> Vec<RunInfo> {
        let inner = self.inner.lock();
        inner.last.iter().chain(inner.running.values()).cloned().collect()
    }
}

/// A running compaction. If it is dropped without another outcome, it counts as stopped.
#[derive(Debug)]
pub struct OpenRun {
    runs: Arc<Runs>,
    number: u64,
    outcome: CompactionOutcome,
    after: Option<(u64, u64)>,
}

impl OpenRun {
    /// It has written this many segments and bytes.
    pub fn done(mut self, segments: u64, bytes: u64) {
        self.outcome = CompactionOutcome::Done;
        self.after = Some((segments, bytes));
    }

    pub fn ended(mut self, outcome: CompactionOutcome) {
        self.outcome = outcome;
    }
}

impl Drop for OpenRun {
    fn drop(&mut self) {
        let mut inner = self.runs.inner.lock();
        let Some(mut info) = inner.running.remove(&self.number) else { return };
        info.finished_at_ms = Some(now_ms());
        info.segments_after = self.after.map(|(segments, _)| segments);
        info.bytes_after = self.after.map(|(_, bytes)| bytes);
        info.outcome = Some(self.outcome.clone());
        inner.remember(info);
    }
}
