//! The bytes of blobs: a row for each, with the id of its object. They are read where they lie. Each tier that some blob was given has a table of
//! its own, whose segments the maintenance moves as those of any table.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use arrow::array::{ArrayRef, AsArray, Int64Array, LargeBinaryArray, RecordBatch};
use arrow::buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};

use super::BLOBS_TABLE;
use super::record::{ObjectId, ObjectRecord};
use super::rows::{ID, RowPosition, by_part, ids_of, own_table, visit_ids};
use crate::catalog::TIER_OPTION;
use crate::error::{Result, StoreError};
use crate::segment::{kept_local, storable_schema};
use crate::snapshot::{Snapshot, TableSnapshot};
use crate::tiers::Tier;
use crate::transaction::Transaction;

const CONTENT: usize = 1;

/// Up to here the bytes of a transaction go to the log; more are worth a segment.
const LOGGED_BYTES_MAX: usize = 256 << 10;
/// Blobs are written together until they have so many bytes.
const TOGETHER_BYTES: usize = 32 << 20;

static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    let fields = [kept_local(Field::new("id", DataType::Int64, false)), Field::new("content", DataType::LargeBinary, false)];
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

fn table_name(tier: &str) -> String {
    if tier == Tier::Pmem.word() { BLOBS_TABLE.to_string() } else { format!("{BLOBS_TABLE}_{tier}") }
}

impl Blobs {
    /// The bytes of a blob, in the mapping of the file they lie in. `None` if there is no such blob.
    pub fn content(&self, id: ObjectId) -> Result<Option<Buffer>> {
        Ok(self.contents(&[id])?.remove(&id))
    }

    /// The same for several blobs, by id.
    pub fn contents(&self, ids: &[ObjectId]) -> Result<BTreeMap<ObjectId, Buffer>> {
        let mut found = BTreeMap::new();
        for table in &self.tables {
            let mut read_bytes = 0;
            visit_ids(Some(table), ids, &[ID, CONTENT], |_, rows, row, _| {
                let content = bytes_of(rows.column(CONTENT).as_binary::<i64>(), row);
                read_bytes += content.len() as u64;
                found.insert(ids_of(rows)[row] as ObjectId, content);
                Ok(())
            })?;
            table.touches().add(read_bytes);
        }
        Ok(found)
    }
}

fn bytes_of(column: &LargeBinaryArray, row: usize) -> Buffer {
    let (start, end) = (column.value_offsets()[row] as usize, column.value_offsets()[row + 1] as usize);
    column.values().slice_with_length(start, end - start)
}

impl Transaction {
    /// Writes blobs: their objects and their bytes. A blob that is there already gets these bytes instead.
    pub fn put_blobs(&mut self, blobs: Vec<(ObjectRecord, Buffer)>) -> Result<()> {
        let (mut records, mut contents) = (Vec::with_capacity(blobs.len()), BTreeMap::new());
        for (mut record, content) in blobs {
            record.size_bytes = content.len() as u64;
            contents.insert(record.id, content);
            records.push(record);
        }
        let mut by_tier: BTreeMap<String, BTreeMap<ObjectId, Buffer>> = BTreeMap::new();
        let ids: Vec<ObjectId> = contents.keys().copied().collect();
        for record in &records {
            let tier = record.tier.clone().unwrap_or_else(|| Tier::Pmem.word().to_string());
            by_tier.entry(tier).or_default().extend(contents.remove_entry(&record.id));
        }
        self.put_objects(records)?;
        self.remove_contents(&ids)?;
        by_tier.into_iter().try_for_each(|(tier, contents)| self.put_contents(&tier, contents))
    }

    fn put_contents(&mut self, tier: &str, contents: BTreeMap<ObjectId, Buffer>) -> Result<()> {
        let name = table_name(tier);
        let table = match own_table(&self.snapshot(), &name, &SCHEMA)? {
            Some(table) => table.record().id,
            None => {
                let options = (name != BLOBS_TABLE).then(|| (TIER_OPTION.to_string(), tier.to_string()));
                self.create_own_table(&name, &SCHEMA, options.into_iter().collect())?
            }
        };
        if contents.values().map(Buffer::len).sum::<usize>() <= LOGGED_BYTES_MAX {
            return self.append_rows(table, rows_of(contents.into_iter().collect())?);
        }
        let schema = Arc::new(storable_schema(&SCHEMA).map_err(StoreError::UnsupportedType)?);
        let mut appender = self.store().appender(table, schema)?;
        let (mut together, mut bytes) = (Vec::new(), 0);
        for (id, content) in contents {
            bytes += content.len();
            together.push((id, content));
            if bytes >= TOGETHER_BYTES {
                appender.write(rows_of(std::mem::take(&mut together))?)?;
                bytes = 0;
            }
        }
        if !together.is_empty() {
            appender.write(rows_of(together)?)?;
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
                positions.push(RowPosition { part, row });
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

/// One blob is not copied: its array has the buffer itself.
fn rows_of(blobs: Vec<(ObjectId, Buffer)>) -> Result<RecordBatch> {
    let ids = Int64Array::from_iter_values(blobs.iter().map(|(id, _)| *id as i64));
    let contents = match blobs.as_slice() {
        [(_, content)] => {
            let offsets = OffsetBuffer::new(ScalarBuffer::from(vec![0, content.len() as i64]));
            LargeBinaryArray::try_new(offsets, content.clone(), None)?
        }
        many => LargeBinaryArray::from_iter_values(many.iter().map(|(_, content)| content.as_slice())),
    };
    let columns: Vec<ArrayRef> = vec![Arc::new(ids), Arc::new(contents)];
    Ok(RecordBatch::try_new(Arc::clone(&SCHEMA), columns)?)
}
