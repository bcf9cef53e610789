//! The settings of `\pset`, `\x`, `\timing` and the command line.

use std::io::{self, IsTerminal};

use terminal_size::{Width, terminal_size};

use crate::errors::{CliError, Result, uses_colors};
use crate::meta_command::parse_switch;
use crate::output::{Format, Layout};

/// The number of rows of a long result that a terminal shows.
const ROWS_MAX: usize = 40;

#[derive(Clone)]
pub struct Settings {
    /// `None`: a format that suits the destination.
    pub format: Option<Format>,
    pub expanded: bool,
    pub timing: bool,
    pub footer: Footer,
    pub null: String,
    /// 0 shows all rows.
    pub rows_max: usize,
    pub pager: bool,
    pub quiet: bool,
    /// Whether a person types the statements.
    pub interactive: bool,
    pub stdout_is_terminal: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Footer {
    /// Whether the output is a terminal.
    Auto,
    On,
    Off,
}

impl Settings {
    /// What `\pset` sets.
    pub const NAMES: [&'static str; 6] = ["format", "null", "pager", "footer", "maxrows", "expanded"];

    pub fn new(interactive: bool) -> Self {
        Settings {
            format: None,
            expanded: false,
            timing: false,
            footer: Footer::Auto,
            null: "NULL".to_string(),
            rows_max: ROWS_MAX,
            pager: interactive,
            quiet: false,
            interactive,
            stdout_is_terminal: io::stdout().is_terminal(),
        }
    }

    pub fn shows_footer(&self) -> bool {
        match self.footer {
            Footer::Auto => self.stdout_is_terminal && !self.quiet,
            Footer::On => true,
            Footer::Off => false,
        }
    }

    pub fn shows_progress(&self) -> bool {
        io::stderr().is_terminal() && !self.quiet
    }

    pub fn format_on_screen(&self) -> Format {
        self.format.unwrap_or(match self.stdout_is_terminal {
            true => Format::Box,
            false => Format::Table,
        })
    }

    /// The layout for stdout. Only output for people is coloured and truncated.
    pub fn layout_on_screen(&self) -> Layout {
        let terminal = self.stdout_is_terminal;
        let is_box = self.format_on_screen() == Format::Box;
        let is_cut = terminal && is_box && self.rows_max > 0;
        let width = || terminal_size().filter(|_| terminal).map(|(Width(width), _)| width);
        Layout {
            null: self.null.clone(),
            color: uses_colors(&io::stdout()),
            expanded: self.expanded,
            rows_max: is_cut.then_some(self.rows_max),
            width_max: if self.pager { None } else { width() },
            narrow_max: if is_box { width() } else { None },
        }
    }

    pub fn layout_in_file(&self) -> Layout {
        let null = self.null.clone();
        Layout { null, color: false, expanded: self.expanded, rows_max: None, width_max: None, narrow_max: None }
    }

    /// `\pset name value`; without a value a switch is toggled. Returns the new state.
    pub fn set(&mut self, name: &str, value: Option<&str>) -> Result<String> {
        let switch = |now: bool| match value {
            None => Ok(!now),
            Some(value) => parse_switch(name, value).map_err(CliError::message),
        };
        match name {
            "format" => {
                if let Some(value) = value {
                    self.format = Some(parse_format(value)?);
                }
            }
            "null" => self.null = value.unwrap_or_default().to_string(),
            "pager" => self.pager = switch(self.pager)?,
            "expanded" | "x" => self.expanded = switch(self.expanded)?,
            "footer" => {
                self.footer = match switch(self.shows_footer())? {
                    true => Footer::On,
                    false => Footer::Off,
                }
            }
            "maxrows" => {
                let Some(rows_max) = value.and_then(|value| value.parse().ok()) else {
                    return Err(CliError::message("maxrows takes a number; 0 shows all rows"));
                };
                self.rows_max = rows_max;
            }
            _ => {
                return Err(CliError::with_hint(
                    format!("there is no setting '{name}'"),
                    "format, null, pager, footer, maxrows and expanded can be set",
                ));
            }
        }
        Ok(self.describe(name))
    }

    fn describe(&self, name: &str) -> String {
        let on = |switch: bool| if switch { "on" } else { "off" };
        let value = match name {
            "format" => self.format_on_screen().name(),
            "null" => format!("'{}'", self.null),
            "pager" => on(self.pager).to_string(),
            "footer" => on(self.shows_footer()).to_string(),
            "maxrows" => self.rows_max.to_string(),
            _ => on(self.expanded).to_string(),
        };
        format!("{name} is {value}")
    }

    pub fn describe_all(&self) -> Vec<String> {
        Self::NAMES.iter().map(|name| self.describe(name)).collect()
    }
}

pub fn parse_format(name: &str) -> Result<Format> {
    use clap::ValueEnum;
    Format::from_str(name, true).map_err(|_| {
        let names: Vec<String> = Format::value_variants().iter().map(|f| f.name()).collect();
        CliError::with_hint(format!("there is no format '{name}'"), format!("the formats are {}", names.join(", ")))
    })
}
