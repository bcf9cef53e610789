//! Runs the backslash commands.

use std::fs::File;
use std::io::{BufReader, Write};
use std::path::Path;
use std::process::Command;

use super::settings::parse_format;
use super::{Console, Destination, Flow, stdout};
use crate::errors::{CliError, Result, ScriptPosition};
use crate::meta_command::{HELP, Meta};
use crate::{history, sql_help};

/// The depth of included files that counts as a cycle.
const INCLUDE_DEPTH_MAX: usize = 16;

impl Console {
    pub fn run_meta(&mut self, meta: Meta) -> Result<Flow> {
        match meta {
            Meta::Quit => return Ok(Flow::Leave),
            Meta::Include(path) => return self.include(&path),
            Meta::Edit => return self.edit_last(),
            Meta::Again { file, expanded } => self.run_again(file.as_deref(), expanded)?,
            Meta::Watch { pause, times } => self.watch(pause, times)?,
            Meta::Print => {
                let (sql, _) = self.last()?;
                self.say(&sql)?;
            }
            // The statement that was not finished is gone.
            Meta::Reset => {}
            Meta::Copy(text) => self.copy(&text)?,
            Meta::Set(None) => self.say(&self.variables.list())?,
            Meta::Set(Some((name, value))) => self.variables.set(name, Some(value)).map_err(CliError::message)?,
            Meta::Unset(name) => self.variables.set(name, None).map_err(CliError::message)?,
            Meta::Describe(table) => self.describe(&table)?,
            Meta::List { kind, pattern } => self.list(kind, pattern.as_deref())?,
            Meta::Connection => self.show_store()?,
            Meta::Output(path) => {
                self.destination = match path {
                    Some(path) => Destination::file(Path::new(&path))?,
                    None => Destination::Screen,
                }
            }
            Meta::Shell(command) => self.run_program(&command)?,
            Meta::ChangeDirectory(directory) => change_directory(&directory)?,
            Meta::Echo(text) => self.say(&self.variables.expand(&text))?,
            Meta::Help => self.say(&help())?,
            Meta::SqlHelp(topic) => self.sql_help(topic.as_deref())?,
            Meta::History => self.show_history()?,
            meta @ (Meta::Format(_) | Meta::Pset(_) | Meta::Timing(_) | Meta::Expanded(_)) => self.change_setting(meta)?,
        }
        Ok(Flow::Continue)
    }

    fn change_setting(&mut self, meta: Meta) -> Result<()> {
        let confirmation = match meta {
            Meta::Format(Some(name)) => {
                self.settings.format = Some(parse_format(&name)?);
                format!("format is {}", self.settings.format_on_screen().name())
            }
            Meta::Format(None) => return self.say(&self.settings.format_on_screen().name()),
            Meta::Pset(None) => return self.say(&self.settings.describe_all().join("\n")),
            Meta::Pset(Some((name, value))) => self.settings.set(&name, value.as_deref())?,
            Meta::Expanded(None) => self.settings.set("expanded", None)?,
            Meta::Expanded(Some(on)) => self.settings.set("expanded", Some(if on { "on" } else { "off" }))?,
            Meta::Timing(switch) => {
                self.settings.timing = switch.unwrap_or(!self.settings.timing);
                format!("timing is {}", if self.settings.timing { "on" } else { "off" })
            }
            _ => return Ok(()),
        };
        // A program that reads the output does not expect this line.
        match self.settings.interactive && !self.settings.quiet {
            true => self.say(&confirmation),
            false => Ok(()),
        }
    }

    pub fn say(&self, text: &str) -> Result<()> {
        let mut screen = stdout();
        writeln!(screen, "{}", text.trim_end_matches('\n'))?;
        Ok(screen.flush()?)
    }

    pub fn last(&self) -> Result<(String, ScriptPosition)> {
        let none = || CliError::message("there is no last statement yet");
        self.last_statement.clone().ok_or_else(none)
    }

    /// Runs the last statement once more, into a file or with a line per column if that is wanted.
    fn run_again(&mut self, file: Option<&str>, expanded: bool) -> Result<()> {
        let (sql, place) = self.last()?;
        let file = file.map(|file| Destination::file(Path::new(file))).transpose()?;
        let destination = file.map(|file| std::mem::replace(&mut self.destination, file));
        let expanded_before = self.settings.expanded;
        self.settings.expanded |= expanded;
        let result = self.run_statement(&sql, place);
        self.settings.expanded = expanded_before;
        if let Some(destination) = destination {
            self.destination = destination;
        }
        result
    }

    fn include(&mut self, path: &str) -> Result<Flow> {
        if self.include_depth >= INCLUDE_DEPTH_MAX {
            return Err(CliError::message(format!("{path}: too many files include each other")));
        }
        let file = File::open(path).map_err(|error| CliError::file(path, error))?;
        self.include_depth += 1;
        let result = self.run_script(BufReader::new(file), Some(path));
        self.include_depth -= 1;
        // `\q` in a file ends the file.
        result.map(|_| Flow::Continue)
    }

    fn run_program(&mut self, command: &str) -> Result<()> {
        let shell = std::env::var_os("SHELL").unwrap_or_else(|| "sh".into());
        let mut program = Command::new(shell);
        if !command.is_empty() {
            program.arg("-c").arg(command);
        }
        program.status().map_err(|error| CliError::file("\\!", error))?;
        Ok(())
    }

    fn sql_help(&self, topic: Option<&str>) -> Result<()> {
        match sql_help::text(topic) {
            Some(text) => self.say(&text),
            None => Err(CliError::with_hint(format!("there is no help on '{}'", topic.unwrap_or_default()), "\\h lists the statements")),
        }
    }

    fn show_history(&self) -> Result<()> {
        match history::read() {
            Some(text) => self.say(&text),
            None => Err(CliError::message("there is no history yet")),
        }
    }
}

fn help() -> String {
    let lines = HELP.iter().map(|(usage, meaning)| format!("  {usage:<24} {meaning}"));
    let mut lines: Vec<String> = lines.collect();
    lines.push(String::new());
    lines.push("A command may follow a statement: SELECT 1 \\gx. The dot commands of sqlite and DuckDB".into());
    lines.push("work too, such as .tables, .schema, .mode and .read.".into());
    lines.push("A statement ends with ; and may span lines. Tab completes, Ctrl-R searches".into());
    lines.push("the history, Ctrl-O edits in $EDITOR, Ctrl-C cancels, Ctrl-D leaves.".into());
    lines.join("\n")
}

fn change_directory(directory: &str) -> Result<()> {
    let target = match directory {
        "" => std::env::var("HOME").unwrap_or_else(|_| "/".to_string()),
        other => other.to_string(),
    };
    std::env::set_current_dir(&target).map_err(|error| CliError::file(target, error))
}
