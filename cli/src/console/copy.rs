//! `\copy`: COPY with the files of this machine, also on a server.

use std::path::Path;

use super::{Console, Destination};
use crate::commands::import;
use crate::copy_command::{self, CopyFile, Direction};
use crate::errors::{CliError, Result, ScriptPosition};
use crate::output::Format;
use crate::units;

impl Console {
    pub(super) fn copy(&mut self, text: &str) -> Result<()> {
        let copy = copy_command::parse(text).map_err(CliError::message)?;
        let session = self.session();
        match (copy.direction, copy.file, session.server()) {
            (Direction::From, CopyFile::Standard, _) => Err(CliError::message("\\copy reads a file, and not standard input")),
            (Direction::To, CopyFile::Standard, _) => self.write_rows(&copy.relation, Destination::Screen, Some(Format::Csv)),
            (direction, CopyFile::Path(path), None) => {
                let word = if direction == Direction::From { "FROM" } else { "TO" };
                let sql = format!("COPY {} {word} '{}' {}", copy.relation, path.replace('\'', "''"), copy.options);
                self.run_statement(&sql, ScriptPosition::default())
            }
            (_, CopyFile::Path(_), Some(_)) if !copy.options.is_empty() => Err(CliError::with_hint(
                "\\copy has no options on a server",
                "the suffix of the file decides the format; quiver import --connect URI has options",
            )),
            (Direction::To, CopyFile::Path(path), Some(_)) => self.write_rows(&copy.relation, Destination::single(Path::new(&path))?, None),
            (Direction::From, CopyFile::Path(path), Some(server)) => {
                let rows = self.wait(import::append(server, &copy.relation, path))?;
                match self.settings.shows_footer() {
                    true => self.say(&format!("COPY ({})", units::counted(rows, "row"))),
                    false => Ok(()),
                }
            }
        }
    }

    /// Writes a table or a query in parentheses to `destination`. Without a format, the suffix of its file decides.
    fn write_rows(&mut self, relation: &str, destination: Destination, format: Option<Format>) -> Result<()> {
        let query = relation.strip_prefix('(').and_then(|relation| relation.strip_suffix(')'));
        let sql = query.map_or_else(|| format!("SELECT * FROM {relation}"), str::to_string);
        let destination = std::mem::replace(&mut self.destination, destination);
        let format = std::mem::replace(&mut self.settings.format, format);
        let result = self.run_statement(&sql, ScriptPosition::default());
        self.destination = destination;
        self.settings.format = format;
        result
    }
}
