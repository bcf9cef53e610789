//! Errors of settings, with their source.

use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("the configuration file {} cannot be read: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{}:{line}: {message}", path.display())]
    Syntax { path: PathBuf, line: usize, message: String },
    #[error("{}:{line}: there is no setting \"{key}\"{}", path.display(), suggested(near))]
    Unknown { path: PathBuf, line: usize, key: String, near: Option<String> },
    /// `place` is a line of a file, a flag or a variable.
    #[error("{}: {expected} is expected, and not {value}", with_place(place, name))]
    Value { place: String, name: &'static str, value: String, expected: String },
}

/// The source, with the name of the setting unless the flag or the variable already shows it.
fn with_place(place: &str, name: &str) -> String {
    let is_named = place.trim_start_matches("--").replace('-', "_").to_ascii_lowercase().ends_with(name);
    if is_named { place.to_string() } else { format!("{place}: {name}") }
}

fn suggested(near: &Option<String>) -> String {
    near.as_ref().map_or_else(|| "; docs/server.md lists them".to_string(), |near| format!("; did you mean \"{near}\"?"))
}
