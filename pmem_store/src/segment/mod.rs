//! Sealed segments: Arrow IPC files, written once through a [`Region`](crate::region::Region),
//! then mapped read-only and read without copies. Only this folder knows the bytes of a segment.

mod appender;
mod attribute_index;
mod bounds;
mod cache_budget;
mod checksum;
mod compact;
mod compressed;
mod decoded;
mod encoding;
mod exact;
mod footer;
mod in_place;
mod memory_budget;
mod object_file;
mod reader;
mod seal;
mod side_table;
mod sketch;
mod staging;
mod statistics;
mod summaries;
mod writer;

use arrow::datatypes::Field;

pub use appender::Appender;
pub(crate) use appender::WIDE_SEGMENT_BYTES;
pub use attribute_index::{AttributeIndex, KeyIndex, with_attribute_index};
pub use checksum::{BufferChecksums, ChecksumEntry};
pub(crate) use compact::cast_to;
pub use compact::{compact, storable_schema};
pub use encoding::{TYPE_METADATA, decode};
pub(crate) use exact::exact;
pub(crate) use in_place::ROWS_MAX as IN_PLACE_ROWS_MAX;
pub use in_place::{Elements, OtherColumns, rows_of_segment};
use memory_budget::MEMORY;
pub(crate) use memory_budget::{make_room_in_memory, memory_limit_bytes, set_memory_limit};
pub use object_file::{Fetched, MERGE_GAP_BYTES, REQUEST_MAX_BYTES};
pub use reader::{BatchPlace, Segment};
pub use seal::SealedSegment;
pub(crate) use seal::{SidePaths, link_segment_files, remove_segment_files, segment_pairs};
pub use sketch::DistinctSketch;
pub(crate) use staging::kept_local;
pub(crate) use statistics::without_statistics;
pub use statistics::{Extreme, ZoneColumn, ZoneStatistics};
pub use writer::SegmentWriter;

/// Zones of a full record batch: 16 × 8,192 rows, about 16 MiB of TPC-H lineitem.
pub const BATCH_ZONES: usize = 16;
/// A segment is closed when it has reached this size.
pub const SEGMENT_TARGET_BYTES: u64 = 256 << 20;
/// Every buffer and message of a segment starts at a multiple of this.
pub const ALIGNMENT: usize = 64;

/// The field with a mark in its metadata, which says how segments store the column.
fn with_mark(field: Field, mark: &str) -> Field {
    let mut metadata = field.metadata().clone();
    metadata.insert(mark.to_string(), "1".to_string());
    field.with_metadata(metadata)
}
