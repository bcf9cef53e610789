//! The bytes of blobs: a row for each, with the id of its object. They are read where they lie. Each tier that some blob was given has a table of
//! its own, whose segments the maintenance moves as those of any table.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use arrow::array::{ArrayRef, AsArray, Int64Array, LargeBinaryArray, RecordBatch};
use arrow::buffer::{Buffer, OffsetBuffer};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};

use super::BLOBS_TABLE;
use super::record::{ObjectId, ObjectRecord};
use super::rows::{ID, Part, RowPosition, by_part, ids_of, own_table, parts, visit_ids};
use super::search::Rows;
use super::stored_bytes::StoredBytes;
use crate::catalog::{TIER_OPTION, TableId};
use crate::error::{Result, StoreError};
use crate::segment::{
    Appender, IN_PLACE_ROWS_MAX, OtherColumns, WIDE_SEGMENT_BYTES, kept_local, rows_of_segment, storable_schema, without_statistics,
};
use crate::snapshot::{Snapshot, TableSnapshot};
use crate::state::TableSegment;
use crate::tiers::{Tier, check_memory, is_slow_tier};
use crate::transaction::Transaction;

const CONTENT: usize = 1;

/// Up to here the bytes of a transaction go to the log; more are worth a segment.
const LOGGED_BYTES_MAX: usize = 256 << 10;
/// Small blobs are written together until they have so many bytes.
const TOGETHER_BYTES: usize = 32 << 20;

pub static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    let fields =
        [kept_local(Field::new("id", DataType::Int64, false)), without_statistics(Field::new("content", DataType::LargeBinary, false))];
    Arc::new(Schema::new(fields.to_vec()))
});

/// The bytes of all blobs at one version, whatever a user may see.
#[derive(Debug, Clone)]
pub struct Blobs {
    tables: Vec<TableSnapshot>,
}

impl Snapshot {
    pub fn blobs(&self) -> Result<Blobs> {
        let mut tables = Vec::new();
        for tier in Tier::ALL {
            tables.extend(own_table(self, &table_name(tier.word()), &SCHEMA)?);
        }
        Ok(Blobs { tables })
    }
}

pub fn table_name(tier: &str) -> String {
    if tier == Tier::Pmem.word() { BLOBS_TABLE.to_string() } else { format!("{BLOBS_TABLE}_{tier}") }
}

impl Blobs {
    pub(super) fn of(tables: Vec<TableSnapshot>) -> Blobs {
        Blobs { tables }
    }

    /// The bytes of a blob, in the mapping of the file they lie in. `None` if there is no such blob.
    pub fn content(&self, id: ObjectId) -> Result<Option<Buffer>> {
        Ok(self.contents(&[id])?.remove(&id))
    }

    /// The same for several blobs, by id.
    pub fn contents(&self, ids: &[ObjectId]) -> Result<BTreeMap<ObjectId, Buffer>> {
        let stored = self.stored(ids, true)?.into_iter();
        Ok(stored.filter_map(|(id, content)| Some((id, content.bytes?))).collect())
    }

    /// The same with where they lie. Nothing is fetched from an object store.
    pub fn near(&self, ids: &[ObjectId]) -> Result<BTreeMap<ObjectId, StoredBytes>> {
        self.stored(ids, false)
    }

    fn stored(&self, ids: &[ObjectId], fetches: bool) -> Result<BTreeMap<ObjectId, StoredBytes>> {
        let wanted: BTreeSet<i64> = ids.iter().map(|id| *id as i64).collect();
        let mut found = BTreeMap::new();
        for table in &self.tables {
            let mut read_bytes = 0;
            // Prefetches are decided by the reads of each blob there.
            let is_slow = table.record().options.get(TIER_OPTION).is_some_and(|tier| is_slow_tier(tier));
            for part in parts(Some(table)) {
                let rows = part.rows_with_ids(&wanted)?;
                let segment = match &part {
                    Part::Segment(segment) if !rows.is_empty() => Some(segment.open()?),
                    _ => None,
                };
                let far = segment.as_ref().filter(|segment| !fetches && segment.durable_tier() == Tier::Object);
                let is_near = |row: &u32| far.is_none_or(|segment| segment.is_fetched(segment.batch_of(*row as usize), &[CONTENT]));
                let (near, far): (Vec<u32>, Vec<u32>) = rows.iter().partition(|row| is_near(row));
                part.visit(&Rows::Few(near), &[ID, CONTENT], |rows, row, _| {
                    let (id, bytes) = (ids_of(rows)[row] as ObjectId, bytes_of(rows.column(CONTENT).as_binary::<i64>(), row));
                    read_bytes += bytes.len() as u64;
                    if is_slow {
                        table.count_read_of_blob(id, bytes.len() as u64);
                    }
                    found.insert(id, StoredBytes { bytes: Some(bytes), segment: segment.clone() });
                    Ok(())
                })?;
                part.visit(&Rows::Few(far), &[ID], |rows, row, _| {
                    found.insert(ids_of(rows)[row] as ObjectId, StoredBytes { bytes: None, segment: segment.clone() });
                    Ok(())
                })?;
            }
            table.touches().add(read_bytes);
        }
        Ok(found)
    }
}

