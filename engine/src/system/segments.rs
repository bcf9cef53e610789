//! `system.segments`: the sealed segments and logs of stored tables.

use arrow::array::{ArrayRef, RecordBatch};
use datafusion::common::Result;
use pmem_store::{TableRecord, TableSegment, TableSnapshot, Tail};

use super::build::{OPTIONAL, REQUIRED, batch, booleans, numbers, texts};
use super::source::Source;

struct Row<'a> {
    table: &'a TableRecord,
    kind: &'static str,
    id: u64,
    rows: u64,
    deleted_rows: u64,
    size_bytes: u64,
    sealed: Option<&'a TableSegment>,
}

pub fn rows(source: Option<&Source<'_>>) -> Result<RecordBatch> {
    let tables = source.map(Source::read_tables).transpose()?.unwrap_or_default();
    let knows_files = source.is_some_and(Source::knows_files);
    let rows: Vec<Row<'_>> = tables.iter().flat_map(of_table).collect();
    let number = |value: fn(&Row<'_>) -> u64| numbers(rows.iter().map(|row| Some(value(row))));
    let of_sealed = |value: fn(&TableSegment) -> u64| numbers(rows.iter().map(|row| row.sealed.map(value)));
    batch(vec![
        ("schema_name", texts(rows.iter().map(|row| Some(&row.table.namespace))), REQUIRED),
        ("table_name", texts(rows.iter().map(|row| Some(&row.table.name))), REQUIRED),
        ("segment_id", number(|row| row.id), REQUIRED),
        ("kind", texts(rows.iter().map(|row| Some(row.kind))), REQUIRED),
        ("row_count", number(|row| row.rows), REQUIRED),
        ("deleted_rows", number(|row| row.deleted_rows), REQUIRED),
        ("size_bytes", number(|row| row.size_bytes), REQUIRED),
        ("side_size_bytes", of_sealed(|segment| segment.record().sealed.side_size_bytes), OPTIONAL),
        ("batch_count", of_sealed(|segment| segment.record().sealed.batch_count), OPTIONAL),
        ("added_version", of_sealed(|segment| segment.record().added_version), OPTIONAL),
        ("schema_version", of_sealed(|segment| u64::from(segment.record().schema_version)), OPTIONAL),
        ("is_sorted", booleans(rows.iter().map(|row| row.sealed.map(|segment| segment.record().sorted))), OPTIONAL),
        ("tier", of_sealed_text(&rows), OPTIONAL),
        (
            "path",
            texts(rows.iter().map(|row| row.sealed.filter(|_| knows_files).map(|segment| segment.path().display().to_string()))),
            OPTIONAL,
        ),
    ])
}

/// Rows of logs are always in the store's own directory.
fn of_sealed_text(rows: &[Row<'_>]) -> ArrayRef {
    texts(rows.iter().map(|row| row.sealed.map(|segment| segment.tier().word())))
}

fn of_table(table: &TableSnapshot) -> Vec<Row<'_>> {
    let sealed = table.segments().iter().map(|segment| Row {
        table: table.record(),
        kind: "segment",
        id: segment.id(),
        rows: segment.row_count(),
        deleted_rows: segment.deletions().map_or(0, |deletions| deletions.len()),
        size_bytes: segment.record().sealed.size_bytes,
        sealed: Some(segment),
    });
    let tails = table.tails().iter().map(|tail| Row {
        table: table.record(),
        kind: kind(tail),
        id: tail.id(),
        rows: tail.row_count(),
        deleted_rows: tail.deletions().map_or(0, |deletions| deletions.len()),
        size_bytes: tail.size_bytes(),
        sealed: None,
    });
    sealed.chain(tails).collect()
}

/// Rows of the current transaction are in no file yet.
fn kind(tail: &Tail) -> &'static str {
    if tail.mapping().is_some() { "log" } else { "pending" }
}
