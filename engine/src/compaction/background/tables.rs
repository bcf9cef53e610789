//! What the thread remembers of tables, so that it does not look at each of them every time.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use pmem_store::{TableId, TableRecord};

use crate::compaction::pick::Limits;
use crate::compaction::runs::CompactionOutcome;

/// The wait after a failure, doubled after each further one.
const TROUBLED: Duration = Duration::from_secs(30);
const TROUBLED_MAX: Duration = Duration::from_secs(3_600);
/// The wait after a conflict.
const CONFLICT: Duration = Duration::from_millis(500);
/// The limits of jobs are halved at most this often.
const HALVED_MAX: u32 = 6;

#[derive(Default)]
pub struct TableWatch {
    states: HashMap<TableId, WatchState>,
}

#[derive(Default)]
struct WatchState {
    /// At this version there was nothing to do.
    settled: Option<u64>,
    failures: u32,
    conflicts: u32,
    not_before: Option<Instant>,
}

impl TableWatch {
    pub fn forget_all_but(&mut self, tables: &[TableRecord]) {
        let alive: HashSet<TableId> = tables.iter().map(|table| table.id).collect();
        self.states.retain(|id, _| alive.contains(id));
    }

    /// Whether there may be work to do.
    pub fn is_due(&self, table: &TableRecord, now: Instant) -> bool {
        self.states
            .get(&table.id)
            .is_none_or(|state| state.settled != Some(table.changed_version) && state.not_before.is_none_or(|until| until <= now))
    }

    /// The time until the next table is due that is not due now.
    pub fn next(&self, now: Instant) -> Option<Duration> {
        self.states.values().filter_map(|state| state.not_before).filter(|until| *until > now).min().map(|until| until - now)
    }

    pub fn settled(&mut self, table: &TableRecord) {
        *self.states.entry(table.id).or_default() = WatchState { settled: Some(table.changed_version), ..WatchState::default() };
    }

    pub fn postpone(&mut self, table: TableId, until: Instant) {
        self.states.entry(table).or_default().not_before = Some(until);
    }

    pub fn ended(&mut self, table: TableId, outcome: &CompactionOutcome, now: Instant) {
        let state = self.states.entry(table).or_default();
        let wait = match outcome {
            CompactionOutcome::Done => {
                *state = WatchState::default();
                return;
            }
            CompactionOutcome::Conflict => {
                state.conflicts = (state.conflicts + 1).min(HALVED_MAX);
                CONFLICT
            }
            // Another task is doing the same work and will soon be done.
            CompactionOutcome::Stopped => CONFLICT,
            CompactionOutcome::Failed(_) => {
                state.failures += 1;
                (TROUBLED * 2u32.saturating_pow(state.failures - 1)).min(TROUBLED_MAX)
            }
        };
        state.not_before = Some(now + wait);
    }

    /// The limits of the table's next job: half as much after each conflict, until it is shorter than the time between two conflicting
    /// changes.
    pub fn limits(&self, table: TableId, limits: Limits) -> Limits {
        let halved = self.states.get(&table).map_or(0, |state| state.conflicts);
        Limits { rows_max: limits.rows_max >> halved, bytes_max: limits.bytes_max >> halved }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn table(id: TableId, changed_version: u64) -> TableRecord {
        TableRecord {
            id,
            namespace: "main".into(),
            name: "t".into(),
            created_version: 1,
            changed_version,
            schema_version: 1,
            cluster_key: Vec::new(),
            options: BTreeMap::new(),
            next_column: 1,
            constraints: Vec::new(),
            created_at_ms: None,
        }
    }

    #[test]
    fn a_table_is_looked_at_again_when_it_has_changed() {
        let (mut watch, now) = (TableWatch::default(), Instant::now());
        assert!(watch.is_due(&table(1, 5), now));
        watch.settled(&table(1, 5));
        assert!(!watch.is_due(&table(1, 5), now));
        assert!(watch.is_due(&table(1, 6), now));
        watch.ended(1, &CompactionOutcome::Done, now);
        assert!(watch.is_due(&table(1, 5), now));
    }

    #[test]
    fn each_conflict_halves_the_next_job_and_a_success_ends_that() {
        let (mut watch, now) = (TableWatch::default(), Instant::now());
        let limits = Limits { rows_max: 1_024, bytes_max: 4_096 };
        watch.ended(1, &CompactionOutcome::Conflict, now);
        watch.ended(1, &CompactionOutcome::Conflict, now);
        assert_eq!(watch.limits(1, limits).rows_max, 256);
        assert!(!watch.is_due(&table(1, 5), now) && watch.is_due(&table(1, 5), now + CONFLICT));
        (0..100).for_each(|_| watch.ended(1, &CompactionOutcome::Conflict, now));
        assert_eq!(watch.limits(1, limits).bytes_max, 64);
        watch.ended(1, &CompactionOutcome::Done, now);
        assert_eq!(watch.limits(1, limits).bytes_max, 4_096);
    }

    #[test]
    fn a_table_that_fails_is_tried_less_and_less_often() {
        let (mut watch, now) = (TableWatch::default(), Instant::now());
        for expected in [30, 60, 120] {
            watch.ended(1, &CompactionOutcome::Failed("no".into()), now);
            assert_eq!(watch.next(now), Some(Duration::from_secs(expected)));
        }
        (0..100).for_each(|_| watch.ended(1, &CompactionOutcome::Failed("no".into()), now));
        assert_eq!(watch.next(now), Some(TROUBLED_MAX));
    }
}
