//! Keys and values of a TOML file, with their line numbers.

use std::path::Path;

use engine::nearest;
use toml::de::{DeTable, DeValue};

use super::error::ConfigError;
use super::field::Kind;
use super::settings::{SETTINGS, Setting};

/// A value in the form that its setting reads.
pub struct FromFile {
    pub setting: &'static Setting,
    pub line: usize,
    pub text: String,
}

pub fn read_file(path: &Path) -> Result<Vec<FromFile>, ConfigError> {
    let text = std::fs::read_to_string(path).map_err(|source| ConfigError::Read { path: path.to_path_buf(), source })?;
    read_text(path, &text)
}

fn read_text(path: &Path, text: &str) -> Result<Vec<FromFile>, ConfigError> {
    let line = |at: usize| text.get(..at).unwrap_or(text).matches('\n').count() + 1;
    let table = DeTable::parse(text).map_err(|error| ConfigError::Syntax {
        path: path.to_path_buf(),
        line: line(error.span().map_or(0, |span| span.start)),
        message: error.message().to_string(),
    })?;
    let mut settings = Vec::new();
    for (key, value) in table.into_inner() {
        let (line, name) = (line(key.span().start), key.into_inner().into_owned());
        let Some(setting) = SETTINGS.iter().find(|setting| setting.name == name) else {
            let near = nearest(&name, SETTINGS.iter().map(|setting| setting.name)).map(str::to_string);
            return Err(ConfigError::Unknown { path: path.to_path_buf(), line, key: name, near });
        };
        let value = value.into_inner();
        let text = fitting(setting.kind(), &value).ok_or_else(|| ConfigError::Value {
            place: format!("{}:{line}", path.display()),
            name: setting.name,
            value: shown(&value),
            expected: setting.field.expected(),
        })?;
        settings.push(FromFile { setting, line, text });
    }
    settings.sort_by_key(|setting| setting.line);
    Ok(settings)
}

/// The value as the text that settings read, if it is a scalar.
fn fitting(kind: Kind, value: &DeValue<'_>) -> Option<String> {
    match (kind, value) {
        (Kind::Count | Kind::Size, DeValue::Integer(number)) if number.radix() == 10 => Some(number.as_str().to_string()),
        (Kind::Time, DeValue::Integer(number)) if number.as_str() == "0" => Some("0".to_string()),
        (Kind::Switch, DeValue::Boolean(switch)) => Some(switch.to_string()),
        (Kind::Address | Kind::Size | Kind::Time | Kind::Path | Kind::Url | Kind::Text, DeValue::String(text)) => Some(text.to_string()),
        _ => None,
    }
}

fn shown(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("the text \"{text}\""),
        DeValue::Integer(number) => format!("the number {}", number.as_str()),
        DeValue::Float(number) => format!("the number {}", number.as_str()),
        DeValue::Boolean(switch) => switch.to_string(),
        DeValue::Datetime(time) => format!("the time {time}"),
        DeValue::Array(_) => "a list".to_string(),
        DeValue::Table(_) => "a section".to_string(),
    }
}
