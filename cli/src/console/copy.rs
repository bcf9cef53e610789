//! `\copy`: COPY with the files of this machine, also on a server.

use std::path::Path;

use super::{Console, Destination};
use crate::copy_command::{self, CopyFile, Direction};
use crate::errors::{CliError, Result, ScriptPosition};
use crate::output::Format;
use crate::session::Copying;
use crate::units;

impl Console {
    pub(super) fn copy(&mut self, text: &str) -> Result<()> {
        let copy = copy_command::parse(text).map_err(CliError::message)?;
        let path = match (&copy.file, copy.direction) {
            (CopyFile::Path(path), _) => path,
            (CopyFile::Standard, Direction::From) => return Err(CliError::message("\\copy reads a file, and not standard input")),
            (CopyFile::Standard, Direction::To) => return self.write_rows(&copy.query(), Destination::Screen, Some(Format::Csv)),
        };
        let session = self.session();
        match session.copy(&copy, path)? {
            Copying::Statement(sql) => self.run_statement(&sql, ScriptPosition::default()),
            Copying::Query(sql) => self.write_rows(&sql, Destination::single(Path::new(path))?, None),
            Copying::Ingest(work) => {
                let rows = self.wait(work)?;
                match self.settings.shows_footer() {
                    true => self.say(&format!("COPY ({})", units::counted(rows, "row"))),
                    false => Ok(()),
                }
            }
        }
    }

    /// Writes the rows of a query to `destination`. Without a format, the suffix of its file decides.
    fn write_rows(&mut self, sql: &str, destination: Destination, format: Option<Format>) -> Result<()> {
        let destination = std::mem::replace(&mut self.destination, destination);
        let format = std::mem::replace(&mut self.settings.format, format);
        let result = self.run_statement(sql, ScriptPosition::default());
        self.destination = destination;
        self.settings.format = format;
        result
    }
}
