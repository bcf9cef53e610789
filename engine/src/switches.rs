//! A switch for each optimisation of ours: `SET quiver.zone_pruning = false`. Results are the same
//! either way; docs/performance.md says what each is worth.

use datafusion::common::config::{ConfigExtension, ConfigOptions};
use datafusion::common::extensions_options;
use pmem_store::Durability;

use crate::error::EngineError;

extensions_options! {
    /// All on unless set.
    pub struct Switches {
        /// Skips zones by their statistics.
        pub zone_pruning: bool, default = true
        /// Tests `IN (integers)` with a bitmap.
        pub integer_sets: bool, default = true
        /// Lets scans wait for the keys of the join above them.
        pub await_join_filters: bool, default = true
        /// Computes on decimals that fit 64 bits without a check per row.
        pub fast_decimals: bool, default = true
        /// Runs `INSERT … VALUES` of few literal rows without planning it.
        pub direct_inserts: bool, default = true
        /// How soon small writes of the session are durable: `sync`, `async`, or `table` for what each table says.
        pub durability: String, default = TABLE.to_string()
    }
}

/// The settings as SET knows them; DataFusion lists an extension's without their prefix.
pub const NAMES: [&str; 6] = [
    "quiver.zone_pruning",
    "quiver.integer_sets",
    "quiver.await_join_filters",
    "quiver.fast_decimals",
    "quiver.direct_inserts",
    DURABILITY,
];

/// No switch: what a session promises of its small writes.
pub const DURABILITY: &str = "quiver.durability";
const TABLE: &str = "table";

impl Switches {
    /// None where the tables say; an error names a value that there is not.
    pub fn durability_of(value: &str) -> Result<Option<Durability>, EngineError> {
        let is = |name: &str| value.eq_ignore_ascii_case(name);
        match () {
            () if is(TABLE) => Ok(None),
            () if is("sync") => Ok(Some(Durability::Sync)),
            () if is("async") => Ok(Some(Durability::Async)),
            () => {
                let message = format!("there is no durability \"{value}\"");
                let hint = Some("set it to 'sync', to 'async', or to 'table' for what each table says".to_string());
                Err(EngineError::Sql { message, position: None, hint })
            }
        }
    }
}

impl ConfigExtension for Switches {
    const PREFIX: &'static str = "quiver";
}

pub fn switches(options: &ConfigOptions) -> Switches {
    options.extensions.get::<Switches>().cloned().unwrap_or_default()
}
