//! Decides when the log of a table becomes a segment.

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use pmem_store::{LogInfo, Store, StoreError, TableId};

use super::outlook;
use crate::compaction::runs::Runs;

/// A larger log is sealed: segments have statistics and are columnar.
const SEALED_BYTES: u64 = 4 << 20;
/// The same for the log of the table of objects: each search looks at all of its rows, and finds those of segments by an index.
const SEALED_BYTES_OF_OBJECTS: u64 = 256 << 10;
/// After a failure to seal a table's log, the table is left alone for this long.
const TROUBLED: Duration = Duration::from_secs(60);

pub struct LogWatch {
    /// A log without new rows for this long is sealed.
    sealed_after: Duration,
    /// The number of rows of a log, and since when it has been the same.
    row_counts: HashMap<(TableId, u64), (u64, Instant)>,
    troubled: HashMap<TableId, Instant>,
}

impl LogWatch {
    pub fn new(sealed_after: Duration) -> LogWatch {
        LogWatch { sealed_after, row_counts: HashMap::new(), troubled: HashMap::new() }
    }

    /// Seals what is due, and returns when something will be due if nothing else happens.
    pub fn seal(&mut self, store: &Store, runs: &Runs) -> Option<Duration> {
        let logs = store.logs();
        let now = Instant::now();
        self.troubled.retain(|_, until| *until > now);
        let objects = store.snapshot().ok().and_then(|snapshot| snapshot.objects_table());
        for (table, is_due) in self.due(&logs, objects, now) {
            let sealed = if is_due { store.seal_logs(table) } else { store.seal_closed_logs(table) };
            match sealed {
                // The table was dropped meanwhile, and its logs with it.
                Ok(_) | Err(StoreError::Conflict { .. } | StoreError::TableGone) => {}
                Err(error) => {
                    tracing::warn!(table, %error, "the rows of small writes could not be made a segment; {}", outlook(store));
                    if let Ok(Some(table)) = store.snapshot().and_then(|snapshot| snapshot.table_by_id(table)) {
                        runs.could_not_seal(table.record(), &error);
                    }
                    self.troubled.insert(table, now + TROUBLED);
                }
            }
        }
        let due = self.row_counts.values().map(|(_, since)| self.sealed_after.saturating_sub(now - *since));
        let again = self.troubled.values().map(|until| *until - now);
        due.min().map(|due| due.max(again.min().unwrap_or_default()))
    }

    /// The tables with logs to be sealed, and for each whether its active log is among them.
    fn due(&mut self, logs: &[LogInfo], objects: Option<TableId>, now: Instant) -> BTreeMap<TableId, bool> {
        self.row_counts.retain(|key, _| logs.iter().any(|log| (log.table, log.id) == *key));
        let mut due = BTreeMap::new();
        for (at, log) in logs.iter().enumerate().filter(|(_, log)| !self.troubled.contains_key(&log.table)) {
            let entry = self.row_counts.entry((log.table, log.id)).or_insert((log.row_count, now));
            if entry.0 != log.row_count {
                *entry = (log.row_count, now);
            }
            let is_idle = now - entry.1 >= self.sealed_after;
            let sealed_bytes = if objects == Some(log.table) { SEALED_BYTES_OF_OBJECTS } else { SEALED_BYTES };
            if is_idle || log.size_bytes > sealed_bytes {
                due.insert(log.table, true);
            } else if logs.get(at + 1).is_some_and(|next| next.table == log.table) {
                // Another log takes the new rows.
                due.entry(log.table).or_insert(false);
            }
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(table: TableId, id: u64, row_count: u64, size_bytes: u64) -> LogInfo {
        LogInfo { table, id, row_count, size_bytes }
    }

    #[test]
    fn a_log_is_due_when_it_is_large_or_full_or_has_got_no_rows_for_long() {
        let mut watch = LogWatch::new(Duration::from_secs(60));
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let small = log(1, 1, 10, 1_000);
        assert!(watch.due(&[small.clone()], None, start).is_empty());
        assert_eq!(watch.due(&[small.clone(), log(2, 2, 9, 5 << 20)], None, after(1)), BTreeMap::from([(2, true)]));
        assert_eq!(watch.due(&[small.clone(), log(1, 3, 1, 100)], None, after(1)), BTreeMap::from([(1, false)]));
        let grown = log(1, 1, 11, 1_100);
        assert!(watch.due(&[grown.clone()], None, after(59)).is_empty());
        assert!(watch.due(&[grown.clone()], None, after(118)).is_empty());
        assert_eq!(watch.due(&[grown], None, after(119)), BTreeMap::from([(1, true)]));
        let of_objects = log(3, 4, 2_000, 300_000);
        assert_eq!(watch.due(&[of_objects.clone()], None, after(120)), BTreeMap::new());
        assert_eq!(watch.due(&[of_objects], Some(3), after(120)), BTreeMap::from([(3, true)]));
    }
}
