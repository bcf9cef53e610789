//! A table as files and positions in them, for another process on this machine that maps the files itself.
//!
//! A sealed segment is an Arrow IPC file that never changes, so its path and positions are enough. Rows that are in no such file, or are
//! scattered among many deleted ones, are listed by row number and have to be read by a query.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::datatypes::SchemaRef;
use pmem_store::{HandOff, Segment, StoreError, TableSnapshot, Tier};

use super::Session;
use crate::queries::StatementKind;
use common::error::EngineError;
use common::privilege::Privilege;
use common::type_names::full_name;
use table::scan::ScanPart;

/// A part whose rows are in more pieces than this is read faster by a query.
const PIECES_MAX: usize = 10_000;

/// A table at the version that the session sees.
///
/// **Invariant:** files stay as long as a transaction of the session, or a stream, holds that version, and their names lead to them as long as the
/// result of [`Session::hand_off`] lives that was made before.
#[derive(Debug, PartialEq)]
pub struct MappedTable {
    pub version: u64,
    /// The requested columns as declared; a file may store them in another type.
    pub schema: SchemaRef,
    /// In the order of the rows.
    pub parts: Vec<MappedPart>,
}

#[derive(Debug, PartialEq)]
pub enum MappedPart {
    File(MappedFile),
    /// Rows of the table without deleted ones, counted from 0.
    Rows(Range<u64>),
}

/// A sealed segment: an Arrow IPC file.
#[derive(Debug, PartialEq)]
pub struct MappedFile {
    pub path: PathBuf,
    pub size_bytes: u64,
    /// For each column of the schema, its index in the file.
    pub columns: Vec<usize>,
    pub batches: Vec<MappedBatch>,
}

#[derive(Debug, PartialEq)]
pub struct MappedBatch {
    /// The index in the file's footer.
    pub index: usize,
    /// The position of the message in the file; the buffers follow it.
    pub offset: u64,
    pub metadata_bytes: u64,
    pub body_bytes: u64,
    /// The requested and undeleted rows of the batch, counted from 0.
    pub rows: Vec<Range<u64>>,
}

impl MappedTable {
    fn rows(&self) -> u64 {
        let length = |rows: &Range<u64>| rows.end - rows.start;
        let of_part = |part: &MappedPart| match part {
            MappedPart::File(file) => file.batches.iter().flat_map(|batch| &batch.rows).map(length).sum(),
            MappedPart::Rows(rows) => length(rows),
        };
        self.parts.iter().map(of_part).sum()
    }
}

impl Session {
    /// To be held while somebody else may open files of [`MappedTable`]s.
    pub fn hand_off(&self) -> HandOff {
        self.engine.store.hand_off()
    }

    /// Some columns of a stored table, or all, and some of its rows, or all, as this session sees them now. The session's user needs
    /// SELECT. A file with columns that are stored in another type than the physical one is only for who can decode them. The audit shows it as
    /// `MAP main.t`.
    pub fn mapped_table(
        &self,
        schema: &str,
        table: &str,
        columns: Option<&[String]>,
        rows: Option<Range<u64>>,
        can_decode: bool,
    ) -> Result<MappedTable, EngineError> {
        let entry = self.register_statement(&format!("MAP {}", full_name(schema, table)));
        let mapped = self.map(schema, table, columns, rows, can_decode);
        let row_count = mapped.as_ref().map_or(0, MappedTable::rows);
        entry.close(StatementKind::Query, row_count, mapped)
    }

    fn map(
        &self,
        schema: &str,
        table: &str,
        columns: Option<&[String]>,
        rows: Option<Range<u64>>,
        can_decode: bool,
    ) -> Result<MappedTable, EngineError> {
        self.check_not_failed()?;
        let now = self.catalog.now()?;
        let version = now.snapshot.version();
        let stored_table = now.snapshot.table(schema, table)?;
        if let (Some(stored), Some(authorization)) = (&stored_table, &now.authorization) {
            authorization.table(Privilege::Select, stored.record())?;
        }
        let Some(stored) = stored_table.filter(|table| !table.record().is_array()) else {
            let hint = Some("views, external tables and system tables lie in no segments: read them by a query");
            return Err(EngineError::unsupported(format!("mapping \"{schema}.{table}\", which is no table of the store,"), hint));
        };
        let columns = chosen(&stored, columns)?;
        let statistics = self.engine.statistics.get(&stored)?;
        let mut numbering = RowWindow { next: 0, window: rows.unwrap_or(0..u64::MAX) };
        let mut parts = Vec::new();
        for part in &statistics.parts {
            push(&mut parts, mapped(part, &columns, can_decode, &mut numbering));
        }
        let schema = stored.schema().project(&columns).map_err(StoreError::from)?;
        Ok(MappedTable { version, schema: Arc::new(schema), parts })
    }
}

