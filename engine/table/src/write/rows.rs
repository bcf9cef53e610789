//! Writes a stream of batches into segments; one commit makes them visible.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, RecordBatch};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Field, SchemaRef};
use futures::{Stream, StreamExt};
use pmem_store::attributes::Attributes;
use pmem_store::objects::{ObjectKind, ObjectRecord};
use pmem_store::{ColumnInfo, ColumnOrder, ENCODING_OPTION, NewTable, PLAIN, StoreError, TableId, Transaction};

use super::scope::WriteScope;
use super::staged_rows::{RowSink, StagedRows};
use crate::blocking::blocking;
use crate::constraints::{Constraint, Enforcer, TableRules};
use common::clock::now_ms;
use common::error::EngineError;

/// The destination of rows.
#[derive(Debug, Clone)]
pub struct WriteTarget {
    pub namespace: String,
    pub table: String,
    pub schema: SchemaRef,
    /// The rows arrive in this order.
    pub cluster_key: Vec<ColumnOrder>,
    pub what: WriteMode,
}

#[derive(Debug, Clone)]
pub enum WriteMode {
    /// Adds to the table with this id; `replace` removes its rows first.
    Existing { id: TableId, replace: bool },
    /// Creates the table in the same commit; `replace` drops an older one of the name.
    New { replace: bool, declared: Declarations },
}

/// The parts of a new table besides its columns and its order.
#[derive(Debug, Clone, Default)]
pub struct Declarations {
    pub columns: Vec<ColumnInfo>,
    pub constraints: Vec<Constraint>,
    pub options: BTreeMap<String, String>,
    pub tags: Attributes,
}

fn sink(scope: &WriteScope, target: &WriteTarget, id: TableId, may_be_few: bool) -> Result<RowSink, EngineError> {
    let has_plain_columns = match &target.what {
        WriteMode::New { declared, .. } => declared.options.get(ENCODING_OPTION).is_some_and(|value| value == PLAIN),
        WriteMode::Existing { .. } => scope.has_plain_columns(&target.namespace, &target.table)?,
    };
    RowSink::new(scope.engine(), id, &target.schema, has_plain_columns, may_be_few)
}

/// If it is dropped unfinished, it leaves nothing behind.
pub struct RowWriter {
    scope: WriteScope,
    pub(super) target: WriteTarget,
    id: TableId,
    pub(super) sink: Option<RowSink>,
    pub(super) enforcer: Option<Enforcer>,
    pub(super) rows: u64,
}

impl RowWriter {
    pub fn new(scope: &WriteScope, target: WriteTarget) -> Result<RowWriter, EngineError> {
        let (id, rules) = match &target.what {
            WriteMode::Existing { id, .. } => (*id, scope.rules_of(&target.namespace, &target.table)?),
            WriteMode::New { declared, .. } => {
                let Declarations { columns, constraints, .. } = declared;
                let rules = TableRules::new(scope.engine().rules(), &target.table, &target.schema, columns, constraints)?;
                (scope.store().new_table_id(), rules)
            }
        };
        RowWriter::with_rules(scope, target, id, &rules)
    }

    /// For an existing table with known rules.
    pub fn of_table(scope: &WriteScope, target: WriteTarget, rules: &Arc<TableRules>) -> Result<RowWriter, EngineError> {
        let WriteMode::Existing { id, .. } = target.what else { return RowWriter::new(scope, target) };
        RowWriter::with_rules(scope, target, id, rules)
    }

    fn with_rules(scope: &WriteScope, target: WriteTarget, id: TableId, rules: &Arc<TableRules>) -> Result<RowWriter, EngineError> {
        let may_be_few = matches!(target.what, WriteMode::Existing { replace: false, .. });
        let sink = sink(scope, &target, id, may_be_few)?;
        Ok(RowWriter { scope: scope.clone(), target, id, sink: Some(sink), enforcer: Some(Enforcer::new(rules)), rows: 0 })
    }

    /// The rows become segments of their own, however few they are, because somebody has put them into a file together.
    pub fn in_segments(mut self) -> Result<RowWriter, EngineError> {
        self.sink = Some(sink(&self.scope, &self.target, self.id, false)?);
        Ok(self)
    }

    /// Blocks while it writes to the mapped file.
    pub fn write(&mut self, batch: RecordBatch) -> Result<(), EngineError> {
        check_not_null(&batch, &self.target, self.rows)?;
        if let Some(enforcer) = &mut self.enforcer {
            enforcer.see(&batch)?;
        }
        self.rows += batch.num_rows() as u64;
        match &mut self.sink {
            Some(sink) => sink.write(batch),
            None => Err(EngineError::internal("a row was written after the end")),
        }
    }

    /// Writes a whole stream without blocking other tasks.
    pub async fn write_all<E: Into<EngineError>>(
        mut self,
        mut batches: impl Stream<Item = Result<RecordBatch, E>> + Unpin,
    ) -> Result<RowWriter, EngineError> {
        while let Some(batch) = batches.next().await {
            let batch = batch.map_err(Into::into)?;
            self = blocking(move || self.write(batch).map(|()| self)).await?;
        }
        Ok(self)
    }

    /// Seals and commits; returns the number of rows.
    pub async fn commit(self, operation: &'static str) -> Result<u64, EngineError> {
        blocking(move || self.commit_now(operation)).await
    }

    pub fn commit_now(mut self, operation: &str) -> Result<u64, EngineError> {
        let (staged, rows) = (self.seal()?, self.rows);
        let (id, target) = (self.id, &self.target);
        self.scope.change(operation, |transaction| add(transaction, id, target, staged))?;
        Ok(rows)
    }

