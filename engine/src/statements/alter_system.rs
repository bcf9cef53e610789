//! ALTER SYSTEM SET and RESET: settings of the store.

use std::path::PathBuf;
use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use pmem_store::{DEFAULT_RETENTION_MS, PrefetchSettings, Store, Tier};

use super::ddl::refuse_transaction;
use crate::audit::set_retention_ms;
use crate::execution::StatementContext;
use common::error::EngineError;
use common::sizes::parse_size;
use sql::STORE_SETTINGS;
use sql::versions::RETENTION;
use sql::versions::duration::duration_ms;
use sql::versions::evaluate::constant;
use table::blocking::blocking;

/// The retention of `system.audit`.
const AUDIT_RETENTION: &str = "audit_retention";
/// The directory of the tier on disk.
const DISK_TIER: &str = "disk_tier";
/// The URL of the tier in an object store.
const OBJECT_TIER: &str = "object_tier";
/// Whether what moves there is compressed.
const OBJECT_TIER_COMPRESSION: &str = "object_tier_compression";
/// Whether, and when, the rest of what belongs together is copied to memory.
const PREFETCH: &str = "prefetch";
const PREFETCH_SHARE: &str = "prefetch_share";
const PREFETCH_WINDOW: &str = "prefetch_window";

/// Sets a setting, or gives it its default if there is no value.
pub async fn alter_system(ctx: &StatementContext, setting: &str, value: Option<String>) -> Result<(), EngineError> {
    let change = change_of(ctx, setting, value)?;
    refuse_transaction(ctx, "ALTER SYSTEM")?;
    let store = Arc::clone(&ctx.engine.store);
    // It writes to disks, or asks an object store.
    blocking(move || change(&store)).await?;
    ctx.engine.maintenance.wake();
    Ok(())
}

type Change = Box<dyn FnOnce(&Store) -> Result<(), EngineError> + Send>;

fn change_of(ctx: &StatementContext, setting: &str, value: Option<String>) -> Result<Change, EngineError> {
    let value = value.map(|sql| constant(&ctx.state, &sql).map(|value| (sql, value))).transpose()?;
    if let Some(tier) = Tier::LIMITED.into_iter().find(|tier| tier.limit_setting() == setting) {
        let limit_bytes = value.map(|(sql, value)| size_of(setting, &sql, &value)).transpose()?;
        return Ok(Box::new(move |store| Ok(store.set_tier_limit(tier, limit_bytes)?)));
    }
    match setting {
        RETENTION => {
            let retention_ms = value.map_or(Ok(DEFAULT_RETENTION_MS), |(_, value)| duration_ms(&value))?;
            Ok(Box::new(move |store| Ok(store.set_retention_ms(retention_ms)?)))
        }
        AUDIT_RETENTION => {
            let retention_ms = value.map(|(_, value)| duration_ms(&value)).transpose()?;
            Ok(Box::new(move |store| Ok(set_retention_ms(store, retention_ms)?)))
        }
        DISK_TIER => {
            let directory = value.filter(is_given).map(|(sql, value)| directory(&sql, &value)).transpose()?;
            Ok(Box::new(move |store| Ok(store.set_disk_tier(directory.as_deref())?)))
        }
        OBJECT_TIER => {
            let url = value.filter(is_given).map(|(_, value)| value.try_as_str().flatten().unwrap_or_default().to_string());
            Ok(Box::new(move |store| Ok(store.set_object_tier(url.as_deref())?)))
        }
        OBJECT_TIER_COMPRESSION => {
            let is_on = value.map_or(Ok(true), |(sql, value)| is_compressed(&sql, &value))?;
            Ok(Box::new(move |store| Ok(store.set_object_compression(is_on)?)))
        }
        PREFETCH => {
            let is_on = value.map_or(Ok(PrefetchSettings::default().is_on), |(sql, value)| is_on(&sql, &value))?;
            Ok(Box::new(move |store| Ok(store.set_prefetch(|prefetch| prefetch.is_on = is_on)?)))
        }
        PREFETCH_SHARE => {
            let share = value.map_or(Ok(PrefetchSettings::default().share), |(sql, value)| share_of(&sql, &value))?;
            Ok(Box::new(move |store| Ok(store.set_prefetch(|prefetch| prefetch.share = share)?)))
        }
        PREFETCH_WINDOW => {
            let window_ms = value.map_or(Ok(PrefetchSettings::default().window_ms), |(_, value)| duration_ms(&value))?;
            Ok(Box::new(move |store| Ok(store.set_prefetch(|prefetch| prefetch.window_ms = window_ms)?)))
        }
        _ => {
            let hint = format!("ALTER SYSTEM changes {}; SET changes settings of the session", STORE_SETTINGS.join(", "));
            Err(invalid(format!("the store has no setting \"{setting}\""), &hint))
        }
    }
}

/// An empty text is what `system.settings` shows of a tier that there is not.
fn is_given((_, value): &(String, ScalarValue)) -> bool {
    value.try_as_str().flatten() != Some("")
}

fn directory(sql: &str, value: &ScalarValue) -> Result<PathBuf, EngineError> {
    let path = value.try_as_str().flatten().map(PathBuf::from).filter(|path| path.is_absolute());
    path.ok_or_else(|| invalid(format!("{sql} is no directory"), "write its whole path as a text: '/mnt/disk/quiver'"))
}

fn size_of(setting: &str, sql: &str, value: &ScalarValue) -> Result<u64, EngineError> {
    let text = value.try_as_str().map_or_else(|| value.to_string(), |text| text.unwrap_or_default().to_string());
    parse_size(&text).map_err(|reason| invalid(format!("{sql} is no size: {reason}"), &format!("{setting} must be a size such as '2GiB'")))
}

fn is_compressed(sql: &str, value: &ScalarValue) -> Result<bool, EngineError> {
    match value.try_as_str().flatten().map(str::to_lowercase).as_deref() {
        Some("zstd") => Ok(true),
        Some("none") => Ok(false),
        _ => Err(invalid(format!("{sql} is no compression of the object tier"), "write 'zstd' or 'none'")),
    }
}

fn is_on(sql: &str, value: &ScalarValue) -> Result<bool, EngineError> {
    let text = value.try_as_str().map_or_else(|| value.to_string(), |text| text.unwrap_or_default().to_string());
    match text.to_lowercase().as_str() {
        "on" | "true" => Ok(true),
        "off" | "false" => Ok(false),
        _ => Err(invalid(format!("{sql} is neither on nor off"), "write 'on' or 'off'")),
    }
}

fn share_of(sql: &str, value: &ScalarValue) -> Result<f64, EngineError> {
    let share = value.cast_to(&DataType::Float64).ok().and_then(|share| match share {
        ScalarValue::Float64(share) => share.filter(|share| (0.0..1.0).contains(share)),
        _ => None,
    });
    share.ok_or_else(|| invalid(format!("{sql} is no share"), "write a number from 0 to less than 1, as 0.5"))
}

fn invalid(message: String, hint: &str) -> EngineError {
    EngineError::Sql { message, position: None, hint: Some(hint.to_string()) }
}