/// Blobs of one segment, which lies in a slower tier than the store's directory.
#[derive(Debug)]
pub struct SlowBlobs {
    pub table: TableId,
    pub segment: TableSegment,
    batches: BTreeSet<usize>,
}

impl SlowBlobs {
    /// Fetches them from the object store that they lie in, if they do, and if there is room; returns the bytes that were fetched.
    pub fn fetch(&self) -> Result<u64> {
        let segment = self.segment.open()?;
        let missing: Vec<usize> = self.batches.iter().copied().filter(|batch| !segment.is_fetched(*batch, &[CONTENT])).collect();
        let bytes = missing.iter().map(|batch| segment.touched_bytes(*batch, CONTENT, segment.batch_rows(*batch).len()) as u64).sum();
        check_memory(bytes)?;
        Ok(segment.fetch(&missing, &[CONTENT])?.size_bytes)
    }
}

impl Blobs {
    /// Where those of these blobs lie that are in slower tiers than the store's directory.
    pub fn slow(&self, ids: &[ObjectId]) -> Result<Vec<SlowBlobs>> {
        let mut found: BTreeMap<u64, SlowBlobs> = BTreeMap::new();
        for table in &self.tables {
            visit_ids(Some(table), ids, &[ID], |part, _, _, row| {
                let Part::Segment(segment) = part else { return Ok(()) };
                if segment.durable_tier() > Tier::Pmem {
                    let new = || SlowBlobs { table: table.record().id, segment: (*segment).clone(), batches: BTreeSet::new() };
                    let batch = segment.open()?.batch_of(row as usize);
                    found.entry(segment.id()).or_insert_with(new).batches.insert(batch);
                }
                Ok(())
            })?;
        }
        Ok(found.into_values().collect())
    }
}

fn bytes_of(column: &LargeBinaryArray, row: usize) -> Buffer {
    let (start, end) = (column.value_offsets()[row] as usize, column.value_offsets()[row + 1] as usize);
    column.values().slice_with_length(start, end - start)
}

impl Transaction {
    /// Writes blobs, each of which is given once: their objects and their bytes. A blob that is there already gets these bytes instead.
    pub fn put_blobs(&mut self, blobs: Vec<(ObjectRecord, Buffer)>) -> Result<()> {
        let ids: Vec<ObjectId> = blobs.iter().map(|(record, _)| record.id).collect();
        let mut by_tier: BTreeMap<String, Vec<(ObjectId, Buffer)>> = BTreeMap::new();
        // `collect` reuses the memory of `blobs`.
        let records = blobs.into_iter().map(|(record, content)| {
            let size_bytes = content.len() as u64;
            let tier = record.tier.as_deref().unwrap_or(Tier::Pmem.word());
            match by_tier.get_mut(tier) {
                Some(of_tier) => of_tier.push((record.id, content)),
                None => drop(by_tier.insert(tier.to_string(), vec![(record.id, content)])),
            }
            ObjectRecord { size_bytes, ..record }
        });
        let records = records.collect();
        self.put_objects(records)?;
        self.remove_contents(&ids)?;
        by_tier.into_iter().try_for_each(|(tier, contents)| self.put_contents(&tier, contents))
    }

