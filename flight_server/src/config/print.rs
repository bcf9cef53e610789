//! Writes the settings as an equivalent file, with the source of each.

use std::fmt::Write;

use super::Config;
use super::field::Kind;
use super::settings::SETTINGS;

const COMMENT_COLUMN: usize = 48;

impl Config {
    pub fn printed(&self) -> String {
        let mut config = self.clone();
        let mut text = String::from("# What quiver serve is set to, and where each value comes from.\n");
        for setting in SETTINGS {
            let source = self.source(setting.name);
            let (line, comment) = match setting.field.shown(&mut config) {
                Some(value) => (format!("{} = {}", setting.name, in_toml(setting.kind(), &value)), source.to_string()),
                None => (format!("# {} is not set", setting.name), format!("{source}: {}", setting.unset)),
            };
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{line:<COMMENT_COLUMN$} # {comment}");
        }
        text
    }
}

fn in_toml(kind: Kind, value: &str) -> String {
    match kind {
        Kind::Count | Kind::Switch => value.to_string(),
        _ => toml::Value::String(value.to_string()).to_string(),
    }
}
