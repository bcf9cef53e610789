//! The initial settings of an engine's sessions.

use datafusion::prelude::SessionConfig;

use common::engine_settings::EngineSettings;
use common::names::CATALOG;

const SORT_RESERVED_MIN: usize = 512 << 10;
const SORT_RESERVED_MAX: usize = 10 << 20;
/// Build sides up to these sizes are built once and shared; see docs/performance.md.
const JOIN_SHARED_BYTES: usize = 512 << 20;
const JOIN_SHARED_ROWS: usize = 4_000_000;
/// Up to this number a join passes its keys to its scans as a list; with more keys, the scans probe its hash table. A long list is copied at
/// each step that prepares a scan, and integers have a bitmap beside it (`KeySetExec` of the crate `semantics`).
const JOIN_KEYS_LISTED: usize = 20;

/// The engine's settings for its sessions.
#[derive(Debug, Clone, Copy)]
pub struct SessionDefaults {
    pub partitions: usize,
    pub query_memory_limit_bytes: usize,
    /// 0 for no limit.
    pub statement_timeout_ms: u64,
}

pub fn config(engine: SessionDefaults) -> SessionConfig {
    let mut config = SessionConfig::new()
        .with_default_catalog_and_schema(CATALOG, pmem_store::DEFAULT_NAMESPACE)
        .with_create_default_catalog_and_schema(false)
        // Our own information_schema is a schema of the catalog.
        .with_information_schema(false)
        .with_target_partitions(engine.partitions);
    let options = config.options_mut();
    let mut switches = EngineSettings::default();
    switches.statement_timeout_ms = engine.statement_timeout_ms;
    options.extensions.insert(switches);
    // Each partition of a sort reserves this much for merging; it must not be most of a small pool.
    let share = engine.query_memory_limit_bytes / (16 * engine.partitions);
    options.execution.sort_spill_reservation_bytes = share.clamp(SORT_RESERVED_MIN, SORT_RESERVED_MAX);
    // 1.5 is a decimal, as in the SQL standard and most other systems.
    options.sql_parser.parse_float_as_decimal = true;
    options.sql_parser.collect_spans = true;
    // The rows of `SELECT * FROM (SELECT … ORDER BY x) LIMIT 5` are the first ones of that order, as elsewhere. The rule `useless_orders` drops
    // an order that is forgotten.
    options.sql_parser.enable_subquery_sort_elimination = false;
    // Below an aggregate DataFusion compares the nullability of plan and operators, and refuses a difference. Its plans are wrong there:
    // a UNION keeps the nullability that it was created with, but some of its inputs become nullable later: a subquery that becomes a join,
    // such as `(SELECT count(*) > 1 …)`, and a group of intervals, which becomes an aggregate. And `x IS TRUE` is never NULL in a plan,
    // while its operator is nullable.
    options.execution.skip_physical_aggregate_schema_check = true;
    // TIMESTAMP WITH TIME ZONE is an instant; without a zone here its own zone would be lost.
    options.execution.time_zone = Some("UTC".to_string());
    // On one machine, a single hash table that all partitions probe in place beats shuffling both sides between cores, until the table is
    // far larger than the caches.
    options.optimizer.hash_join_single_partition_threshold = JOIN_SHARED_BYTES;
    options.optimizer.hash_join_single_partition_threshold_rows = JOIN_SHARED_ROWS;
    options.optimizer.hash_join_inlist_pushdown_max_distinct_values = JOIN_KEYS_LISTED;
    config
}
