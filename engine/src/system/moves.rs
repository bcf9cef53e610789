//! `system.moves`: moves of segments between tiers that run, or have ended.

use arrow::array::RecordBatch;
use datafusion::common::Result;

use super::build::{OPTIONAL, REQUIRED, batch, instants, numbers, texts};
use super::source::Source;
use crate::compaction::MoveInfo;

pub fn rows(source: Option<&Source<'_>>) -> Result<RecordBatch> {
    let mut rows: Vec<MoveInfo> = Vec::new();
    if let Some(source) = source {
        rows = source.engine.maintenance.tier_moves().all();
        let sees = |row: &MoveInfo| {
            source.snapshot.table(&row.namespace, &row.table).is_ok_and(|table| table.is_some_and(|table| source.reads(&table)))
        };
        rows.retain(|row| source.is_for_all() || sees(row));
    }
    let state = |row: &MoveInfo| match (row.finished_at_ms, &row.error) {
        (None, _) => "running",
        (Some(_), None) => "done",
        (Some(_), Some(_)) => "failed",
    };
    batch(vec![
        ("schema_name", texts(rows.iter().map(|row| Some(&row.namespace))), REQUIRED),
        ("table_name", texts(rows.iter().map(|row| Some(&row.table))), REQUIRED),
        ("segment_id", numbers(rows.iter().map(|row| Some(row.segment_id))), REQUIRED),
        ("from_tier", texts(rows.iter().map(|row| Some(row.from.word()))), REQUIRED),
        ("to_tier", texts(rows.iter().map(|row| Some(row.to.word()))), REQUIRED),
        ("state", texts(rows.iter().map(|row| Some(state(row)))), REQUIRED),
        ("size_bytes", numbers(rows.iter().map(|row| Some(row.size_bytes))), REQUIRED),
        ("started_at", instants(rows.iter().map(|row| Some(row.started_at_ms))), REQUIRED),
        ("finished_at", instants(rows.iter().map(|row| row.finished_at_ms)), OPTIONAL),
        ("message", texts(rows.iter().map(|row| row.error.as_ref())), OPTIONAL),
    ])
}
