//! Converts files to record batches and back: Parquet, CSV, JSON, Arrow IPC. It knows no tables of the store and no sessions.

pub mod export;
pub mod import;
