//! The tests of the engine, as one binary: linking several costs more than running them.

/// That of the binary: what is measured here is what users have.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

mod access;
mod accounts;
mod alter;
mod backup;
mod backup_requests;
mod cancel;
mod compaction;
mod constraints;
mod copy;
mod ddl;
mod defaults;
mod direct_inserts;
mod dml;
mod errors;
mod export;
mod external;
mod fault;
mod filters;
mod filters_by_name;
mod floats;
mod foreign_plans;
mod helpers;
mod huge_sql;
mod import;
mod ingest;
mod insert;
mod insert_speed;
mod isolation;
mod kernels;
mod memory;
mod model;
mod offset;
mod oracle;
mod parameters;
mod plans;
mod pruning;
mod quick_batches;
mod report;
mod restore;
mod running;
mod scan;
mod semantics;
mod sharing;
mod snapshots;
mod sql_surface;
mod statistics;
mod system_tables;
mod time_travel;
mod views;
mod wide_tables;
mod wrong_calls;
