//! `system.queries`: the running statements of all sessions of the process.

use arrow::array::RecordBatch;
use datafusion::common::Result;

use super::build::{OPTIONAL, REQUIRED, batch, instants, numbers, texts};
use super::source::Source;
use crate::queries::{Query, StatementInfo};

pub fn rows(source: Option<&Source<'_>>) -> Result<RecordBatch> {
    let mut rows: Vec<StatementInfo> = source.map(|source| source.engine.queries.shown()).unwrap_or_default();
    // Only administrators see statements of other users.
    rows.retain(|row| source.is_some_and(|source| source.runs(&row.query)));
    let number = |value: fn(&Query) -> u64| numbers(rows.iter().map(|row| Some(value(&row.query))));
    batch(vec![
        ("query_id", number(|query| query.id), REQUIRED),
        ("session_id", number(|query| query.session), REQUIRED),
        ("user_name", texts(rows.iter().map(|row| Some(row.query.principal.name()))), REQUIRED),
        ("kind", texts(rows.iter().map(|row| row.query.kind().map(|kind| kind.name()))), OPTIONAL),
        ("state", texts(rows.iter().map(|row| Some(row.state.name()))), REQUIRED),
        ("queue_position", numbers(rows.iter().map(|row| row.queue_position)), OPTIONAL),
        ("started_at", instants(rows.iter().map(|row| Some(row.query.started_at_ms))), REQUIRED),
        ("elapsed_ms", number(|query| u64::try_from(query.started.elapsed().as_millis()).unwrap_or(u64::MAX)), REQUIRED),
        ("memory_bytes", number(|query| query.memory_bytes().0), REQUIRED),
        ("rows_scanned", number(Query::rows_scanned), REQUIRED),
        ("rows_total", numbers(rows.iter().map(|row| row.query.rows_total())), OPTIONAL),
        ("rows_returned", number(Query::rows_returned), REQUIRED),
        ("bytes_touched", number(Query::bytes_touched), REQUIRED),
        ("bytes_returned", number(Query::bytes_returned), REQUIRED),
        ("statement", texts(rows.iter().map(|row| Some(row.query.text.shown()))), REQUIRED),
    ])
}
