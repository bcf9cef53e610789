//! What a query did: bytes read in place, bytes returned, zones pruned, bytes that kernels copied before reading them several times, and
//! bytes of results built in their destination.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use pmem_store::{Segment, StoreError};

/// Counters of one running query. Scans find it in the extensions of the session's configuration.
#[derive(Debug, Default)]
pub struct ReportCollector {
    pub bytes_touched: AtomicU64,
    pub rows_scanned: AtomicU64,
    pub rows_total: AtomicU64,
    pub segments_total: AtomicU64,
    pub segments_pruned: AtomicU64,
    pub zones_total: AtomicU64,
    pub zones_pruned: AtomicU64,
    /// Kernels that read their input several times: bytes staged in memory first, and bytes read again in place.
    pub precopied_bytes: AtomicU64,
    pub reread_bytes: AtomicU64,
    /// Bytes of results that are built directly in their destination table.
    pub placed_bytes: AtomicU64,
    /// How long ago the oldest version that is read was followed by a newer one; 0 if the newest ones are read.
    pub staleness_ms: AtomicU64,
    segments: Mutex<Vec<Arc<Segment>>>,
    counted: Mutex<Vec<Arc<dyn TemporaryReads>>>,
}

impl ReportCollector {
    /// Segments whose buffers the query's batches may point into.
    pub fn reads<'a>(&self, segments: impl Iterator<Item = &'a Arc<Segment>>) {
        self.segments.lock().extend(segments.cloned());
    }

    /// The segments that the query reads, from index `from` on. A segment that several streams read is listed several times.
    pub fn segments_from(&self, from: usize) -> Vec<Arc<Segment>> {
        self.segments.lock().get(from..).map(<[_]>::to_vec).unwrap_or_default()
    }

    /// Rows in memory that are counted in a reservation of their own, which keeps counting them while they are in this list.
    pub fn reads_counted(&self, rows: impl IntoIterator<Item = Arc<dyn TemporaryReads>>) {
        let (mut counted, mut rows) = (self.counted.lock(), rows.into_iter().peekable());
        // Each partition of a scan reports all of them.
        let is_known =
            rows.peek().is_some_and(|first| counted.iter().any(|other| std::ptr::addr_eq(Arc::as_ptr(other), Arc::as_ptr(first))));
        if !is_known {
            counted.extend(rows);
        }
    }

    /// The rows that the query reads, from index `from` on.
    pub fn counted_from(&self, from: usize) -> Vec<Arc<dyn TemporaryReads>> {
        self.counted.lock().get(from..).map(<[_]>::to_vec).unwrap_or_default()
    }

    /// An error if a segment that the query reads was truncated since it began.
    pub fn check_segments(&self) -> Result<(), StoreError> {
        self.segments.lock().iter().try_for_each(|segment| segment.check_intact())
    }

    pub fn add(counter: &AtomicU64, amount: usize) {
        counter.fetch_add(amount as u64, Ordering::Relaxed);
    }

    pub fn fill(&self, report: &mut QueryReport) {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        report.bytes_touched = read(&self.bytes_touched);
        report.rows_scanned = read(&self.rows_scanned);
        report.rows_total = read(&self.rows_total);
        report.segments_total = read(&self.segments_total);
        report.segments_pruned = read(&self.segments_pruned);
        report.zones_total = read(&self.zones_total);
        report.zones_pruned = read(&self.zones_pruned);
        report.precopied_bytes = read(&self.precopied_bytes);
        report.reread_bytes = read(&self.reread_bytes);
        report.placed_bytes = read(&self.placed_bytes);
        report.staleness_ms = read(&self.staleness_ms);
    }
}

/// The state of a query while it runs, or at its end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueryReport {
    /// Since planning began, in milliseconds.
    pub elapsed_ms: f64,
    pub planning_ms: f64,
    /// Bytes of mapped buffers that scans read in place.
    pub bytes_touched: u64,
    /// The same for scans on other nodes; each node reports it when its part has ended.
    pub node_bytes_touched: u64,
    pub bytes_returned: u64,
    pub rows_returned: u64,
    /// The progress: rows of zones that were read or pruned, and of all scanned segments.
    pub rows_scanned: u64,
    pub rows_total: u64,
    pub segments_total: u64,
    pub segments_pruned: u64,
    pub zones_total: u64,
    pub zones_pruned: u64,
    /// Bytes that kernels staged in memory before reading them several times, see the setting `precopy`.
    pub precopied_bytes: u64,
    /// Bytes that kernels read several times in place.
    pub reread_bytes: u64,
    /// Bytes of results that were built directly in their destination table.
    pub placed_bytes: u64,
    /// How long ago the oldest version that was read, as the setting `consistency` allows, was followed by a newer one; 0 if the newest ones were
    /// read.
    pub staleness_ms: u64,
    pub spilled_bytes: u64,
    pub peak_memory_bytes: u64,
}

