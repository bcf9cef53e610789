//! `system.prefetches`: what was copied to memory because it belongs to something that was read, and whether it was read then.

use arrow::array::RecordBatch;
use datafusion::common::Result;

use super::build::{OPTIONAL, REQUIRED, batch, instants, numbers, texts};
use super::source::Source;
use crate::compaction::{PrefetchInfo, Relation};
use crate::objects::value_text;

/// Names of groups, and values of tags, are of all users' objects: only who sees everything sees them.
pub fn rows(source: Option<&Source<'_>>) -> Result<RecordBatch> {
    let rows: Vec<PrefetchInfo> =
        source.filter(|source| source.is_for_all()).map_or_else(Vec::new, |source| source.engine.maintenance.prefetches().all());
    let used_bytes = |row: &PrefetchInfo| {
        let store = &source?.engine.store;
        Some(row.brought.iter().map(|(table, before)| store.touches(*table).bytes().saturating_sub(*before)).sum::<u64>())
    };
    let state = |row: &PrefetchInfo| match (row.finished_at_ms, &row.error) {
        (None, _) => "running",
        (Some(_), None) => "done",
        (Some(_), Some(_)) => "failed",
    };
    batch(vec![
        ("relation", texts(rows.iter().map(|row| Some(kind(&row.relation)))), REQUIRED),
        ("name", texts(rows.iter().map(|row| Some(name(&row.relation)))), REQUIRED),
        ("members", numbers(rows.iter().map(|row| Some(row.members))), REQUIRED),
        ("touched_members", numbers(rows.iter().map(|row| Some(row.touched))), REQUIRED),
        ("objects", numbers(rows.iter().map(|row| Some(row.brought.len() as u64))), REQUIRED),
        ("segments", numbers(rows.iter().map(|row| Some(row.segments))), REQUIRED),
        ("size_bytes", numbers(rows.iter().map(|row| Some(row.size_bytes))), REQUIRED),
        ("used_bytes", numbers(rows.iter().map(used_bytes)), OPTIONAL),
        ("state", texts(rows.iter().map(|row| Some(state(row)))), REQUIRED),
        ("started_at", instants(rows.iter().map(|row| Some(row.started_at_ms))), REQUIRED),
        ("finished_at", instants(rows.iter().map(|row| row.finished_at_ms)), OPTIONAL),
        ("message", texts(rows.iter().map(|row| row.error.as_ref())), OPTIONAL),
    ])
}

fn kind(relation: &Relation) -> &'static str {
    match relation {
        Relation::Group(_) => "group",
        Relation::Tag(..) => "tag",
    }
}

fn name(relation: &Relation) -> String {
    match relation {
        Relation::Group(name) => name.clone(),
        Relation::Tag(key, value) => format!("{key} = {}", value_text(value)),
    }
}
