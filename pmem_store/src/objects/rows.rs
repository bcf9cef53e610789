//! Rows of a table that begins with a column of ids, by id or position: segments are searched, rows that are in no segment yet are looked at
//! one after the other.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::RangeInclusive;

use arrow::array::{ArrayRef, AsArray, RecordBatch};
use arrow::datatypes::{Int64Type, Schema};
use roaring::RoaringBitmap;

use super::predicate::Predicate;
use super::record::PROPERTIES;
use super::search::{Rows, candidates, rows_named};
use crate::ZONE_ROWS;
use crate::catalog::ColumnOrder;
use crate::deletions::Deletions;
use crate::error::{Result, StoreError};
use crate::names::SYSTEM_NAMESPACE;
use crate::segment::Extreme;
use crate::snapshot::{Snapshot, TableSnapshot};
use crate::state::{TableSegment, Tail};
use crate::transaction::{NewTable, Transaction};

/// The column of the ids.
pub const ID: usize = 0;

/// The place of a row: its segment or log, and its position there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowPosition {
    pub part: u64,
    pub row: u32,
}

/// A table of the store's own. Stores of before it may have a table of somebody else under its name.
pub fn own_table(snapshot: &Snapshot, name: &str, schema: &Schema) -> Result<Option<TableSnapshot>> {
    let Some(table) = snapshot.unrestricted_table(SYSTEM_NAMESPACE, name)? else { return Ok(None) };
    let types = |schema: &Schema| schema.fields().iter().map(|field| field.data_type().clone()).collect::<Vec<_>>();
    match types(table.schema()) == types(schema) {
        true => Ok(Some(table)),
        false => Err(StoreError::Refused(format!(
            "the table {SYSTEM_NAMESPACE}.{name} is not Quiver's own, which has its name; copy its rows into another schema and drop it"
        ))),
    }
}

pub fn parts(table: Option<&TableSnapshot>) -> impl Iterator<Item = Part<'_>> {
    let segments = table.into_iter().flat_map(|table| table.segments()).map(Part::Segment);
    segments.chain(table.into_iter().flat_map(|table| table.tails()).map(Part::Tail))
}

impl Transaction {
    /// Makes a table of the store's own, ordered by its ids.
    pub(super) fn create_own_table(&mut self, name: &str, schema: &Schema, options: BTreeMap<String, String>) -> Result<u64> {
        if !self.snapshot().has_namespace(SYSTEM_NAMESPACE) {
            self.create_namespace(SYSTEM_NAMESPACE)?;
        }
        let id = self.store().new_table_id();
        let new = NewTable {
            namespace: SYSTEM_NAMESPACE,
            name,
            schema,
            columns: Vec::new(),
            cluster_key: vec![ColumnOrder { column: "id".into(), descending: false, nulls_first: false }],
            constraints: Vec::new(),
            options,
        };
        self.create_table(id, new, false)?;
        Ok(id)
    }
}

/// The ids of rows whose first column they are.
pub fn ids_of(rows: &RecordBatch) -> &[i64] {
    rows.column(0).as_primitive::<Int64Type>().values()
}