    /// Seals the written rows, for a transaction to add.
    pub fn seal(&mut self) -> Result<StagedRows, EngineError> {
        match (self.sink.take(), self.enforcer.take()) {
            (Some(sink), Some(enforcer)) => Ok(sink.finish()?.enforced_by(enforcer)),
            _ => Err(EngineError::internal("rows were sealed twice")),
        }
    }
}

fn add(transaction: &mut Transaction, id: TableId, target: &WriteTarget, staged: StagedRows) -> Result<(), StoreError> {
    let WriteTarget { namespace, table, schema, cluster_key, what } = target;
    match what {
        WriteMode::Existing { replace: true, .. } => transaction.clear_table(namespace, table)?,
        WriteMode::Existing { .. } => {}
        WriteMode::New { replace, declared } => {
            let constraints = declared.constraints.iter().map(Constraint::to_text).collect::<Result<_, _>>();
            let new = NewTable {
                namespace,
                name: table,
                schema,
                columns: declared.columns.clone(),
                cluster_key: cluster_key.clone(),
                constraints: constraints.map_err(|error: EngineError| StoreError::Refused(error.to_string()))?,
                options: declared.options.clone(),
            };
            let replaced = transaction.snapshot().table_record(namespace, table).filter(|_| *replace).map(|record| record.id);
            transaction.create_table(id, new, *replace)?;
            if let Some(replaced) = replaced {
                transaction.remove_objects(&[replaced])?;
            }
            if !declared.tags.is_empty() {
                let object = ObjectRecord::new(id, ObjectKind::Table, now_ms());
                transaction.put_objects(vec![ObjectRecord { attributes: declared.tags.clone(), ..object }])?;
            }
        }
    }
    staged.add_to(transaction, !cluster_key.is_empty())
}

pub fn check_not_null(batch: &RecordBatch, target: &WriteTarget, rows_before: u64) -> Result<(), EngineError> {
    let mut columns = target.schema.fields().iter().zip(batch.columns());
    let Some((column, row)) = columns.find_map(|(field, array)| misplaced_null(field, array, None)) else { return Ok(()) };
    Err(EngineError::NotNull { table: target.table.clone(), column, row: rows_before + row as u64 + 1 })
}

/// The path to a NOT NULL column that has a NULL, and the first such row. SQL cannot declare a struct's field NOT NULL, but a file's
/// schema can; fields of a struct that is itself NULL (not in `visible`) are exempt.
fn misplaced_null(field: &Field, array: &ArrayRef, visible: Option<&NullBuffer>) -> Option<(String, usize)> {
    let inner = array.as_struct_opt().filter(|_| matches!(field.data_type(), DataType::Struct(_)));
    if field.is_nullable() && inner.is_none() {
        return None;
    }
    let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
    if let Some(nulls) = nulls.as_ref().filter(|_| !field.is_nullable()) {
        let mut rows = 0..array.len();
        if let Some(row) = rows.find(|row| nulls.is_null(*row) && visible.is_none_or(|visible| visible.is_valid(*row))) {
            return Some((field.name().clone(), row));
        }
    }
    let (DataType::Struct(fields), Some(array)) = (field.data_type(), inner) else { return None };
    let visible = NullBuffer::union(visible, nulls.as_ref());
    fields.iter().zip(array.columns()).find_map(|(field_inside, child)| {
        let (path, row) = misplaced_null(field_inside, child, visible.as_ref())?;
        Some((format!("{}.{path}", field.name()), row))
    })
}

#[cfg(test)]
mod tests {
    use arrow::array::{Int32Array, StructArray};
    use arrow::datatypes::{Fields, Schema};

    use super::*;

    /// Checks column `place` with field `x`, which is NOT NULL; the incoming rows are not checked before.
    fn checked(rows: Vec<Option<i32>>, nulls: Option<NullBuffer>) -> Result<(), String> {
        let fields = |is_nullable| Fields::from(vec![Field::new("x", DataType::Int32, is_nullable)]);
        let place: ArrayRef = Arc::new(StructArray::new(fields(true), vec![Arc::new(Int32Array::from(rows))], nulls));
        let target = WriteTarget {
            namespace: "main".into(),
            table: "t".into(),
            schema: Arc::new(Schema::new(vec![Field::new("place", DataType::Struct(fields(false)), true)])),
            cluster_key: Vec::new(),
            what: WriteMode::New { replace: false, declared: Default::default() },
        };
        let batch = RecordBatch::try_from_iter([("place", place)]).unwrap();
        check_not_null(&batch, &target, 10).map_err(|error| error.to_string())
    }

    #[test]
    fn a_null_under_a_struct_that_is_null_is_not_there() {
        let nulls = NullBuffer::from(vec![true, false, true]);
        assert_eq!(checked(vec![Some(1), None, Some(3)], Some(nulls)), Ok(()));
        assert_eq!(checked(vec![Some(1), Some(2), Some(3)], None), Ok(()));
    }

    #[test]
    fn a_null_in_a_struct_that_is_there_is_refused_with_its_path_and_row() {
        // As many NULLs as NULL structs, but in other rows.
        let refused = checked(vec![Some(1), Some(2), None], Some(NullBuffer::from(vec![true, false, true])));
        let error = "NULL in column \"place.x\" of \"t\", which is NOT NULL (row 13 of the rows being written)";
        assert_eq!(refused, Err(error.to_string()));
        assert!(checked(vec![None], None).is_err());
    }
}
