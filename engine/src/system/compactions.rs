//! `system.compactions`: compactions that are due, running or finished.

use arrow::array::RecordBatch;
use datafusion::common::Result;

use super::build::{OPTIONAL, REQUIRED, batch, instants, numbers, texts};
use super::source::Source;
use crate::compaction::{CompactionOutcome, RunInfo};

struct Row {
    schema: String,
    table: String,
    state: &'static str,
    started_by: Option<&'static str>,
    started_at_ms: Option<u64>,
    finished_at_ms: Option<u64>,
    segments_before: u64,
    segments_after: Option<u64>,
    rows: Option<u64>,
    bytes_before: u64,
    bytes_after: Option<u64>,
    message: Option<String>,
}

pub fn rows(source: Option<&Source<'_>>) -> Result<RecordBatch> {
    let mut rows = Vec::new();
    if let Some(source) = source {
        rows.extend(source.engine.maintenance.runs().all().into_iter().map(of_run));
        // Only users who may see everything see compactions of dropped tables.
        let sees =
            |row: &Row| source.snapshot.table(&row.schema, &row.table).is_ok_and(|table| table.is_some_and(|table| source.reads(&table)));
        rows.retain(|row| source.is_for_all() || sees(row));
        rows.extend(due(source)?);
    }
    batch(vec![
        ("schema_name", texts(rows.iter().map(|row| Some(&row.schema))), REQUIRED),
        ("table_name", texts(rows.iter().map(|row| Some(&row.table))), REQUIRED),
        ("state", texts(rows.iter().map(|row| Some(row.state))), REQUIRED),
        ("started_by", texts(rows.iter().map(|row| row.started_by)), OPTIONAL),
        ("started_at", instants(rows.iter().map(|row| row.started_at_ms)), OPTIONAL),
        ("finished_at", instants(rows.iter().map(|row| row.finished_at_ms)), OPTIONAL),
        ("segments_before", numbers(rows.iter().map(|row| Some(row.segments_before))), REQUIRED),
        ("segments_after", numbers(rows.iter().map(|row| row.segments_after)), OPTIONAL),
        ("row_count", numbers(rows.iter().map(|row| row.rows)), OPTIONAL),
        ("bytes_before", numbers(rows.iter().map(|row| Some(row.bytes_before))), REQUIRED),
        ("bytes_after", numbers(rows.iter().map(|row| row.bytes_after)), OPTIONAL),
        ("message", texts(rows.iter().map(|row| row.message.as_ref())), OPTIONAL),
    ])
}

fn of_run(run: RunInfo) -> Row {
    let (state, message) = match run.outcome {
        None => ("running", None),
        Some(CompactionOutcome::Done) => ("done", None),
        Some(CompactionOutcome::Conflict) => ("conflict", None),
        Some(CompactionOutcome::Stopped) => ("stopped", None),
        Some(CompactionOutcome::Failed(message)) => ("failed", Some(message)),
    };
    Row {
        schema: run.namespace,
        table: run.table,
        state,
        started_by: Some(run.started_by),
        started_at_ms: Some(run.started_at_ms),
        finished_at_ms: run.finished_at_ms,
        segments_before: run.segments_before,
        segments_after: run.segments_after,
        rows: Some(run.row_count),
        bytes_before: run.bytes_before,
        bytes_after: run.bytes_after,
        message,
    }
}

/// Pending work, one row for each table that has some; running compactions count too.
fn due(source: &Source<'_>) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for table in source.read_tables()? {
        let (segments, bytes) = source.engine.maintenance.backlog(&table)?;
        if segments > 0 {
            rows.push(Row {
                schema: table.record().namespace.clone(),
                table: table.record().name.clone(),
                state: "due",
                started_by: None,
                started_at_ms: None,
                finished_at_ms: None,
                segments_before: segments,
                segments_after: None,
                rows: None,
                bytes_before: bytes,
                bytes_after: None,
                message: None,
            });
        }
    }
    Ok(rows)
}
