//! The end of a plan that changes rows: it gathers all rows, then changes the table at once.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use arrow::array::{AsArray, BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::datatypes::{Int8Type, SchemaRef, UInt64Type};
use async_trait::async_trait;
use datafusion::common::Result;
use datafusion::datasource::sink::DataSink;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType};
use futures::StreamExt;
use pmem_store::RoaringBitmap;

use super::operation::{CODE_TWICE, CODE_WRITE, ChangeInput, NEW_ROW_START, Operation};
use common::error::EngineError;
use table::blocking::blocking;
use table::catalog::StoreTable;
use table::scan::row_id;
use table::write::{RowWriter, WriteMode, WriteTarget, replace_rows};

#[derive(Debug)]
pub struct ChangeSink {
    operation: Operation,
    table: Arc<StoreTable>,
    what: ChangeInput,
    schema: SchemaRef,
}

impl ChangeSink {
    /// `schema` is that of the input.
    pub fn new(operation: Operation, table: Arc<StoreTable>, what: ChangeInput, schema: SchemaRef) -> ChangeSink {
        ChangeSink { operation, table, what, schema }
    }

    fn gatherer(&self) -> Gatherer {
        let record = self.table.snapshot.record();
        let target = WriteTarget {
            namespace: record.namespace.clone(),
            table: record.name.clone(),
            schema: Arc::clone(self.table.snapshot.schema()),
            cluster_key: record.cluster_key.clone(),
            what: WriteMode::Existing { id: record.id, replace: false },
        };
        Gatherer {
            operation: self.operation,
            what: self.what,
            table: Arc::clone(&self.table),
            target,
            deletions: BTreeMap::new(),
            writer: None,
            changed: 0,
        }
    }

    fn remove_all(&self) -> Result<u64, EngineError> {
        let record = self.table.snapshot.record();
        let scope = self.table.write_scope();
        scope.check_writable()?;
        if self.table.snapshot.row_count() == 0 {
            return Ok(0);
        }
        scope.change(self.operation.name(), |transaction| {
            let rows = transaction.snapshot().table(&record.namespace, &record.name)?.map_or(0, |table| table.row_count());
            transaction.clear_table(&record.namespace, &record.name)?;
            Ok(rows)
        })
    }
}

impl DisplayAs for ChangeSink {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let record = self.table.snapshot.record();
        write!(f, "ChangeSink {} table={}.{}", self.operation.name(), record.namespace, record.name)
    }
}

#[async_trait]
impl DataSink for ChangeSink {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    async fn write_all(&self, mut rows: SendableRecordBatchStream, _: &Arc<TaskContext>) -> Result<u64> {
        let mut gatherer = self.gatherer();
        while let Some(batch) = rows.next().await {
            let batch = batch?;
            gatherer = match self.what {
                ChangeInput::All => gatherer,
                ChangeInput::Deleted => gatherer.with(&batch)?,
                ChangeInput::Changed => blocking(move || gatherer.with(&batch)).await?,
            };
        }
        // Ends the rows' use of the query's memory and spill files.
        drop(rows);
        let table = ChangeSink { schema: Arc::clone(&self.schema), table: Arc::clone(&self.table), ..*self };
        let changed = blocking(move || match table.what {
            ChangeInput::All => table.remove_all(),
            ChangeInput::Deleted | ChangeInput::Changed => gatherer.apply(),
        });
        Ok(changed.await?)
    }
}

/// The changes of a statement, gathered. If it is dropped unfinished, it leaves nothing behind.
struct Gatherer {
    operation: Operation,
    what: ChangeInput,
    table: Arc<StoreTable>,
    target: WriteTarget,
    /// Positions of deleted rows, by segment.
    deletions: BTreeMap<u64, RoaringBitmap>,
    /// Writes new rows; `None` until there is one.
    writer: Option<RowWriter>,
    changed: u64,
}

impl Gatherer {
    fn with(mut self, batch: &RecordBatch) -> Result<Gatherer, EngineError> {
        if self.what == ChangeInput::Changed {
            self.write(batch)?;
        }
        self.remove(batch)?;
        Ok(self)
    }

    fn remove(&mut self, batch: &RecordBatch) -> Result<(), EngineError> {
        let ids = batch.column(0).as_primitive::<UInt64Type>();
        // Neighbouring rows are mostly in the same segment.
        let mut last: Option<(u64, RoaringBitmap)> = None;
        for id in ids.iter() {
            // Inserted rows have no id.
            let Some(id) = id else {
                self.changed += 1;
                continue;
            };
            let (segment, row) = row_id::decode(id);
            if last.as_ref().is_none_or(|(other, _)| *other != segment) {
                let rows = self.deletions.remove(&segment).unwrap_or_default();
                self.deletions.extend(last.replace((segment, rows)));
            }
            let is_first = last.as_mut().is_some_and(|(_, rows)| rows.insert(row));
            if is_first {
                self.changed += 1;
            } else if self.operation != Operation::Delete {
                return Err(changed_twice_error(self.operation));
            }
        }
        self.deletions.extend(last);
        Ok(())
    }

    fn write(&mut self, batch: &RecordBatch) -> Result<(), EngineError> {
        let actions = batch.column(1).as_primitive::<Int8Type>();
        if actions.values().contains(&CODE_TWICE) {
            return Err(changed_twice_error(self.operation));
        }
        let columns: Vec<usize> = (NEW_ROW_START..batch.num_columns()).collect();
        let mut rows = batch.project(&columns).map_err(|error| EngineError::internal(error.to_string()))?;
        if actions.values().iter().any(|action| *action != CODE_WRITE) {
            let written = BooleanArray::from_unary(actions, |action| action == CODE_WRITE);
            rows = filter_record_batch(&rows, &written).map_err(|error| EngineError::internal(error.to_string()))?;
        }
        if rows.num_rows() == 0 {
            return Ok(());
        }
        let writer = match &mut self.writer {
            Some(writer) => writer,
            None => self.writer.insert(RowWriter::new(self.table.write_scope(), self.target.clone())?),
        };
        writer.write(rows)
    }

    /// Deletes old rows and adds new ones in one change.
    fn apply(mut self) -> Result<u64, EngineError> {
        let scope = self.table.write_scope();
        scope.check_writable()?;
        let written = self.writer.take().map(|mut writer| writer.seal()).transpose()?;
        if self.deletions.is_empty() && written.is_none() {
            return Ok(0);
        }
        let id = self.table.snapshot.record().id;
        replace_rows(scope, self.operation.name(), &self.target, id, self.deletions, written)?;
        Ok(self.changed)
    }
}

fn changed_twice_error(operation: Operation) -> EngineError {
    let (message, hint) = match operation {
        Operation::Insert => (
            "two of the rows to be inserted have the same key, so ON CONFLICT DO UPDATE would change one row twice",
            "insert each key once: SELECT DISTINCT ON (key) …",
        ),
        Operation::Merge => {
            ("a row of the target matches several rows of the source", "make the source have one row for each: GROUP BY, or DISTINCT ON")
        }
        _ => ("a row to be updated matches several rows of FROM", "make FROM have one row for each: GROUP BY, or DISTINCT ON"),
    };
    EngineError::Execution { message: message.into(), hint: Some(hint.into()) }
}
