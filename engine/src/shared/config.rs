//! What a session of an engine begins with.

use datafusion::prelude::SessionConfig;

use common::engine_settings::EngineSettings;
use common::names::CATALOG;

const SORT_RESERVED_MIN: usize = 512 << 10;
const SORT_RESERVED_MAX: usize = 10 << 20;
/// Build sides up to these sizes are made once and shared; see docs/performance.md.
const JOIN_SHARED_BYTES: usize = 512 << 20;
const JOIN_SHARED_ROWS: usize = 4_000_000;
/// Keys a join tells its scans as a list; with more it lets them look into its hash table.
const JOIN_KEYS_LISTED: usize = 10_000;

/// What an engine says of the settings of its sessions.
#[derive(Debug, Clone, Copy)]
pub struct SessionDefaults {
    pub partitions: usize,
    pub query_memory_limit_bytes: usize,
    /// 0 without a limit.
    pub statement_timeout_ms: u64,
}

pub fn config(engine: SessionDefaults) -> SessionConfig {
    let mut config = SessionConfig::new()
        .with_default_catalog_and_schema(CATALOG, pmem_store::DEFAULT_NAMESPACE)
        .with_create_default_catalog_and_schema(false)
        // Ours is a schema of the catalog.
        .with_information_schema(false)
        .with_target_partitions(engine.partitions);
    let options = config.options_mut();
    let mut switches = EngineSettings::default();
    switches.statement_timeout_ms = engine.statement_timeout_ms;
    options.extensions.insert(switches);
    // Each partition of a sort sets so much aside for merging; of a small pool it must not be most.
    let share = engine.query_memory_limit_bytes / (16 * engine.partitions);
    options.execution.sort_spill_reservation_bytes = share.clamp(SORT_RESERVED_MIN, SORT_RESERVED_MAX);
    // 1.5 is a decimal, as in the SQL standard and everywhere else people come from.
    options.sql_parser.parse_float_as_decimal = true;
    options.sql_parser.collect_spans = true;
    // Below an aggregate DataFusion compares what plan and operators say of NULL, and refuses what differs. Its plans say too little: a UNION
    // keeps what it said when it was made, and of its inputs a subquery that becomes a join, as `(SELECT count(*) > 1 …)`, and a group of
    // intervals, which becomes an aggregate, may be NULL later; and `x IS TRUE` is never NULL in a plan, where its operator may be.
    options.execution.skip_physical_aggregate_schema_check = true;
    // TIMESTAMP WITH TIME ZONE is an instant; without a zone here it would lose its own.
    options.execution.time_zone = Some("UTC".to_string());
    // One hash table that all partitions probe in place beats shuffling both sides between cores of
    // one machine, until the table outgrows the caches by far.
    options.optimizer.hash_join_single_partition_threshold = JOIN_SHARED_BYTES;
    options.optimizer.hash_join_single_partition_threshold_rows = JOIN_SHARED_ROWS;
    // Lists become bitmaps in the scan, whatever their length.
    options.optimizer.hash_join_inlist_pushdown_max_distinct_values = JOIN_KEYS_LISTED;
    options.optimizer.hash_join_inlist_pushdown_max_size = JOIN_KEYS_LISTED * 16;
    config
}
