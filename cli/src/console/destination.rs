//! The destination of results: the screen, or the file of `-o` and `\o`.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};

use engine::SchemaRef;
use engine::import::FileFormat;

use super::settings::Settings;
use crate::errors::{CliError, Result};
use crate::output::{self, ExportWriter, Format, ResultWriter, file_format};

pub enum Destination {
    Screen,
    File(OutputFile),
}

/// A file for the results of all statements, one after the other.
pub struct OutputFile {
    path: PathBuf,
    /// Opened by the first result, so that a failing statement leaves no empty file behind.
    file: Option<BufWriter<File>>,
    /// A file for one result, which appears under its name when the result is complete.
    is_single: bool,
    is_full: bool,
}

impl Destination {
    /// A destination for the results of any number of statements.
    pub fn file(path: &Path) -> Result<Self> {
        Self::open(path, false)
    }

    /// A destination for one result, which is written completely or not at all.
    pub fn single(path: &Path) -> Result<Self> {
        Self::open(path, true)
    }

    fn open(path: &Path, is_single: bool) -> Result<Self> {
        // `\cd` must not move the file.
        let path = std::path::absolute(path).map_err(|error| CliError::file(path.display(), error))?;
        Ok(Destination::File(OutputFile { path, file: None, is_single, is_full: false }))
    }
}

impl OutputFile {
    pub fn format(&self, settings: &Settings) -> Format {
        let by_name = || Format::of_file(&self.path);
        settings.format.or_else(by_name).unwrap_or(Format::Table)
    }

    /// Only uncompressed text formats can be appended to.
    fn single_format(&self, settings: &Settings) -> Option<FileFormat> {
        let format = file_format(self.format(settings))?;
        let suffix = self.path.extension().unwrap_or_default().to_ascii_lowercase();
        let is_packed = ["gz", "gzip", "zst", "zstd"].iter().any(|packed| suffix == *packed);
        let is_text = matches!(format, FileFormat::Csv | FileFormat::Json);
        (self.is_single || is_packed || !is_text).then_some(format)
    }

    /// A writer for the next result.
    pub fn writer(&mut self, settings: &Settings, schema: &SchemaRef) -> Result<Box<dyn ResultWriter>> {
        let Some(format) = self.single_format(settings) else {
            return output::writer(self.format(settings), schema, &settings.layout_in_file());
        };
        if std::mem::replace(&mut self.is_full, true) {
            return Err(CliError::with_hint(
                format!("{} holds one result already", self.path.display()),
                format!("write the next one, as {format}, to a file of its own"),
            ));
        }
        Ok(Box::new(ExportWriter::file(&self.path, format, schema)?))
    }

    /// The sink for the bytes of a text format.
    pub fn sink(&mut self, settings: &Settings) -> Result<Option<&mut BufWriter<File>>> {
        if self.single_format(settings).is_some() {
            return Ok(None);
        }
        if self.file.is_none() {
            let failed = |error| CliError::file(self.path.display(), error);
            self.file = Some(BufWriter::new(File::create(&self.path).map_err(failed)?));
        }
        Ok(self.file.as_mut())
    }
}
