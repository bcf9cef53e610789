//! Files to record batches and back: Parquet, CSV, JSON, Arrow IPC. No tables of the store and no sessions.

pub mod export;
pub mod import;
