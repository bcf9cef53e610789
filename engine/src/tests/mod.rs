//! Tests of the crate `table` that need a whole engine.

mod key_search;
mod plan_cache;
mod scan_partitions;
mod write_scope;
