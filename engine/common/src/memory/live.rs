//! The memory that batches hold, each allocation counted once.
//!
//! Buffers in a mapped segment hold no memory: they belong to the page cache and count against no limit. They keep the mapping alive, and
//! with it the bytes of a segment that is compacted or dropped meanwhile.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use arrow::array::{Array, ArrayData, RecordBatch};
use arrow::buffer::Buffer;
use pmem_store::Segment;
use pmem_store::mapping::Mapping;

use crate::report::ReportCollector;

/// The approximate size of a column of a batch without its buffers.
pub const COLUMN_BYTES: usize = 192;

#[derive(Default)]
pub struct LiveMemory {
    /// The segments that the query has read so far, by their start addresses.
    segments: BTreeMap<usize, (Arc<Mapping>, Arc<Segment>)>,
    /// How many entries of the query's list are in `segments`.
    segment_count: usize,
    /// Start addresses of the segments that some buffer points into.
    used: HashSet<usize>,
    /// Allocations that were counted. They are held, so their addresses cannot be reused.
    counted: HashSet<usize>,
    /// Allocations of temporary tables, which count them themselves.
    elsewhere: HashSet<usize>,
    /// How many entries of the query's list of temporary tables' rows are in `elsewhere`.
    elsewhere_count: usize,
}

impl LiveMemory {
    /// Adds the segments that the query has begun to read since the last call.
    pub fn look_at(&mut self, collector: &ReportCollector) {
        let new = collector.segments_from(self.segment_count);
        self.segment_count += new.len();
        // A segment that cannot be mapped has no buffers here. A copy in memory is memory, also for as long as a result of it is held.
        let mapped = new.into_iter().filter(|segment| !segment.is_staged()).filter_map(|segment| Some((segment.mapping().ok()?, segment)));
        self.segments.extend(mapped.map(|(mapping, segment)| (mapping.as_ptr().addr(), (mapping, segment))));
    }

    /// The same, and adds the rows of temporary tables: these are already counted, for longer than the query runs.
    pub fn look_at_all(&mut self, collector: &ReportCollector) {
        self.look_at(collector);
        let new = collector.counted_from(self.elsewhere_count);
        self.elsewhere_count += new.len();
        self.elsewhere.extend(new.iter().flat_map(|rows| rows.allocations().iter().copied()));
    }

    /// Forgets all allocations: none is held any more.
    pub fn forget(&mut self) {
        self.counted.clear();
    }

    /// The bytes that this batch holds and that were not counted before.
    pub fn take(&mut self, batch: &RecordBatch) -> usize {
        let columns = batch.columns().iter();
        columns.map(|column| COLUMN_BYTES + self.of_data(&column.to_data())).sum()
    }

    fn of_data(&mut self, data: &ArrayData) -> usize {
        let validity = data.nulls().map(|nulls| nulls.buffer());
        let own: usize = data.buffers().iter().chain(validity).map(|buffer| self.of_buffer(buffer)).sum();
        own + data.child_data().iter().map(|child| self.of_data(child)).sum::<usize>()
    }

    fn of_buffer(&mut self, buffer: &Buffer) -> usize {
        if let Some(first) = self.segment_of(buffer) {
            self.used.insert(first);
            return 0;
        }
        let allocation = buffer.data_ptr().addr().get();
        match !self.elsewhere.contains(&allocation) && self.counted.insert(allocation) {
            true => buffer.capacity(),
            false => 0,
        }
    }

    /// The start address of the segment that the buffer points into.
    fn segment_of(&self, buffer: &Buffer) -> Option<usize> {
        let before = self.segments.range(..=buffer.as_ptr().addr()).next_back();
        before.filter(|(_, (mapping, _))| mapping.contains(buffer.as_ptr(), buffer.len())).map(|(first, _)| *first)
    }

    /// The segment's file that the buffer points into, and where the buffer begins in it.
    pub fn file_of(&self, buffer: &Buffer) -> Option<(&Path, usize)> {
        let (start, (mapping, _)) = self.segments.get_key_value(&self.segment_of(buffer)?)?;
        Some((mapping.path(), buffer.as_ptr().addr() - start))
    }

    /// Whether the buffer has memory of its own.
    pub fn is_in_memory(&self, buffer: &Buffer) -> bool {
        self.segment_of(buffer).is_none()
    }

    /// Start addresses of the allocations that were counted.
    pub fn allocations(&self) -> Vec<usize> {
        self.counted.iter().copied().collect()
    }

    /// The segments that the batches need.
    pub fn into_segments(self) -> Vec<Arc<Segment>> {
        let used = self.used;
        self.segments.into_iter().filter(|(first, _)| used.contains(first)).map(|(_, (_, segment))| segment).collect()
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, Int64Array, RecordBatch};

    use super::*;
    use crate::report::TemporaryReads;

    fn batch(column: ArrayRef) -> RecordBatch {
        RecordBatch::try_from_iter([("n", column)]).unwrap()
    }

    #[test]
    fn slices_of_one_allocation_are_counted_once() {
        let whole = batch(Arc::new(Int64Array::from_iter_values(0..1_000)));
        let mut memory = LiveMemory::default();
        assert_eq!(memory.take(&whole.slice(0, 500)), 8_000 + COLUMN_BYTES, "all of the allocation is held by a part of it");
        assert_eq!(memory.take(&whole.slice(500, 500)), COLUMN_BYTES);
        assert_eq!(memory.take(&batch(Arc::new(Int64Array::from_iter_values(0..10)))), 80 + COLUMN_BYTES);
        memory.forget();
        assert_eq!(memory.take(&whole), 8_000 + COLUMN_BYTES);
    }

    #[derive(Debug)]
    struct ExternalAllocations(Vec<usize>);

    impl TemporaryReads for ExternalAllocations {
        fn allocations(&self) -> &[usize] {
            &self.0
        }
    }

    #[test]
    fn what_is_counted_elsewhere_is_not_counted_again() {
        let [own, other] = [batch(Arc::new(Int64Array::from_iter_values(0..10))), batch(Arc::new(Int64Array::from_iter_values(0..20)))];
        let mut table = LiveMemory::default();
        table.take(&other);
        let collector = ReportCollector::default();
        collector.reads_counted([Arc::new(ExternalAllocations(table.allocations())) as Arc<dyn TemporaryReads>]);
        let mut memory = LiveMemory::default();
        memory.look_at_all(&collector);
        assert_eq!([memory.take(&own), memory.take(&other)], [80 + COLUMN_BYTES, COLUMN_BYTES]);
        // Another table that also holds the rows would keep them when the first is dropped.
        let mut memory = LiveMemory::default();
        memory.look_at(&collector);
        assert_eq!(memory.take(&other), 160 + COLUMN_BYTES);
    }
}
