//! Enforces the rules of a table on the rows of one statement.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::compute::CastOptions;
use arrow::datatypes::Schema;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use parking_lot::Mutex;
use pmem_store::{Snapshot, StoreError, TableId, TableSnapshot, Transaction};

use super::concurrent_rows::others_parts;
use super::exact::{Duplicate, duplicate};
use super::key::{Key, comparable};
use super::new_keys::{KeySet, NewKeys};
use super::rules::TableRules;
use super::search::KeySearch;
use crate::scan::{ScanPart, open_parts};
use common::error::EngineError;
use common::error::text::bounded;
use semantics::functions::cast_nearest;

/// How many keys are compared at once: a duplicate is nearly always among the first.
const SUSPECTS_MAX: usize = 1_024;

/// Sees every batch before it is written, and the transaction that they become part of.
#[derive(Debug)]
pub struct Enforcer {
    rules: Arc<TableRules>,
    rows: u64,
    /// One for each key of the table.
    keys: Vec<NewKeys>,
    memory: MemoryReservation,
}

impl Enforcer {
    pub fn new(rules: &Arc<TableRules>) -> Enforcer {
        Enforcer {
            rules: Arc::clone(rules),
            rows: 0,
            keys: rules.keys.iter().map(NewKeys::new).collect(),
            memory: MemoryConsumer::new("keys of new rows").register(&rules.pool),
        }
    }

    /// Whether the rows have to be checked at all.
    pub fn has_rules(&self) -> bool {
        !self.rules.checks.is_empty() || !self.rules.keys.is_empty()
    }

