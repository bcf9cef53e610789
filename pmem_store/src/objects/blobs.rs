//! The bytes of blobs: a row for each, with the id of its object. They are read where they lie.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use arrow::array::{ArrayRef, AsArray, Int64Array, LargeBinaryArray, RecordBatch};
use arrow::buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};

use super::BLOBS_TABLE;
use super::record::{ObjectId, ObjectRecord};
use super::rows::{ID, RowPosition, by_part, ids_of, own_table, visit_ids};
use crate::error::{Result, StoreError};
use crate::segment::storable_schema;
use crate::snapshot::{Snapshot, TableSnapshot};
use crate::transaction::Transaction;

const CONTENT: usize = 1;

/// Up to here the bytes of a transaction go to the log; more are worth a segment.
const LOGGED_BYTES_MAX: usize = 256 << 10;
/// Blobs are written together until they have so many bytes.
const TOGETHER_BYTES: usize = 32 << 20;

static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    let fields = [Field::new("id", DataType::Int64, false), Field::new("content", DataType::LargeBinary, false)];
    Arc::new(Schema::new(fields.to_vec()))
});

/// The bytes of all blobs at one version, whatever a user may see.
#[derive(Debug, Clone)]
pub struct Blobs {
    table: Option<TableSnapshot>,
}

impl Snapshot {
    pub fn blobs(&self) -> Result<Blobs> {
        Ok(Blobs { table: own_table(self, BLOBS_TABLE, &SCHEMA)? })
    }
}

impl Blobs {
    /// The bytes of a blob, in the mapping of the file they lie in. `None` if there is no such blob.
    pub fn content(&self, id: ObjectId) -> Result<Option<Buffer>> {
        Ok(self.contents(&[id])?.remove(&id))
    }

    /// The same for several blobs, by id.
    pub fn contents(&self, ids: &[ObjectId]) -> Result<BTreeMap<ObjectId, Buffer>> {
        let mut found = BTreeMap::new();
        visit_ids(self.table.as_ref(), ids, &[ID, CONTENT], |_, rows, row, _| {
            found.insert(ids_of(rows)[row] as ObjectId, bytes_of(rows.column(CONTENT).as_binary::<i64>(), row));
            Ok(())
        })?;
        Ok(found)
    }

    fn positions(&self, ids: &[ObjectId]) -> Result<BTreeMap<ObjectId, RowPosition>> {
        let mut found = BTreeMap::new();
        visit_ids(self.table.as_ref(), ids, &[ID], |part, rows, row, position| {
            found.insert(ids_of(rows)[row] as ObjectId, RowPosition { part, row: position });
            Ok(())
        })?;
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
        self.put_objects(records)?;
        let ids: Vec<ObjectId> = contents.keys().copied().collect();
        let table = match self.snapshot().blobs()?.table {
            Some(table) => table.record().id,
            None => self.create_own_table(BLOBS_TABLE, &SCHEMA)?,
        };
        self.remove_contents(&ids)?;
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
        let blobs = self.snapshot().blobs()?;
        let Some(table) = &blobs.table else { return Ok(()) };
        let rows = by_part(blobs.positions(ids)?.into_values());
        if !rows.is_empty() {
            self.delete_rows(table.record().id, rows)?;
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
