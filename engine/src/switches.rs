//! A switch for each optimisation of ours: `SET quiver.zone_pruning = false`. Results are the same
//! either way; docs/performance.md says what each is worth.

use datafusion::common::config::{ConfigExtension, ConfigOptions};
use datafusion::common::extensions_options;

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
    }
}

/// The settings as SET knows them; DataFusion lists an extension's without their prefix.
pub const NAMES: [&str; 4] =
    ["quiver.zone_pruning", "quiver.integer_sets", "quiver.await_join_filters", "quiver.fast_decimals"];

impl ConfigExtension for Switches {
    const PREFIX: &'static str = "quiver";
}

pub fn switches(options: &ConfigOptions) -> Switches {
    options.extensions.get::<Switches>().cloned().unwrap_or_default()
}
