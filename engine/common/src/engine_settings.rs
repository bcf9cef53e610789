//! Settings of the engine, most of them switches for our optimisations: `SET quiver.zone_pruning = false`. Results are the same either
//! way; docs/performance.md says what each is worth.

use std::fmt;
use std::str::FromStr;

use datafusion::common::config::{ConfigExtension, ConfigOptions};
use datafusion::common::extensions_options;
use pmem_store::Durability;

use crate::error::EngineError;

extensions_options! {
    /// All on unless set.
    pub struct EngineSettings {
        /// Skips zones by their statistics.
        pub zone_pruning: bool, default = true
        /// Tests `IN (integers)` with a bitmap.
        pub integer_sets: bool, default = true
        /// Lets scans wait for the keys of the join above them.
        pub await_join_filters: bool, default = true
        /// Joins tables in the order that costs least, and not in that of the statement.
        pub join_order: bool, default = true
        /// Runs subplans that a statement has several times once.
        pub common_subplans: bool, default = true
        /// Keeps optimised plans for statements that come again.
        pub plan_cache: bool, default = true
        /// Computes on decimals that fit 64 bits without a check per row.
        pub fast_decimals: bool, default = true
        /// Runs `INSERT … VALUES` of few literal rows without planning it.
        pub direct_inserts: bool, default = true
        /// Leaves out the rows before an OFFSET where they lie.
        pub skip_rows: bool, default = true
        /// Keeps of the rows ordered by l2_distance only those that can be among the first, and gives up on the others early.
        pub nearest_rows: bool, default = true
        /// Leaves out, before a sort, rows that cannot be among the first of their group.
        pub rank_limits: bool, default = true
        /// Groups and adds up rows in the scan, by the codes and small integers that segments have.
        pub store_aggregates: bool, default = true
        /// Computes windows whose frames begin where their groups do in one pass over sorted rows.
        pub running_windows: bool, default = true
        /// Groups rows by all keys once, and by the sets of ROLLUP, CUBE and GROUPING SETS only the states of these groups.
        pub grouping_set_states: bool, default = true
        /// Groups rows below a join, where few groups are left to join.
        pub eager_aggregates: bool, default = true
        /// Multiplies tables of blocks where they lie, where a query says the product as a join.
        pub product_of_tables: bool, default = true
        /// Makes the blocks of a result where they lie in the table that it is stored in.
        pub results_in_place: bool, default = true
        /// How soon small writes of the session are durable: `sync`, `async`, or `table` for what each table says.
        pub durability: String, default = TABLE.to_string()
        /// Milliseconds that a statement of the session may take, from its start to the last row that is read; 0 for as many as it takes.
        pub statement_timeout_ms: u64, default = 0
        /// What runs where a table of another node lies: `off`, `filter`, or `full` for everything that can.
        pub pushdown: String, default = Pushdown::default().to_string()
        /// Whether kernels that read their input several times copy it into memory first: `on`, `off`, or `auto` for where that pays.
        pub precopy: String, default = Precopy::default().to_string()
        /// Milliseconds that one call of a function in WebAssembly may take, with a batch of rows.
        pub function_timeout_ms: u64, default = 30_000
        /// Bytes of memory that one instance of a module may have.
        pub function_memory_bytes: u64, default = 256 << 20
        /// Which version queries read: `newest`, or `eventual` for the last one whose rows are near.
        pub consistency: String, default = Consistency::default().to_string()
    }
}

/// The settings' full names; DataFusion lists those of an extension without their prefix.
pub const NAMES: [&str; 24] = [
    "quiver.zone_pruning",
    "quiver.integer_sets",
    "quiver.await_join_filters",
    "quiver.join_order",
    "quiver.common_subplans",
    "quiver.plan_cache",
    "quiver.fast_decimals",
    "quiver.direct_inserts",
    "quiver.skip_rows",
    "quiver.nearest_rows",
    "quiver.rank_limits",
    "quiver.running_windows",
    "quiver.store_aggregates",
    "quiver.grouping_set_states",
    "quiver.eager_aggregates",
    "quiver.product_of_tables",
    "quiver.results_in_place",
    DURABILITY,
    STATEMENT_TIMEOUT,
    PUSHDOWN,
    PRECOPY,
    CONSISTENCY,
    FUNCTION_TIMEOUT,
    FUNCTION_MEMORY,
];

/// Not a switch: the durability of the session's small writes.
pub const DURABILITY: &str = "quiver.durability";
/// Not a switch.
pub const STATEMENT_TIMEOUT: &str = "quiver.statement_timeout_ms";
/// Not a switch: the results are the same, except for the order of rows when the query has no ORDER BY.
pub const PUSHDOWN: &str = "quiver.pushdown";
/// Not a switch: it decides where memory may be spent.
pub const PRECOPY: &str = "quiver.precopy";
/// Not a switch: results may be those of an earlier version.
pub const CONSISTENCY: &str = "quiver.consistency";
/// Not a switch: a limit.
pub const FUNCTION_TIMEOUT: &str = "quiver.function_timeout_ms";
/// Not a switch: a limit.
pub const FUNCTION_MEMORY: &str = "quiver.function_memory_bytes";
const TABLE: &str = "table";