    fn put_contents(&mut self, tier: &str, mut contents: Vec<(ObjectId, Buffer)>) -> Result<()> {
        // In segments the ids ascend.
        contents.sort_by_key(|(id, _)| *id);
        if contents.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return Err(StoreError::Refused("a blob is given twice in one change; give it once".into()));
        }
        let name = table_name(tier);
        let table = match own_table(&self.snapshot(), &name, &SCHEMA)? {
            Some(table) => table.record().id,
            None => {
                let options = (name != BLOBS_TABLE).then(|| (TIER_OPTION.to_string(), tier.to_string()));
                self.create_own_table(&name, &SCHEMA, options.into_iter().collect())?
            }
        };
        if bytes_of_all(&contents) <= LOGGED_BYTES_MAX {
            return self.append_rows(table, rows_of(&contents)?);
        }
        let schema = Arc::new(storable_schema(&SCHEMA).map_err(StoreError::UnsupportedType)?);
        let mut appender = self.store().appender(table, schema)?.with_plain_columns();
        let mut rest = contents.as_slice();
        while !rest.is_empty() {
            let count = count_with_bytes(rest, IN_PLACE_ROWS_MAX, WIDE_SEGMENT_BYTES);
            let (blobs, later) = rest.split_at(count);
            match rows_of_segment(bytes_of_all(blobs) / count) {
                // One blob is not copied on its way to the file in any case.
                Some(_) if count > 1 => write_in_place(&mut appender, blobs)?,
                _ => write_together(&mut appender, blobs)?,
            }
            rest = later;
        }
        self.add_segments(table, appender.finish()?, true)
    }

    /// Removes blobs, with their objects; one that is not there is no error.
    pub fn remove_blobs(&mut self, ids: &[ObjectId]) -> Result<()> {
        self.remove_objects(ids)?;
        self.remove_contents(ids)
    }

    fn remove_contents(&mut self, ids: &[ObjectId]) -> Result<()> {
        for table in self.snapshot().blobs()?.tables {
            let mut positions = Vec::new();
            visit_ids(Some(&table), ids, &[ID], |part, _, _, row| {
                positions.push(RowPosition { part: part.id(), row });
                Ok(())
            })?;
            let rows = by_part(positions);
            if !rows.is_empty() {
                self.delete_rows(table.record().id, rows)?;
            }
        }
        Ok(())
    }
}

fn bytes_of_all(blobs: &[(ObjectId, Buffer)]) -> usize {
    blobs.iter().map(|(_, content)| content.len()).sum()
}

/// How many of the first blobs it takes to have so many bytes.
fn count_with_bytes(blobs: &[(ObjectId, Buffer)], count_max: usize, wanted_bytes: usize) -> usize {
    let mut bytes = 0;
    let is_wanted = |(_, content): &&(ObjectId, Buffer)| {
        let is_wanted = bytes < wanted_bytes;
        bytes += content.len();
        is_wanted
    };
    blobs.iter().take(count_max).take_while(is_wanted).count()
}

/// A segment of its own, into whose file the bytes are copied from where they are.
fn write_in_place(appender: &mut Appender, blobs: &[(ObjectId, Buffer)]) -> Result<()> {
    let offsets = OffsetBuffer::<i64>::from_lengths(blobs.iter().map(|(_, content)| content.len()));
    let columns = vec![Some(ids_column(blobs)), None];
    let around = OtherColumns { columns, offsets: Some(offsets), row_count: blobs.len(), nulls: None };
    let pieces: Vec<Buffer> = blobs.iter().map(|(_, content)| content.clone()).collect();
    appender.write_pieces(around, &pieces)
}

/// Small blobs fill segments together.
fn write_together(appender: &mut Appender, mut blobs: &[(ObjectId, Buffer)]) -> Result<()> {
    while !blobs.is_empty() {
        let (some, later) = blobs.split_at(count_with_bytes(blobs, usize::MAX, TOGETHER_BYTES));
        appender.write(rows_of(some)?)?;
        blobs = later;
    }
    Ok(())
}

/// The array of one blob has the buffer itself.
fn rows_of(blobs: &[(ObjectId, Buffer)]) -> Result<RecordBatch> {
    let contents = match blobs {
        [(_, content)] => LargeBinaryArray::try_new(OffsetBuffer::from_lengths([content.len()]), content.clone(), None)?,
        many => LargeBinaryArray::from_iter_values(many.iter().map(|(_, content)| content.as_slice())),
    };
    Ok(RecordBatch::try_new(Arc::clone(&SCHEMA), vec![ids_column(blobs), Arc::new(contents)])?)
}

fn ids_column(blobs: &[(ObjectId, Buffer)]) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(blobs.iter().map(|(id, _)| *id as i64)))
}
