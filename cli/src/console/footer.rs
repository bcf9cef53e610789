//! The lines after a result: rows, time, and bytes that were read in place and returned.

use std::io::Write;

use nu_ansi_term::Style;

use super::settings::Settings;
use crate::errors::{Result, uses_colors};
use crate::lexer::{self, Kind};
use crate::units;

pub struct Summary {
    /// `CREATE TABLE`, `SET`: for statements without a result.
    pub tag: String,
    pub has_rows: bool,
    pub is_write: bool,
    pub rows: u64,
    pub rows_hidden: u64,
    pub elapsed_ms: f64,
    pub report: String,
}

impl Summary {
    pub fn write(&self, settings: &Settings, out: &mut dyn Write) -> Result<()> {
        if settings.shows_footer() {
            let style = match uses_colors(&std::io::stdout()) {
                true => Style::new().dimmed(),
                false => Style::new(),
            };
            writeln!(out, "{}", style.paint(self.line()))?;
        }
        if settings.timing {
            // Programs parse it: it is always in milliseconds and on a line of its own.
            writeln!(out, "Time: {:.3} ms", self.elapsed_ms)?;
        }
        Ok(())
    }

    fn line(&self) -> String {
        let time = units::duration(self.elapsed_ms);
        let rows = units::counted(self.rows, "row");
        if self.is_write {
            return format!("{} ({rows}, {time}) {}", self.tag, self.report);
        }
        if !self.has_rows {
            return format!("{} ({time})", self.tag);
        }
        let shown = match self.rows_hidden {
            0 => String::new(),
            hidden => format!(", {} shown", units::count(self.rows.saturating_sub(hidden))),
        };
        format!("({rows}{shown}, {time}) {}", self.report)
    }
}

/// The name of a statement.
pub fn tag(sql: &str) -> String {
    let words = |count: usize| {
        let tokens = lexer::tokens(sql);
        let words = tokens.iter().filter(|token| token.kind == Kind::Word).take(count);
        words.map(|token| sql[token.start..token.end].to_ascii_uppercase()).collect::<Vec<_>>()
    };
    let first = words(4);
    let what = |word: &&String| matches!(word.as_str(), "TABLE" | "VIEW" | "SCHEMA" | "DATABASE");
    match (first.first(), first.iter().skip(1).find(what)) {
        (Some(verb), Some(what)) if matches!(verb.as_str(), "CREATE" | "DROP" | "ALTER") => {
            format!("{verb} {what}")
        }
        (Some(verb), _) => verb.clone(),
        (None, _) => "OK".to_string(),
    }
}
