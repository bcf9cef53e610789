//! SET and RESET: our own names, and DataFusion's under `datafusion.`.

use arrow::array::timezone::Tz;
use datafusion::common::DataFusionError;
use datafusion::common::config::ConfigOptions;
use datafusion::logical_expr::{ResetVariable, SetVariable};

use super::versions::RETENTION;
use common::engine_settings::{self, Consistency, EngineSettings, Precopy, Pushdown};
use common::error::{EngineError, nearest};

/// Our names, and DataFusion's names for them.
const NAMES: [(&str, &str); 8] = [
    ("threads", TARGET_PARTITIONS),
    ("batch_size", BATCH_SIZE),
    ("timezone", TIME_ZONE),
    ("explain_format", "datafusion.explain.format"),
    ("pushdown", engine_settings::PUSHDOWN),
    ("precopy", engine_settings::PRECOPY),
    ("consistency", engine_settings::CONSISTENCY),
    // PostgreSQL's name; a plain number means milliseconds there as well.
    ("statement_timeout", engine_settings::STATEMENT_TIMEOUT),
];

const TARGET_PARTITIONS: &str = "datafusion.execution.target_partitions";

const BATCH_SIZE: &str = "datafusion.execution.batch_size";

/// The dialect cannot be changed: the rewrites of tokens depend on it.
const DIALECT: &str = "datafusion.sql_parser.dialect";

const TIME_ZONE: &str = "datafusion.execution.time_zone";

/// Our names.
pub const SETTING_NAMES: [&str; 8] = [NAMES[0].0, NAMES[1].0, NAMES[2].0, NAMES[3].0, NAMES[4].0, NAMES[5].0, NAMES[6].0, NAMES[7].0];

/// What ALTER SYSTEM sets; `system.settings` has the values.
pub const STORE_SETTINGS: [&str; 11] = [
    RETENTION,
    "audit_retention",
    "disk_tier",
    "object_tier",
    "memory_tier_limit",
    "disk_tier_limit",
    "object_tier_limit",
    "prefetch",
    "prefetch_share",
    "prefetch_window",
    "object_tier_compression",
];

/// DataFusion's name for a setting. Our names also work without `quiver.`.
pub fn shown_name(asked: &str) -> &str {
    let asked = if asked == "quiver.statement_timeout" { "statement_timeout" } else { asked };
    let ours = NAMES.iter().find(|(ours, _)| *ours == asked).map(|(_, name)| *name);
    let switch = || engine_settings::NAMES.into_iter().find(|name| name.strip_prefix("quiver.") == Some(asked));
    ours.or_else(switch).unwrap_or(asked)
}

/// The setting under DataFusion's name, or an error that suggests the nearest name.
pub fn set_variable(mut set: SetVariable, known: &ConfigOptions, defaults: &ConfigOptions) -> Result<SetVariable, EngineError> {
    let name = std::mem::take(&mut set.variable);
    set.variable = known_name(&name, known)?;
    // No setting has this value: it is PostgreSQL's keyword for the initial value.
    if set.value.eq_ignore_ascii_case("default") {
        return Ok(default_of(set.variable, defaults).unwrap_or_else(|reset| SetVariable { variable: reset.variable, value: set.value }));
    }
    if set.variable == engine_settings::DURABILITY {
        set.value = set.value.to_lowercase();
        EngineSettings::durability_of(&set.value)?;
    }
    if set.variable == engine_settings::STATEMENT_TIMEOUT {
        set.value = EngineSettings::timeout_of(&set.value)?.to_string();
    }
    if set.variable == engine_settings::PUSHDOWN {
        set.value = set.value.parse::<Pushdown>()?.to_string();
    }
    if set.variable == engine_settings::PRECOPY {
        set.value = set.value.parse::<Precopy>()?.to_string();
    }
    if set.variable == engine_settings::CONSISTENCY {
        set.value = set.value.parse::<Consistency>()?.to_string();
    }
    if set.variable == DIALECT && !set.value.eq_ignore_ascii_case("generic") {
        let hint = "leave the setting as it is: words of other dialects that Quiver knows are known without it";
        return Err(EngineError::unsupported(format!("the dialect {}", set.value), Some(hint)));
    }
    if set.variable == TIME_ZONE && set.value.parse::<Tz>().is_err() {
        let message = format!("there is no time zone \"{}\"", set.value);
        let hint = Some("name one as 'UTC', '+02:00' or 'Europe/Berlin'".to_string());
        return Err(EngineError::Sql { message, position: None, hint });
    }
    // With 0 threads, DataFusion would take as many as there are cores.
    if [TARGET_PARTITIONS, BATCH_SIZE].contains(&set.variable.as_str()) && set.value.parse() == Ok(0) {
        let hint = Some(format!("it is 1 or more; RESET {name} restores its first value"));
        return Err(EngineError::Sql { message: format!("the setting {name} cannot be 0"), position: None, hint });
    }
    // DataFusion's error has the words of Rust's parsers.
    if let Err(error) = known.clone().set(&set.variable, &set.value)
        && matches!(error.find_root(), DataFusionError::External(_))
    {
        let message = format!("the setting {name} cannot be \"{}\"", set.value);
        let hint = Some(format!("SHOW {name}; shows its value"));
        return Err(EngineError::Sql { message, position: None, hint });
    }
    Ok(set)
}