fn chosen(table: &TableSnapshot, names: Option<&[String]>) -> Result<Vec<usize>, EngineError> {
    let schema = table.schema();
    match names {
        None => Ok((0..schema.fields().len()).collect()),
        Some(names) => names.iter().map(|name| Ok(schema.index_of(name).map_err(StoreError::from)?)).collect(),
    }
}

/// The requested window of the table's rows, not counting deleted ones, which advances from part to part.
struct RowWindow {
    next: u64,
    window: Range<u64>,
}

impl RowWindow {
    /// The requested rows among the next consecutive ones.
    fn take(&mut self, rows: Range<u64>) -> Range<u64> {
        let first = self.next;
        self.next += rows.end - rows.start;
        let clip = |number: u64| rows.start + number.clamp(first, self.next) - first;
        clip(self.window.start)..clip(self.window.end)
    }
}

/// The requested rows of a part; `None` if there are none.
fn mapped(part: &ScanPart, columns: &[usize], can_decode: bool, numbering: &mut RowWindow) -> Option<MappedPart> {
    let first = numbering.next;
    // A copy in memory is nobody else's, and an object store has no file here.
    let is_file = |segment: &&Arc<Segment>| matches!(segment.durable_tier(), Tier::Pmem | Tier::Disk);
    let in_file = part.segment().filter(is_file).filter(|_| can_decode || !part.is_encoded(columns)).zip(part.places(columns));
    let mut pieces = 0;
    let mut batches = Vec::new();
    for index in 0..part.batch_count() {
        let rows: Vec<Range<u64>> = live_ranges(part, index).map(|rows| numbering.take(rows)).filter(|rows| !rows.is_empty()).collect();
        pieces += rows.len();
        if let Some((segment, _)) = in_file.as_ref().filter(|_| !rows.is_empty() && pieces <= PIECES_MAX) {
            let place = segment.batch_place(index);
            let (offset, metadata_bytes, body_bytes) = (place.offset, place.metadata_bytes, place.body_bytes);
            batches.push(MappedBatch { index, offset, metadata_bytes, body_bytes, rows });
        }
    }
    let part_rows = first.max(numbering.window.start)..numbering.next.min(numbering.window.end);
    if part_rows.is_empty() {
        return None;
    }
    match in_file {
        Some((segment, columns)) if pieces <= PIECES_MAX => {
            let (path, size_bytes) = (segment.path().to_path_buf(), segment.size_bytes());
            Some(MappedPart::File(MappedFile { path, size_bytes, columns, batches }))
        }
        _ => Some(MappedPart::Rows(part_rows)),
    }
}

/// The undeleted rows of a batch, as positions in the batch.
fn live_ranges(part: &ScanPart, batch: usize) -> impl Iterator<Item = Range<u64>> {
    let rows = part.batch_rows(batch);
    let deleted = part.deletions().map(|deletions| deletions.positions_in(rows.start, rows.end));
    let ends = deleted.into_iter().flatten().map(|row| row as u64).chain([rows.len() as u64]);
    let mut start = 0;
    ends.map(move |end| std::mem::replace(&mut start, end + 1)..end).filter(|rows| !rows.is_empty())
}

/// Consecutive rows are merged into one piece.
fn push(parts: &mut Vec<MappedPart>, part: Option<MappedPart>) {
    match (parts.last_mut(), part) {
        (Some(MappedPart::Rows(before)), Some(MappedPart::Rows(rows))) if before.end == rows.start => before.end = rows.end,
        (_, Some(part)) => parts.push(part),
        (_, None) => {}
    }
}
