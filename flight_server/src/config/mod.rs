//! The configuration of a server: from flags, environment variables, a file and defaults, in this order.
//!
//! - [`settings`] — **the one list of all settings**: name, what it means, where it is kept. Flags, variables, keys of the file,
//!   `--print-config` and the table of docs/server.md come of it
//! - [`field`] — kinds of values, and how they are read and shown; [`units`] sizes and durations with units
//! - [`file`] — keys and values of a TOML file with their lines; [`load`] makes a [`Config`] of all sources
//! - [`print`] — writes the settings as an equivalent file

mod error;
mod field;
mod file;
mod load;
mod print;
mod settings;
mod units;

use std::collections::BTreeMap;
use std::path::PathBuf;

use engine::EngineOptions;

use crate::log::LogOptions;
use crate::options::ServerOptions;

pub use error::ConfigError;
pub use field::Kind;
pub use load::{SettingSource, Source, variable};
pub use settings::{SETTINGS, Setting};

/// All settings of a server.
#[derive(Debug, Clone)]
pub struct Config {
    pub store: Option<PathBuf>,
    pub engine: EngineOptions,
    pub server: ServerOptions,
    pub log: LogOptions,
    /// Keyed by the name of the setting; a missing one has its default.
    sources: BTreeMap<&'static str, Source>,
}

/// Concurrent statements for each core: more would share it, and each would take longer.
const QUERIES_PER_CORE: usize = 4;
const QUEUE_TIMEOUT_MS: u64 = 60_000;

impl Default for Config {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let engine = EngineOptions {
            queries_max: Some(QUERIES_PER_CORE * cores),
            queue_timeout_ms: Some(QUEUE_TIMEOUT_MS),
            ..EngineOptions::default()
        };
        Config { store: None, engine, server: ServerOptions::default(), log: LogOptions::default(), sources: BTreeMap::new() }
    }
}