/// Restores the initial value of the session, if there is one.
pub fn reset_variable(
    reset: ResetVariable,
    known: &ConfigOptions,
    defaults: &ConfigOptions,
) -> Result<Result<SetVariable, ResetVariable>, EngineError> {
    Ok(default_of(known_name(&reset.variable, known)?, defaults))
}

fn default_of(variable: String, defaults: &ConfigOptions) -> Result<SetVariable, ResetVariable> {
    if engine_settings::NAMES.contains(&variable.as_str()) {
        let value = match variable.as_str() {
            engine_settings::DURABILITY => "table".to_string(),
            engine_settings::STATEMENT_TIMEOUT => engine_settings::switches(defaults).statement_timeout_ms.to_string(),
            engine_settings::PUSHDOWN => Pushdown::default().to_string(),
            engine_settings::PRECOPY => Precopy::default().to_string(),
            engine_settings::CONSISTENCY => Consistency::default().to_string(),
            _ => "true".to_string(),
        };
        return Ok(SetVariable { variable, value });
    }
    let entry = defaults.entries().into_iter().find(|entry| entry.key == variable);
    match entry.and_then(|entry| entry.value) {
        Some(value) => Ok(SetVariable { variable, value }),
        None => Err(ResetVariable { variable }),
    }
}

fn known_name(asked: &str, known: &ConfigOptions) -> Result<String, EngineError> {
    let name = shown_name(asked);
    if name.starts_with("datafusion.runtime.") {
        let hint = Some("memory and spill space belong to the process: use --memory-limit and --spill-dir");
        return Err(EngineError::unsupported(format!("SET {name}"), hint));
    }
    if STORE_SETTINGS.contains(&name) {
        let value = if name == RETENTION { "'7 days'" } else { "…" };
        let hint = format!("it belongs to the store: ALTER SYSTEM SET {name} = {value}");
        return Err(EngineError::unsupported(format!("SET {name}"), Some(&hint)));
    }
    let mut all: Vec<String> = known.entries().into_iter().map(|entry| entry.key).collect();
    all.extend(engine_settings::NAMES.map(str::to_string));
    if all.iter().any(|key| key == name) { Ok(name.to_string()) } else { Err(unknown_setting(asked, &all)) }
}

pub fn unknown_setting(asked: &str, all: &[String]) -> EngineError {
    // Settings of the process are refused.
    let all = all.iter().map(String::as_str).filter(|name| !name.starts_with("datafusion.runtime."));
    let names = NAMES.iter().map(|(ours, _)| *ours).chain(engine_settings::NAMES).chain(STORE_SETTINGS).chain(all);
    let hint = nearest(asked, names).map(|near| format!("did you mean \"{near}\"?"));
    let hint = match asked.to_ascii_lowercase().as_str() {
        "schema" | "search_path" => Some("names without a schema are in \"main\"; name another one with the table: other.t".to_string()),
        "memory_limit" | "max_memory" | "work_mem" | "temp_directory" => {
            Some("memory and spill space belong to the process: use --memory-limit and --spill-dir".to_string())
        }
        _ => hint.or_else(|| Some("SHOW ALL lists the settings".to_string())),
    };
    EngineError::Sql { message: format!("there is no setting \"{asked}\""), position: None, hint }
}
