//! The temporary tables of a session, by name.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow::datatypes::{Field, SchemaRef};
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, Statistics, TableReference};
use parking_lot::RwLock;
use pmem_store::StoreError;

use super::rows::Chunk;
use common::error::EngineError;
use common::names::{CATALOG, TEMP};
use common::type_names::{column_type_name, quoted};
use sql::split_name;

/// The kind that lists show.
pub const VOLATILE: &str = "volatile";

/// Shared by a session and the transactions that are begun in it.
#[derive(Debug, Default)]
pub struct TemporaryTables {
    tables: RwLock<BTreeMap<String, Arc<TemporaryRows>>>,
    ids: AtomicU64,
    /// Why no table can be created; `None` if it can.
    refused: RwLock<Option<&'static str>>,
}

/// The current state of a temporary table. It is immutable: INSERT replaces it.
#[derive(Debug)]
pub struct TemporaryRows {
    pub name: String,
    pub schema: SchemaRef,
    /// Distinguishes it from an earlier table of the same name.
    id: u64,
    chunks: Vec<Arc<Chunk>>,
}

impl TemporaryTables {
    pub fn is_empty(&self) -> bool {
        self.tables.read().is_empty()
    }

    pub fn get(&self, name: &str) -> Option<Arc<TemporaryRows>> {
        self.tables.read().get(name).cloned()
    }

    /// Sorted by name.
    pub fn all(&self) -> Vec<Arc<TemporaryRows>> {
        self.tables.read().values().cloned().collect()
    }

    /// The table to which a name in a statement refers. The name may include a version clause, which its reader refuses.
    pub fn named(&self, name: &TableReference) -> Option<Arc<TemporaryRows>> {
        let is_here = name.catalog().is_none_or(|catalog| catalog == CATALOG) && name.schema().is_none_or(|schema| schema == TEMP);
        let table = split_name(name.table()).map_or(name.table(), |(table, _)| table);
        if is_here { self.get(table) } else { None }
    }

    /// From here on no table can be created, because nobody would see it again.
    pub fn refuse(&self, why: &'static str) {
        *self.refused.write() = Some(why);
    }

    /// An error if a table of this name cannot be created.
    pub fn check_new(&self, name: &str, or_replace: bool) -> Result<(), EngineError> {
        if let Some(why) = *self.refused.read() {
            return Err(StoreError::Refused(format!("the temporary table \"{name}\" would be lost at once: {why}")).into());
        }
        if name.is_empty() {
            return Err(StoreError::NoName { kind: "temporary table" }.into());
        }
        match self.get(name) {
            Some(_) if !or_replace => Err(exists(name)),
            _ => Ok(()),
        }
    }

    pub fn create(&self, name: &str, schema: SchemaRef, rows: Option<Chunk>, or_replace: bool) -> Result<(), EngineError> {
        let id = self.ids.fetch_add(1, Ordering::Relaxed);
        let table = TemporaryRows { name: name.to_string(), schema, id, chunks: rows.map(Arc::new).into_iter().collect() };
        let mut tables = self.tables.write();
        if tables.contains_key(name) && !or_replace {
            return Err(exists(name));
        }
        let before = tables.insert(name.to_string(), Arc::new(table));
        // This may free much memory, so it happens outside of the lock.
        drop(tables);
        drop(before);
        Ok(())
    }

    /// Adds rows to a table as a statement found it; `replace` removes all others.
    pub fn put(&self, table: &TemporaryRows, rows: Chunk, replace: bool) -> Result<(), EngineError> {
        let mut tables = self.tables.write();
        let Some(now) = tables.get_mut(&table.name).filter(|now| now.id == table.id) else {
            return Err(StoreError::TableGone.into());
        };
        let next = now.with(rows, replace);
        let before = std::mem::replace(now, Arc::new(next));
        drop(tables);
        drop(before);
        Ok(())
    }

    /// Drops a table; returns whether there was one.
    pub fn drop_table(&self, name: &str) -> bool {
        let dropped = self.tables.write().remove(name);
        dropped.is_some()
    }
}

fn exists(name: &str) -> EngineError {
    StoreError::AlreadyExists { kind: "temporary table", name: name.to_string() }.into()
}

impl TemporaryRows {
    fn with(&self, rows: Chunk, replace: bool) -> TemporaryRows {
        let mut chunks = if replace { Vec::new() } else { self.chunks.clone() };
        // Many small INSERTs would leave many small batches.
        match chunks.last().and_then(|last| last.joined(&rows)) {
            Some(joined) => {
                chunks.pop();
                chunks.push(Arc::new(joined));
            }
            None => chunks.push(Arc::new(rows)),
        }
        chunks.retain(|chunk| chunk.row_count() > 0);
        TemporaryRows { name: self.name.clone(), schema: Arc::clone(&self.schema), id: self.id, chunks }
    }

    pub fn chunks(&self) -> &[Arc<Chunk>] {
        &self.chunks
    }

    pub fn row_count(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.row_count()).sum()
    }

    /// The size of the rows, wherever they are stored.
    pub fn size_bytes(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.size_bytes()).sum()
    }

    pub fn statistics(&self) -> Statistics {
        let nulls = |column: usize| self.chunks.iter().map(|chunk| chunk.null_count(column)).sum();
        let column = |column| ColumnStatistics { null_count: Precision::Exact(nulls(column)), ..ColumnStatistics::new_unknown() };
        Statistics {
            num_rows: Precision::Exact(self.row_count()),
            total_byte_size: Precision::Inexact(self.size_bytes()),
            column_statistics: (0..self.schema.fields().len()).map(column).collect(),
        }
    }

    /// The statement that would create the table without its rows.
    pub fn definition(&self) -> String {
        let column = |field: &Arc<Field>| {
            let not_null = if field.is_nullable() { "" } else { " NOT NULL" };
            format!("  {} {}{not_null}", quoted(field.name()), column_type_name(field))
        };
        let columns: Vec<String> = self.schema.fields().iter().map(column).collect();
        format!("CREATE VOLATILE TABLE {} (\n{}\n)", quoted(&self.name), columns.join(",\n"))
    }
}
