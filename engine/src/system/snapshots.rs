//! `system.snapshots`: every version that can be read.

use std::collections::HashMap;

use arrow::array::RecordBatch;
use datafusion::common::Result;
use pmem_store::VersionInfo;

use super::build::{OPTIONAL, REQUIRED, batch, instants, lists, numbers, texts};
use super::source::Source;
use common::error::store_error;

pub fn rows(source: Option<&Source<'_>>) -> Result<RecordBatch> {
    let mut versions: Vec<VersionInfo> = Vec::new();
    let mut names: HashMap<u64, Vec<String>> = HashMap::new();
    // Retained versions concern the tables of all users.
    let is_for_all = source.is_some_and(Source::is_for_all);
    if let Some(source) = source {
        versions = source.engine.store.versions().map_err(store_error)?;
        if !is_for_all {
            let table_names: Vec<String> =
                source.tables()?.iter().map(|table| format!("{}.{}", table.record().namespace, table.record().name)).collect();
            versions.iter_mut().for_each(|info| info.tables.retain(|name| table_names.contains(name)));
        }
        for snapshot in source.snapshot.named_snapshots() {
            names.entry(snapshot.version).or_default().push(snapshot.name);
        }
        // When and how other users' tables change is hidden. A named version is shown, because it is meant to be read.
        versions.retain(|info| is_for_all || !info.tables.is_empty() || names.contains_key(&info.version));
    }
    let names = versions.iter().map(|info| names.get(&info.version).map_or(&[] as &[String], Vec::as_slice));
    batch(vec![
        ("version", numbers(versions.iter().map(|info| Some(info.version))), REQUIRED),
        ("committed_at", instants(versions.iter().map(|info| Some(info.committed_at_ms))), REQUIRED),
        ("operation", texts(versions.iter().map(|info| (is_for_all || !info.tables.is_empty()).then_some(&info.operation))), OPTIONAL),
        ("tables", lists(versions.iter().map(|info| info.tables.as_slice())), REQUIRED),
        ("kept_bytes", numbers(versions.iter().map(|info| is_for_all.then_some(info.kept_bytes))), OPTIONAL),
        ("names", lists(names), REQUIRED),
    ])
}