impl EngineSettings {
    /// `None` if each table decides; an error for an unknown value.
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

impl EngineSettings {
    /// Milliseconds, from a number or from a time with a unit.
    pub fn timeout_of(value: &str) -> Result<u64, EngineError> {
        const UNITS: [(&str, u64); 6] = [("ms", 1), ("s", 1_000), ("min", 60_000), ("h", 3_600_000), ("d", 86_400_000), ("", 1)];
        let value = value.trim();
        let digits = value.len() - value.trim_start_matches(|char: char| char.is_ascii_digit()).len();
        let (number, unit) = value.split_at(digits);
        let factor = UNITS.iter().find(|(name, _)| *name == unit.trim()).map(|(_, factor)| *factor);
        let timeout_ms = number.parse::<u64>().ok().zip(factor).and_then(|(number, factor)| number.checked_mul(factor));
        timeout_ms.ok_or_else(|| {
            let message = format!("\"{value}\" is no time");
            let hint = Some("write milliseconds as 30000, or a time as '30s', '5min' or '2h'; 0 for no limit".to_string());
            EngineError::Sql { message, position: None, hint }
        })
    }
}

/// How much of a query runs on the remote node that holds a table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Pushdown {
    /// Nothing: the node returns the whole table.
    Off,
    /// Filters and the selection of columns.
    Filter,
    /// Everything that can be pushed down.
    #[default]
    Full,
}

impl fmt::Display for Pushdown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Pushdown::Off => "off",
            Pushdown::Filter => "filter",
            Pushdown::Full => "full",
        })
    }
}

/// Returns an error for an unknown value.
impl FromStr for Pushdown {
    type Err = EngineError;

    fn from_str(value: &str) -> Result<Pushdown, EngineError> {
        let levels = [Pushdown::Off, Pushdown::Filter, Pushdown::Full];
        let level = levels.into_iter().find(|level| value.eq_ignore_ascii_case(&level.to_string()));
        level.ok_or_else(|| {
            let message = format!("there is no pushdown \"{value}\"");
            let hint = Some("set it to 'off', to 'filter', or to 'full' for everything that can run where the table lies".to_string());
            EngineError::Sql { message, position: None, hint }
        })
    }
}

/// The setting `precopy`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Precopy {
    /// Every pass reads the rows in place.
    Off,
    /// Input is always staged; more than the query's memory is an error.
    On,
    /// Input is staged if that pays off and there is room.
    #[default]
    Auto,
}

impl fmt::Display for Precopy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Precopy::Off => "off",
            Precopy::On => "on",
            Precopy::Auto => "auto",
        })
    }
}

/// Returns an error for an unknown value.
impl FromStr for Precopy {
    type Err = EngineError;

    fn from_str(value: &str) -> Result<Precopy, EngineError> {
        let choices = [Precopy::Off, Precopy::On, Precopy::Auto];
        let choice = choices.into_iter().find(|choice| value.eq_ignore_ascii_case(&choice.to_string()));
        choice.ok_or_else(|| {
            let message = format!("there is no precopy \"{value}\"");
            let hint = Some("set it to 'on', to 'off', or to 'auto' for where a copy pays".to_string());
            EngineError::Sql { message, position: None, hint }
        })
    }
}

/// The setting `consistency`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Consistency {
    /// The last commit.
    #[default]
    Newest,
    /// Of each table, the last version of which nothing would have to be fetched from an object store.
    Eventual,
}

impl fmt::Display for Consistency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Consistency::Newest => "newest",
            Consistency::Eventual => "eventual",
        })
    }
}

/// Returns an error for an unknown value.
impl FromStr for Consistency {
    type Err = EngineError;

    fn from_str(value: &str) -> Result<Consistency, EngineError> {
        let choices = [Consistency::Newest, Consistency::Eventual];
        let choice = choices.into_iter().find(|choice| value.eq_ignore_ascii_case(&choice.to_string()));
        choice.ok_or_else(|| {
            let message = format!("there is no consistency \"{value}\"");
            let hint = Some("set it to 'newest', or to 'eventual' for the last version whose rows are near".to_string());
            EngineError::Sql { message, position: None, hint }
        })
    }
}

impl EngineSettings {
    pub fn consistency(&self) -> Consistency {
        // SET accepts no invalid value.
        self.consistency.parse().unwrap_or_default()
    }

    pub fn pushdown(&self) -> Pushdown {
        // SET accepts no invalid value.
        self.pushdown.parse().unwrap_or_default()
    }

    pub fn precopy(&self) -> Precopy {
        // As above.
        self.precopy.parse().unwrap_or_default()
    }
}

impl ConfigExtension for EngineSettings {
    const PREFIX: &'static str = "quiver";
}

pub fn switches(options: &ConfigOptions) -> EngineSettings {
    options.extensions.get::<EngineSettings>().cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_read_as_they_are_shown() {
        for choice in [Precopy::Off, Precopy::On, Precopy::Auto] {
            assert_eq!(choice.to_string().to_uppercase().parse::<Precopy>().ok(), Some(choice));
        }
        assert!("sometimes".parse::<Precopy>().is_err());
    }
}
