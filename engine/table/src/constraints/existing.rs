//! Checks existing rows against new rules.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::UInt32Array;
use arrow::array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow::compute::take;
use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryConsumer;
use pmem_store::TableSnapshot;

use super::check::Check;
use super::enforcer::{all_parts, confirmed_in, key_search};
use super::key::{Key, comparable};
use super::new_keys::NewKeys;
use super::reading::{DeletedRows, ZoneCursor, alive_rows, is_alive, read_zones};
use super::rules::TableRules;
use crate::scan::ScanPart;
use common::error::{EngineError, store_error};

/// Fails if a row of the table breaks one of the `rules`, or is NULL in one of the columns `not_null`, given by position.
pub fn check_existing(table: &TableSnapshot, rules: &TableRules, not_null: &[usize]) -> Result<(), EngineError> {
    let parts = all_parts(table)?;
    for (part, _) in &parts {
        for column in not_null {
            if has_null(part, *column, rules)? {
                let (column, table) = (rules.declared.field(*column).name(), &rules.table);
                let message = format!("column \"{column}\" of \"{table}\" is NULL in rows that are there, so it cannot be NOT NULL");
                let hint = format!("fill it first: UPDATE {table} SET {column} = … WHERE {column} IS NULL");
                return Err(EngineError::Execution { message, hint: Some(hint) });
            }
        }
        for check in &rules.checks {
            if let Some(values) = broken(part, check, rules)? {
                let message = format!("a row of \"{}\" breaks {}: {values}", rules.table, check.described());
                return Err(EngineError::Constraint { constraint: check.constraint.clone(), message });
            }
        }
    }
    for key in &rules.keys {
        one_of_each(table, &parts, key, rules)?;
    }
    Ok(())
}

/// Uses statistics if they suffice: a segment without NULLs is not read.
fn has_null(part: &ScanPart, column: usize, rules: &TableRules) -> Result<bool> {
    if part.null_count(column) == Some(0) {
        return Ok(false);
    }
    let mut has_null = false;
    read_zones(
        part,
        &[column],
        &rules.declared,
        DeletedRows::Skip,
        |_| true,
        |zone| {
            let nulls = zone.columns[0].logical_nulls();
            let rows = zone.columns[0].len();
            has_null = nulls.is_some_and(|nulls| (0..rows).any(|row| nulls.is_null(row) && is_alive(part, zone.start + row)));
            Ok(if has_null { ZoneCursor::Stop } else { ZoneCursor::Go })
        },
    )?;
    Ok(has_null)
}

fn broken(part: &ScanPart, check: &Check, rules: &TableRules) -> Result<Option<String>> {
    let mut row_text = None;
    let schema = Arc::new(nullable(&rules.declared.project(&check.columns)?));
    // A condition without columns applies to every row.
    let read = |columns: Vec<ArrayRef>, rows: usize| {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::clone(&schema), columns, &options)
    };
    if check.columns.is_empty() {
        let alive = part.deletions().map_or(part.row_count() as u64, |deletions| part.row_count() as u64 - deletions.len());
        let one = read(Vec::new(), 1)?;
        return Ok(check.broken(&one, |_| alive > 0)?.map(|row| check.shown(&one, row)));
    }
    read_zones(
        part,
        &check.columns,
        &rules.declared,
        DeletedRows::Skip,
        |_| true,
        |zone| {
            let rows = zone.columns.first().map_or(0, |column| column.len());
            let batch = read(zone.columns, rows)?;
            // An evaluation error of a deleted row must not be reported.
            let alive = alive_rows(part, zone.start, rows);
            let batch = if alive.len() == rows { batch } else { take_rows(&batch, &alive)? };
            row_text = check.broken(&batch, |_| true)?.map(|row| check.shown(&batch, row));
            Ok(if row_text.is_some() { ZoneCursor::Stop } else { ZoneCursor::Go })
        },
    )?;
    Ok(row_text)
}

fn one_of_each(table: &TableSnapshot, parts: &[(Arc<ScanPart>, usize)], key: &Key, rules: &TableRules) -> Result<(), EngineError> {
    let memory = MemoryConsumer::new("keys of a table").register(&rules.pool);
    let mut keys = NewKeys::new(key);
    for (part, _) in parts {
        read_zones(
            part,
            &key.columns,
            &rules.declared,
            DeletedRows::Skip,
            |_| true,
            |zone| {
                let rows = zone.columns.first().map_or(0, |column| column.len());
                let alive: Vec<u32> = alive_rows(part, zone.start, rows).into_iter().map(|row| row as u32).collect();
                let mut columns: Vec<ArrayRef> = zone.columns.iter().map(comparable).collect();
                if alive.len() < rows {
                    let alive = UInt32Array::from(alive);
                    columns = columns.iter().map(|column| take(column, &alive, None)).collect::<Result<_, _>>()?;
                }
                keys.add(key, &columns)?;
                memory.try_resize(keys.size_bytes())?;
                Ok(ZoneCursor::Go)
            },
        )?;
    }
    let (_, twice) = keys.key_set()?;
    let suspects: BTreeSet<u64> = twice.into_iter().collect();
    match confirmed_in(&key_search(rules, table, parts), key, &suspects).map_err(store_error)? {
        Some(twice) => {
            let message = format!("rows of \"{}\" have the same key {}, which breaks {}", rules.table, twice.shown, key.described());
            Err(EngineError::Constraint { constraint: key.constraint.clone(), message })
        }
        None => Ok(()),
    }
}

fn take_rows(batch: &RecordBatch, rows: &[usize]) -> Result<RecordBatch> {
    let rows = UInt32Array::from_iter_values(rows.iter().map(|row| *row as u32));
    let columns = batch.columns().iter().map(|column| take(column, &rows, None)).collect::<Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    Ok(RecordBatch::try_new_with_options(batch.schema(), columns, &options)?)
}

fn nullable(schema: &arrow::datatypes::Schema) -> arrow::datatypes::Schema {
    let fields = schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
    arrow::datatypes::Schema::new(fields.collect::<Vec<_>>())
}