    /// `batch` has the table's columns in their order.
    pub fn see(&mut self, batch: &RecordBatch) -> Result<(), EngineError> {
        let rules = Arc::clone(&self.rules);
        for check in &rules.checks {
            let columns = declared_columns(&rules, batch, &check.columns)?;
            let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
            let fields = check.columns.iter().map(|column| rules.declared.field(*column).clone().with_nullable(true));
            let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
            let read = RecordBatch::try_new_with_options(schema, columns, &options).map_err(arrow_error)?;
            if let Some(row) = check.broken(&read, |_| true)? {
                let (number, values, table) = (self.rows + row as u64 + 1, check.shown(&read, row), &rules.table);
                let message = format!("row {number} of the rows being written to \"{table}\" breaks {}: {values}", check.described());
                return Err(EngineError::Constraint { constraint: check.constraint.clone(), message });
            }
        }
        for (key, new) in rules.keys.iter().zip(&mut self.keys) {
            let columns = declared_columns(&rules, batch, &key.columns)?;
            let columns: Vec<ArrayRef> = columns.iter().map(comparable).collect();
            new.add(key, &columns)?;
        }
        self.memory.try_resize(self.keys.iter().map(NewKeys::size_bytes).sum())?;
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    /// Lets `append` add the rows to the table, and fails if the transaction then sees a key twice, or would when it commits. Rows that
    /// the statement replaces are deleted before.
    pub fn finish(
        self,
        transaction: &mut Transaction,
        table: TableId,
        append: impl FnOnce(&mut Transaction) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let keys = self.rules.keys.iter().zip(&self.keys).filter(|(_, new)| !new.is_empty());
        let mut searches = Vec::new();
        for (key, new) in keys {
            let (key_set, twice) = new.key_set().map_err(refused)?;
            searches.push((key, new, key_set, twice));
        }
        if searches.is_empty() {
            return append(transaction);
        }
        let before = transaction.snapshot().table_by_id(table)?;
        let mut suspects: Vec<BTreeSet<u64>> = searches.iter().map(|(_, _, _, twice)| twice.iter().copied().collect()).collect();
        if let Some(before) = &before {
            let parts = all_parts(before)?;
            self.rules.filters.table_has(table, &parts.iter().map(|(part, _)| Arc::clone(part)).collect::<Vec<_>>());
            for ((key, _, key_set, _), suspects) in searches.iter().zip(&mut suspects) {
                let matches = key_search(&self.rules, before, &parts).find(key, key_set).map_err(refused)?;
                tracing::debug!(constraint = key.constraint, rows_read = matches.rows_read, "looked for keys");
                suspects.extend(matches.hashes);
            }
        }
        append(transaction)?;
        for ((key, new, _, _), suspects) in searches.iter().zip(&suspects) {
            if let Some(twice) = confirmed(&self.rules, &transaction.snapshot(), table, key, suspects)? {
                return Err(StoreError::Refused(duplicate_message(&self.rules, key, new, &twice)));
            }
        }
        let key_set = searches.into_iter().map(|(key, _, key_set, _)| (key.clone(), key_set)).collect();
        watch(&self.rules, transaction, table, key_set)
    }
}

/// Makes the commit check the rows that others committed since the transaction began.
fn watch(rules: &Arc<TableRules>, transaction: &mut Transaction, table: TableId, key_set: Vec<(Key, KeySet)>) -> Result<(), StoreError> {
    // A table that this transaction created is invisible to others.
    let Some(base) = transaction.base().table_by_id(table)? else { return Ok(()) };
    let (rules, last_table) = (Arc::clone(rules), Mutex::new(base));
    transaction.check_on_commit(Box::new(move |becoming: &Arc<Snapshot>| {
        let Some(now) = becoming.table_by_id(table)? else { return Ok(()) };
        let mut last_table = last_table.lock();
        let parts = others_parts(&last_table, &now, becoming.version())?;
        for (key, key_set) in key_set.iter().filter(|_| !parts.is_empty()) {
            let matches = key_search(&rules, &now, &parts).find(key, key_set).map_err(refused)?;
            if let Some(twice) = confirmed(&rules, becoming, table, key, &matches.hashes)? {
                let (table, key) = (&rules.table, key.described());
                let message = format!("another transaction has given \"{table}\" the key {} first, which breaks {key}", twice.shown);
                return Err(StoreError::Refused(message));
            }
        }
        drop(parts);
        *last_table = now;
        Ok(())
    }));
    Ok(())
}

/// The first key, among those whose hash is in `suspects`, that two rows of the table have.
fn confirmed(
    rules: &TableRules,
    snapshot: &Snapshot,
    table: TableId,
    key: &Key,
    suspects: &BTreeSet<u64>,
) -> Result<Option<Duplicate>, StoreError> {
    if suspects.is_empty() {
        return Ok(None);
    }
    let Some(table) = snapshot.table_by_id(table)? else { return Ok(None) };
    let parts = all_parts(&table)?;
    confirmed_in(&key_search(rules, &table, &parts), key, suspects)
}

pub fn confirmed_in(table: &KeySearch<'_>, key: &Key, suspects: &BTreeSet<u64>) -> Result<Option<Duplicate>, StoreError> {
    let suspects: Vec<u64> = suspects.iter().copied().collect();
    for some in suspects.chunks(SUSPECTS_MAX) {
        let duplicate_key = duplicate(table, key, &some.iter().copied().collect()).map_err(refused)?;
        if duplicate_key.is_some() {
            return Ok(duplicate_key);
        }
    }
    Ok(None)
}

/// The message; rows are numbered from 1, in the order in which they are written.
fn duplicate_message(rules: &TableRules, key: &Key, new: &NewKeys, twice: &Duplicate) -> String {
    let mut rows = new.rows_of(twice.hash).map(|row| row + 1);
    let (table, shown, described) = (&rules.table, bounded(&twice.shown), key.described());
    match (rows.next(), rows.next()) {
        (Some(first), Some(second)) => {
            format!(
                "rows {first} and {second} of the rows being written to \"{table}\" have the same key {shown}, which breaks {described}"
            )
        }
        (first, _) => {
            let row = first.unwrap_or_default();
            format!("row {row} of the rows being written has the key {shown}, which \"{table}\" has already; that breaks {described}")
        }
    }
}

pub fn key_search<'a>(rules: &'a TableRules, table: &TableSnapshot, parts: &'a [(Arc<ScanPart>, usize)]) -> KeySearch<'a> {
    KeySearch { table: table.record().id, declared: &rules.declared, parts, filters: &rules.filters }
}

pub fn all_parts(table: &TableSnapshot) -> Result<Vec<(Arc<ScanPart>, usize)>, StoreError> {
    Ok(open_parts(table, |_| true)?.into_iter().map(|part| (part, 0)).collect())
}

fn declared_columns(rules: &TableRules, batch: &RecordBatch, places: &[usize]) -> Result<Vec<ArrayRef>, EngineError> {
    let column = |place: &usize| {
        let (array, declared) = (batch.column(*place), rules.declared.field(*place).data_type());
        // A query may yield another encoding of the same type, such as a dictionary.
        match array.data_type() == declared {
            true => Ok(Arc::clone(array)),
            false => cast_nearest(array, declared, &CastOptions::default()).map_err(arrow_error),
        }
    };
    places.iter().map(column).collect()
}

fn arrow_error(error: arrow::error::ArrowError) -> EngineError {
    EngineError::from(datafusion::common::DataFusionError::from(error))
}

/// An error that passes through the store.
fn refused(error: datafusion::common::DataFusionError) -> StoreError {
    match EngineError::from(error) {
        EngineError::Store(error) => error,
        other => StoreError::Refused(other.to_string()),
    }
}
