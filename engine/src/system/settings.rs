//! `system.settings`: the settings of sessions, process and store.

use arrow::array::RecordBatch;
use datafusion::common::Result;
use datafusion::common::config::ExtensionOptions;
use datafusion::execution::memory_pool::MemoryLimit;
use pmem_store::segment::{MERGE_GAP_BYTES, REQUEST_MAX_BYTES};
use pmem_store::{StoreError, Tier};

use super::build::{OPTIONAL, REQUIRED, batch, texts};
use super::source::Source;
use crate::audit;
use common::engine_settings::switches;
use common::error::store_error;
use sql::{SETTING_NAMES, duration_text, shown_name};

struct Row {
    name: String,
    value: Option<String>,
    /// `session`, `process` or `store`.
    scope: &'static str,
    changed_by: &'static str,
    description: String,
}

pub fn rows(source: Option<&Source<'_>>) -> Result<RecordBatch> {
    let mut rows = Vec::new();
    if let Some(source) = source {
        rows.extend(of_session(source));
        rows.extend(of_process(source));
        rows.extend(of_store(source).map_err(store_error)?);
        // Paths on the server are hidden from ordinary users.
        rows.retain(|row| !["store_path", "disk_tier", "object_tier"].contains(&row.name.as_str()) || source.is_for_all());
        rows.sort_by(|one, other| one.name.cmp(&other.name));
    }
    batch(vec![
        ("name", texts(rows.iter().map(|row| Some(&row.name))), REQUIRED),
        ("value", texts(rows.iter().map(|row| row.value.as_ref())), OPTIONAL),
        ("scope", texts(rows.iter().map(|row| Some(row.scope))), REQUIRED),
        ("changed_by", texts(rows.iter().map(|row| Some(row.changed_by))), REQUIRED),
        ("description", texts(rows.iter().map(|row| Some(&row.description))), REQUIRED),
    ])
}

/// Settings of DataFusion for file formats that we do not write, or that we set ourselves.
const LEFT_OUT: [&str; 4] = ["datafusion.execution.parquet.", "datafusion.catalog.", "datafusion.format.", "datafusion.runtime."];

fn of_session(source: &Source<'_>) -> Vec<Row> {
    let row = |name: String, value, description: &str| Row {
        name,
        value,
        scope: "session",
        changed_by: "SET",
        description: description.split_whitespace().collect::<Vec<_>>().join(" "),
    };
    let entries = source.options.entries();
    let mut rows: Vec<Row> = Vec::new();
    for entry in entries {
        if let Some(ours) = SETTING_NAMES.iter().find(|ours| shown_name(ours) == entry.key) {
            rows.push(row(ours.to_string(), entry.value, entry.description));
        } else if entry.key.starts_with("datafusion.") && !LEFT_OUT.iter().any(|left_out| entry.key.starts_with(left_out)) {
            rows.push(row(entry.key, entry.value, entry.description));
        }
    }
    let switches = switches(source.options).entries().into_iter();
    rows.extend(switches.map(|entry| {
        let name = if entry.key.starts_with("quiver.") { entry.key } else { format!("quiver.{}", entry.key) };
        row(name, entry.value, entry.description)
    }));
    rows
}

fn of_process(source: &Source<'_>) -> Vec<Row> {
    let row = |name: &str, value: Option<String>, changed_by, description: &str| Row {
        name: name.to_string(),
        value,
        scope: "process",
        changed_by,
        description: description.to_string(),
    };
    let memory_bytes = match source.engine.runtime.memory_pool.memory_limit() {
        MemoryLimit::Finite(limit_bytes) => Some(limit_bytes.to_string()),
        _ => None,
    };
    let query_bytes = source.engine.query_memory_limit_bytes.to_string();
    let maintenance = source.engine.maintenance.options();
    let limits = source.engine.queries.limits();
    let rate = maintenance.rate_bytes_per_s.map(|rate| rate.to_string());
    vec![
        row(
            "compaction_rate",
            rate,
            "--compaction-rate",
            "bytes that compactions in the background write per second; as many as they can if NULL",
        ),
        row(
            "maintenance",
            Some(maintenance.enabled.to_string()),
            "--no-maintenance",
            "whether logs are sealed, tables compacted and versions expired in the background",
        ),
        row("memory_limit", memory_bytes, "--memory-limit", "bytes that all queries together may hold in memory"),
        row("query_memory_limit", Some(query_bytes), "--query-memory-limit", "bytes that one query may hold in memory before it spills"),
        row(
            "queries_max",
            limits.queries_max.map(|max| max.to_string()),
            "--queries-max of a server",
            "statements that run at once; as many as come if NULL",
        ),
        row(
            "queue_timeout_ms",
            limits.queue_timeout_ms.map(|limit| limit.to_string()),
            "--queue-timeout of a server",
            "how long a statement waits for its turn; as long as it takes if NULL",
        ),
        row("version", Some(env!("CARGO_PKG_VERSION").to_string()), "", "of this program"),
    ]
}

fn of_store(source: &Source<'_>) -> Result<Vec<Row>, StoreError> {
    let store = &source.engine.store;
    let row = |name: &str, value: String, changed_by, description: &str| Row {
        name: name.to_string(),
        value: Some(value),
        scope: "store",
        changed_by,
        description: description.to_string(),
    };
    let retention = duration_text(store.retention_ms()?);
    let tiers = store.tiers()?;
    let disk_tier = tiers.disk.as_ref().map_or_else(String::new, |path| path.display().to_string());
    let audit_retention = duration_text(audit::retention_ms(store)?);
    let mut rows = vec![
        row("audit_retention", audit_retention, "ALTER SYSTEM", "how long rows of system.audit stay"),
        row("disk_tier", disk_tier, "ALTER SYSTEM", "the directory of the tier on disk"),
        row("object_tier", tiers.object.clone().unwrap_or_default(), "ALTER SYSTEM", "the URL of the tier in an object store"),
        row(
            "object_tier_compression",
            if tiers.compresses_objects { "zstd" } else { "none" }.into(),
            "ALTER SYSTEM",
            "how what moves to the object tier is compressed",
        ),
        row("retention", retention, "ALTER SYSTEM", "how long a version stays readable after the next one was made"),
        row("store_mode", store.mode().to_string(), "", "what makes a write durable: see docs/durability.md"),
        row("store_path", store.path().display().to_string(), "", "the directory of the store"),
        row("store_read_only", store.is_read_only().to_string(), "--read-only", "whether this process only reads the store"),
        row("object_tier_gap", MERGE_GAP_BYTES.to_string(), "", "reads of the object tier with no more bytes between them share a request"),
        row("object_tier_request", REQUEST_MAX_BYTES.to_string(), "", "bytes of a request to the object tier; longer reads are divided"),
    ];
    let prefetch = &tiers.prefetch;
    let on_or_off = if prefetch.is_on { "on" } else { "off" };
    rows.extend([
        row("prefetch", on_or_off.into(), "ALTER SYSTEM", "whether the rest of what belongs together is copied to memory"),
        row("prefetch_share", prefetch.share.to_string(), "ALTER SYSTEM", "more than this share of it was read before that happens"),
        row("prefetch_window", duration_text(prefetch.window_ms), "ALTER SYSTEM", "within this time"),
    ]);
    for tier in Tier::LIMITED {
        let limit = tiers.limit_bytes(tier).map(|bytes| bytes.to_string());
        let description = format!("bytes that the tier \"{}\" may have; what its medium has room for if NULL", tier.word());
        rows.push(Row { value: limit, ..row(&tier.limit_setting(), String::new(), "ALTER SYSTEM", &description) });
    }
    Ok(rows)
}
