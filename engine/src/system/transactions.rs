//! `system.transactions`: the open transactions of all sessions of the process.

use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion::common::Result;

use super::build::{REQUIRED, batch, booleans, instants, numbers};
use super::source::Source;
use table::transactions::OpenTransaction;

pub fn rows(source: Option<&Source<'_>>) -> Result<RecordBatch> {
    let mut rows: Vec<(OpenTransaction, bool)> = Vec::new();
    if let Some(source) = source {
        let slots = source.engine.transactions.slots();
        rows.extend(slots.iter().filter_map(|slot| Some((slot.open_transaction()?, Arc::ptr_eq(slot, source.slot)))));
        rows.retain(|(_, is_own)| *is_own || source.is_for_all());
        rows.sort_by_key(|(open, _)| open.id);
    }
    let number = |value: fn(&OpenTransaction) -> u64| numbers(rows.iter().map(|(open, _)| Some(value(open))));
    batch(vec![
        ("transaction_id", number(|open| open.id), REQUIRED),
        ("started_at", instants(rows.iter().map(|(open, _)| Some(open.started_at_ms))), REQUIRED),
        ("base_version", number(|open| open.base_version), REQUIRED),
        ("change_count", number(|open| open.changes), REQUIRED),
        ("is_read_only", booleans(rows.iter().map(|(open, _)| Some(open.read_only))), REQUIRED),
        ("is_failed", booleans(rows.iter().map(|(open, _)| Some(open.failed))), REQUIRED),
        ("is_own", booleans(rows.iter().map(|(_, own)| Some(*own))), REQUIRED),
    ])
}
