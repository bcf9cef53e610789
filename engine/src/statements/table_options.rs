//! Options of a table: `WITH (durability = 'async')`, `SET (durability = 'sync')`.

use std::collections::BTreeMap;

use datafusion::sql::sqlparser::ast::{Expr, SqlOption, Value};

use crate::compaction::TierPolicy;
use common::error::{EngineError, nearest};
use pmem_store::{ENCODING_OPTION, PLAIN, Store, TIER_OPTION, TIER_POLICY_OPTION, Tier};
use table::constraints::identifier;

/// Each option with its allowed values; none if it is checked elsewhere.
const OPTIONS: [(&str, &[&str]); 5] = [
    ("durability", &["sync", "async"]),
    (ENCODING_OPTION, &["auto", PLAIN]),
    ("read_only", &["true", "false"]),
    (TIER_OPTION, &["memory", "pmem", "disk", "object"]),
    (TIER_POLICY_OPTION, &[]),
];

/// The options of a new table or array.
pub fn new_options(store: &Store, sql_options: Vec<SqlOption>) -> Result<BTreeMap<String, String>, EngineError> {
    let mut options = BTreeMap::new();
    set_options(&mut options, sql_options)?;
    check_tier(store, &BTreeMap::new(), &options)?;
    Ok(options)
}

/// An error if the options name a tier that the store does not have, or rules that are none. Options that stay as they were before are not
/// looked at: a store that was restored from a backup has none of the tiers that its tables were given.
pub fn check_tier(store: &Store, before: &BTreeMap<String, String>, options: &BTreeMap<String, String>) -> Result<(), EngineError> {
    let changed = |name: &str| options.get(name).filter(|value| before.get(name) != Some(*value));
    let tier = changed(TIER_OPTION).and_then(|word| Tier::of_word(word));
    let policy = changed(TIER_POLICY_OPTION).map(|text| TierPolicy::parse(text)).transpose()?;
    let tiers: Vec<Tier> = tier.into_iter().chain(policy.iter().flat_map(TierPolicy::tiers)).collect();
    if tiers.is_empty() {
        return Ok(());
    }
    let there = store.tiers()?;
    Ok(tiers.into_iter().try_for_each(|tier| there.check(tier))?)
}

/// Sets the given options; the others stay.
pub fn set_options(options: &mut BTreeMap<String, String>, sql_options: Vec<SqlOption>) -> Result<(), EngineError> {
    for option in sql_options {
        let SqlOption::KeyValue { key, value } = option else {
            return Err(EngineError::unsupported(format!("the table option {option}"), Some("write options as name = 'value'")));
        };
        let name = identifier(&key).to_lowercase();
        let Some((name, values)) = OPTIONS.iter().find(|(other, _)| *other == name) else {
            let names = || OPTIONS.iter().map(|(other, _)| *other);
            let hint = match nearest(&name, names()) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => format!("options there are: {}", names().collect::<Vec<_>>().join(", ")),
            };
            return Err(EngineError::Sql { message: format!("there is no table option \"{name}\""), position: None, hint: Some(hint) });
        };
        let text = text_of(&value);
        if !text.as_ref().is_some_and(|text| values.is_empty() || values.contains(&text.as_str())) {
            let hint = format!("it can be {}", values.iter().map(|value| format!("'{value}'")).collect::<Vec<_>>().join(" or "));
            let message = format!("the table option {name} cannot be {value}");
            return Err(EngineError::Sql { message, position: None, hint: Some(hint) });
        }
        options.extend(text.map(|text| (name.to_string(), text)));
    }
    Ok(())
}

fn text_of(value: &Expr) -> Option<String> {
    match value {
        Expr::Identifier(ident) => Some(ident.value.to_lowercase()),
        Expr::Value(value) => match &value.value {
            Value::Boolean(value) => Some(value.to_string()),
            Value::SingleQuotedString(text) | Value::DoubleQuotedString(text) => Some(text.to_lowercase()),
            _ => None,
        },
        _ => None,
    }
}
