//! The memory that batches hold, each allocation counted once.
//!
//! Buffers in a mapped segment hold none: they are the page cache's, keep the mapping and with it the bytes of a segment that is
//! compacted or dropped meanwhile, and count against no limit, as everywhere.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use arrow::array::{Array, ArrayData, RecordBatch};
use arrow::buffer::Buffer;
use pmem_store::Segment;

use crate::report::ReportCollector;

/// Of a column of a batch beside its buffers, about.
const COLUMN_BYTES: usize = 192;

#[derive(Default)]
pub struct Held {
    /// Those that the query has read so far, by their first address.
    segments: BTreeMap<usize, Arc<Segment>>,
    /// How many of the query's list are among them.
    seen: usize,
    /// First addresses of those that some buffer lies in.
    used: HashSet<usize>,
    /// Allocations that were counted. They are held, so nothing else comes to lie there.
    counted: HashSet<usize>,
}

impl Held {
    /// Learns of the segments that the query has begun to read since.
    pub fn look_at(&mut self, collector: &ReportCollector) {
        let new = collector.segments_from(self.seen);
        self.seen += new.len();
        self.segments.extend(new.into_iter().map(|segment| (segment.mapping().as_ptr().addr(), segment)));
    }

    /// The bytes that are held with this batch and were not before.
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
        let before = self.segments.range(..=buffer.as_ptr().addr()).next_back();
        if let Some((first, _)) = before.filter(|(_, segment)| segment.mapping().contains(buffer.as_ptr(), buffer.len())) {
            self.used.insert(*first);
            return 0;
        }
        match self.counted.insert(buffer.data_ptr().addr().get()) {
            true => buffer.capacity(),
            false => 0,
        }
    }

    /// Those that the batches need.
    pub fn into_segments(self) -> Vec<Arc<Segment>> {
        let used = self.used;
        self.segments.into_iter().filter(|(first, _)| used.contains(first)).map(|(_, segment)| segment).collect()
    }
}