impl fmt::Display for QueryReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (touched, returned) = (Bytes(self.bytes_touched), Bytes(self.bytes_returned));
        write!(f, "touched {touched} in place, ")?;
        if self.node_bytes_touched > 0 {
            write!(f, "{} on other nodes, ", Bytes(self.node_bytes_touched))?;
        }
        write!(f, "returned {returned}, ")?;
        write!(f, "{} of {} zones pruned", self.zones_pruned, self.zones_total)?;
        if self.precopied_bytes > 0 {
            write!(f, ", precopied {}", Bytes(self.precopied_bytes))?;
        }
        if self.reread_bytes > 0 {
            write!(f, ", reread {} in place", Bytes(self.reread_bytes))?;
        }
        if self.placed_bytes > 0 {
            write!(f, ", made {} in place", Bytes(self.placed_bytes))?;
        }
        if self.spilled_bytes > 0 {
            write!(f, ", spilled {}", Bytes(self.spilled_bytes))?;
        }
        if self.staleness_ms > 0 {
            write!(f, ", a version that is {:.1} s old", self.staleness_ms as f64 / 1e3)?;
        }
        Ok(())
    }
}

/// A size for people: powers of 1000, three digits.
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 6] = ["B", "kB", "MB", "GB", "TB", "PB"];
        let (mut value, mut unit) = (self.0 as f64, 0);
        while value >= 999.5 && unit + 1 < UNITS.len() {
            (value, unit) = (value / 1000.0, unit + 1);
        }
        let decimals = if unit == 0 || value >= 99.95 {
            0
        } else if value >= 9.995 {
            1
        } else {
            2
        };
        write!(f, "{value:.decimals$} {}", UNITS[unit])
    }
}

/// The rows of a temporary table that a query reads, for [`ReportCollector::reads_counted`]. They are held in memory and counted in a
/// reservation of their own for as long as they are held.
pub trait TemporaryReads: fmt::Debug + Send + Sync {
    /// The start addresses of their allocations.
    fn allocations(&self) -> &[usize];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_copied_before_is_told_only_where_something_was_read_twice() {
        let once = QueryReport { bytes_touched: 800, ..QueryReport::default() };
        assert_eq!(once.to_string(), "touched 800 B in place, returned 0 B, 0 of 0 zones pruned");
        let copied = QueryReport { precopied_bytes: 800_000_000, ..QueryReport::default() };
        assert_eq!(copied.to_string(), "touched 0 B in place, returned 0 B, 0 of 0 zones pruned, precopied 800 MB");
        let reread = QueryReport { reread_bytes: 1_000_000, ..QueryReport::default() };
        assert_eq!(reread.to_string(), "touched 0 B in place, returned 0 B, 0 of 0 zones pruned, reread 1.00 MB in place");
    }

    #[test]
    fn bytes_of_other_nodes_are_told_beside_those_touched_here() {
        let both = QueryReport { bytes_touched: 800, node_bytes_touched: 4_000_000, ..QueryReport::default() };
        assert_eq!(both.to_string(), "touched 800 B in place, 4.00 MB on other nodes, returned 0 B, 0 of 0 zones pruned");
    }

    #[test]
    fn what_was_made_in_a_table_is_told_with_its_size() {
        let report = QueryReport { placed_bytes: 32_000_000, ..QueryReport::default() };
        assert_eq!(report.to_string(), "touched 0 B in place, returned 0 B, 0 of 0 zones pruned, made 32.0 MB in place");
    }

    #[test]
    fn sizes_are_shown_with_three_digits() {
        let shown = |bytes| Bytes(bytes).to_string();
        assert_eq!(shown(0), "0 B");
        assert_eq!(shown(999), "999 B");
        assert_eq!(shown(1_234), "1.23 kB");
        assert_eq!(shown(999_600), "1.00 MB");
        assert_eq!(shown(12_345_678), "12.3 MB");
        assert_eq!(shown(456_000_000_000), "456 GB");
    }
}
