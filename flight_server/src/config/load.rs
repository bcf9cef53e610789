//! Makes the configuration: a flag overrides a variable, and a variable overrides the file.

use std::fmt;
use std::path::PathBuf;

use engine::nearest;

use super::Config;
use super::error::ConfigError;
use super::file::read_file;
use super::settings::{SETTINGS, Setting};

/// The sources of settings.
#[derive(Debug, Clone, Default)]
pub struct SettingSource {
    /// Names of settings with their values as text.
    pub flags: Vec<(&'static str, String)>,
    /// Environment variables. Those that belong to no setting are ignored.
    pub variables: Vec<(String, String)>,
    pub file: Option<PathBuf>,
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    Default,
    File { path: PathBuf, line: usize },
    Variable,
    Flag,
}

const PREFIX: &str = "QUIVER_";

/// The variable of a setting.
pub fn variable(name: &str) -> String {
    format!("{PREFIX}{}", name.to_ascii_uppercase())
}

impl Config {
    pub fn load(sources: &SettingSource) -> Result<Config, ConfigError> {
        let mut config = Config::default();
        if let Some(path) = &sources.file {
            for entry in read_file(path)? {
                let place = format!("{}:{}", path.display(), entry.line);
                config.set(entry.setting, &entry.text, &place, Source::File { path: path.clone(), line: entry.line })?;
            }
        }
        for setting in SETTINGS {
            let name = variable(setting.name);
            // An empty variable counts as unset: some tools unset one that way.
            let from_environment = sources.variables.iter().find(|(key, value)| *key == name && !value.is_empty());
            if let Some((_, value)) = from_environment {
                config.set(setting, value, &name, Source::Variable)?;
            }
            if let Some((_, value)) = sources.flags.iter().find(|(key, _)| *key == setting.name) {
                config.set(setting, value, &format!("--{}", setting.flag()), Source::Flag)?;
            }
        }
        Ok(config)
    }

    fn set(&mut self, setting: &'static Setting, text: &str, place: &str, source: Source) -> Result<(), ConfigError> {
        setting.field.read(text, self).ok_or_else(|| ConfigError::Value {
            place: place.to_string(),
            name: setting.name,
            value: format!("\"{text}\""),
            expected: setting.field.expected(),
        })?;
        self.sources.insert(setting.name, source);
        Ok(())
    }

    pub fn source(&self, name: &str) -> Source {
        self.sources.get(name).cloned().unwrap_or(Source::Default)
    }
}

impl SettingSource {
    /// Variables with names similar to that of a setting, each with the setting's variable.
    pub fn doubtful_variables(&self) -> Vec<(String, String)> {
        let setting_variables: Vec<String> =
            SETTINGS.iter().map(|setting| variable(setting.name)).chain([format!("{PREFIX}CONFIG")]).collect();
        let ours = self.variables.iter().map(|(name, _)| name).filter(|name| name.starts_with(PREFIX) && !setting_variables.contains(name));
        // Compared without their common prefix, which would make any two similar.
        let bare = |name: &str| name.strip_prefix(PREFIX).unwrap_or(name).to_string();
        let names: Vec<String> = setting_variables.iter().map(|name| bare(name)).collect();
        let near = |name: &String| {
            let near = nearest(&bare(name), names.iter().map(String::as_str))?;
            Some((name.clone(), format!("{PREFIX}{near}")))
        };
        ours.filter_map(near).collect()
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Default => f.write_str("default"),
            Source::File { path, line } => write!(f, "{}:{line}", path.display()),
            Source::Variable => f.write_str("environment"),
            Source::Flag => f.write_str("flag"),
        }
    }
}