/// Calls `visit` with the rows of these ids: the part, a batch of the wanted columns, the row there, and in the part.
pub fn visit_ids(
    table: Option<&TableSnapshot>,
    ids: &[u64],
    columns: &[usize],
    mut visit: impl FnMut(&Part<'_>, &RecordBatch, usize, u32) -> Result<()>,
) -> Result<()> {
    let wanted: BTreeSet<i64> = ids.iter().map(|id| *id as i64).collect();
    for part in parts(table) {
        let rows = part.rows_with_ids(&wanted)?;
        part.visit(&Rows::Few(rows), columns, |rows, row, position| visit(&part, rows, row, position))?;
    }
    Ok(())
}

/// A segment or a log.
pub enum Part<'a> {
    Segment(&'a TableSegment),
    Tail(&'a Tail),
}

impl Part<'_> {
    pub fn id(&self) -> u64 {
        match self {
            Part::Segment(segment) => segment.id(),
            Part::Tail(tail) => tail.id(),
        }
    }

    pub fn stored_rows(&self) -> u32 {
        match self {
            Part::Segment(segment) => segment.record().sealed.row_count as u32,
            Part::Tail(tail) => tail.stored_rows() as u32,
        }
    }

    fn deletions(&self) -> Option<&Deletions> {
        match self {
            Part::Segment(segment) => segment.deletions().map(|deletions| &**deletions),
            Part::Tail(tail) => tail.deletions().map(|deletions| &**deletions),
        }
    }

    pub fn is_indexed(&self) -> bool {
        matches!(self, Part::Segment(segment) if segment.record().sealed.index_xxh3.is_some())
    }

    /// The rows of the table of objects for which the condition may be true, and whether it is for all of them.
    pub fn candidates(&self, predicate: &Predicate) -> Result<(Rows, bool)> {
        if let Part::Segment(segment) = self
            && let Some(index) = segment.open()?.attribute_index()?
        {
            let found = candidates(&index, predicate)?;
            return Ok((found.rows, found.is_exact));
        }
        let mut found = Vec::new();
        self.visit(&Rows::All, &[PROPERTIES], |rows, row, position| {
            if !predicate.is_refuted_by(rows.column(0).as_binary_view().value(row))? {
                found.push(position);
            }
            Ok(())
        })?;
        Ok((Rows::Few(found), false))
    }

    /// The rows of the table of objects that may have one of these names.
    pub fn rows_named(&self, names: &HashSet<&str>) -> Result<Rows> {
        if let Part::Segment(segment) = self
            && let Some(index) = segment.open()?.attribute_index()?
        {
            return Ok(Rows::Few(rows_named(&index, names)?));
        }
        Ok(Rows::All)
    }

    /// Batches, and the first row of each and the one behind the last.
    fn batch_starts(&self) -> Result<Vec<u32>> {
        match self {
            Part::Segment(segment) => {
                let opened = segment.open()?;
                let starts = (0..opened.batch_count()).map(|index| opened.batch_rows(index).start as u32);
                Ok(starts.chain([self.stored_rows()]).collect())
            }
            Part::Tail(tail) => {
                let starts = (0..tail.chunk_count()).map(|index| (index * ZONE_ROWS) as u32);
                Ok(starts.chain([self.stored_rows()]).collect())
            }
        }
    }

    fn batch(&self, index: usize, columns: &[usize]) -> Result<RecordBatch> {
        match self {
            Part::Segment(segment) => segment.open()?.batch(index, columns),
            Part::Tail(tail) => Ok(tail.chunk(index)?.project(columns)?),
        }
    }

    /// Calls `visit` with each of these rows that is not deleted: a batch of the wanted columns, its row there, and in the part.
    pub fn visit(&self, rows: &Rows, columns: &[usize], mut visit: impl FnMut(&RecordBatch, usize, u32) -> Result<()>) -> Result<()> {
        self.visit_batches(rows, columns, |batch, start, rows| rows.iter().try_for_each(|row| visit(batch, (row - start) as usize, *row)))
    }

    /// The same, a batch at a time: its columns, its first row, and those of its rows that are wanted, ascending.
    pub fn visit_batches(
        &self,
        rows: &Rows,
        columns: &[usize],
        mut visit: impl FnMut(&RecordBatch, u32, &[u32]) -> Result<()>,
    ) -> Result<()> {
        let deleted = self.deletions().map(Deletions::rows);
        let (starts, mut wanted) = (self.batch_starts()?, Vec::new());
        for (index, range) in starts.windows(2).map(|pair| pair[0]..pair[1]).enumerate() {
            let start = range.start;
            wanted.clear();
            match rows {
                Rows::All => wanted.extend(range),
                Rows::Few(rows) => {
                    let (first, end) = (rows.partition_point(|row| *row < start), rows.partition_point(|row| *row < range.end));
                    wanted.extend_from_slice(&rows[first..end]);
                }
                Rows::Bitmap(rows) => wanted.extend(rows.range(range)),
            }
            if let Some(deleted) = deleted {
                wanted.retain(|row| !deleted.contains(*row));
            }
            if !wanted.is_empty() {
                visit(&self.batch(index, columns)?, start, &wanted)?;
            }
        }
        Ok(())
    }

    /// The rows with one of these ids, ascending.
    pub fn rows_with_ids(&self, wanted: &BTreeSet<i64>) -> Result<Vec<u32>> {
        if let Part::Segment(segment) = self
            && let Some(range) = ids_between(segment)?
            && wanted.range(range).next().is_none()
        {
            return Ok(Vec::new());
        }
        let is_sorted = matches!(self, Part::Segment(segment) if segment.record().sorted);
        let (mut found, starts) = (Vec::new(), self.batch_starts()?);
        let batch_count = starts.len() - 1;
        for (index, start) in starts.into_iter().enumerate().take(batch_count) {
            let batch = self.batch(index, &[ID])?;
            let ids = ids_of(&batch);
            if is_sorted {
                let (Some(first), Some(last)) = (ids.first(), ids.last()) else { continue };
                for id in wanted.range(*first..=*last) {
                    // A row that was replaced while it was in a log is there, too.
                    let rows = ids.partition_point(|other| other < id)..ids.partition_point(|other| other <= id);
                    found.extend(rows.map(|row| start + row as u32));
                }
            } else {
                let rows = ids.iter().zip(start..).filter(|(id, _)| wanted.contains(id));
                found.extend(rows.map(|(_, row)| row));
            }
        }
        Ok(found)
    }
}

/// The least and the greatest id of a segment, if its statistics have them.
fn ids_between(segment: &TableSegment) -> Result<Option<RangeInclusive<i64>>> {
    let opened = segment.open()?;
    let statistics = opened.statistics();
    let [least, greatest] = statistics.extremes(ID);
    let column = statistics.column(ID);
    let bound = |bounds: &ArrayRef, extreme| match extreme {
        Extreme::Zone { zone, .. } => Some(bounds.as_primitive_opt::<Int64Type>()?.value(zone)),
        Extreme::Absent | Extreme::Unknown => None,
    };
    Ok(bound(&column.min, least).zip(bound(&column.max, greatest)).map(|(least, greatest)| least..=greatest))
}

/// The rows of these positions, by part.
pub fn by_part(positions: impl IntoIterator<Item = RowPosition>) -> BTreeMap<u64, RoaringBitmap> {
    let mut parts: BTreeMap<u64, RoaringBitmap> = BTreeMap::new();
    for position in positions {
        parts.entry(position.part).or_default().insert(position.row);
    }
    parts
}
