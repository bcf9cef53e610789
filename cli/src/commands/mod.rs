//! The subcommands. Each takes its arguments apart, calls the engine and says what came of it.

pub mod backup;
pub mod check;
pub mod export;
pub mod import;
pub mod info;
pub mod query;
pub mod restore;
