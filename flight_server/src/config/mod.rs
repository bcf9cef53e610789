//! How a server is set up: by flags, by variables of the environment, by a file, and by defaults, in this order.
//!
//! - [`settings`] — **the one list of all settings**: name, what it means, where it is kept. Flags, variables, keys of the file,
//!   `--print-config` and the table of docs/server.md come of it
//! - [`field`] — kinds of values: how they are read and shown; [`units`] sizes and times as people write them
//! - [`file`] — keys and values of a TOML file with their lines; [`load`] what was given becomes a [`Config`]
//! - [`print`] — the settings as a file that means the same

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

/// All that a server is set to.
#[derive(Debug, Clone)]
pub struct Config {
    pub store: Option<PathBuf>,
    pub engine: EngineOptions,
    pub server: ServerOptions,
    pub log: LogOptions,
    /// By name of the setting; what is not there has its default.
    sources: BTreeMap<&'static str, Source>,
}

/// Statements at once for each core: more would share it and take longer each.
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
