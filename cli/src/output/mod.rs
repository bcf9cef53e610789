//! The formats of results: one writer per format. Each takes the result batch by batch.

mod boxed;
mod cells;
mod expanded;
mod exported;
mod grid;
mod lists;
mod markdown;
pub mod pager;
mod plan;
mod window;

use std::io::Write;
use std::path::Path;

use clap::ValueEnum;
use engine::export::ExportTarget;
use engine::import::FileFormat;
use engine::{RecordBatch, SchemaRef};

use crate::errors::{CliError, Result};

pub use exported::{ExportWriter, file_format};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// ASCII lines
    Table,
    /// Box-drawing lines, with the types of the columns
    Box,
    /// RFC 4180 with a header; NULL is empty, an empty string is ""
    Csv,
    /// One JSON object per line
    Json,
    Markdown,
    /// Arrow IPC: a stream on stdout, a file with -o
    Arrow,
    /// Needs -o
    Parquet,
}

impl Format {
    /// The format for the suffix of a file name.
    pub fn of_file(path: &Path) -> Option<Format> {
        if path.extension().is_some_and(|suffix| suffix.eq_ignore_ascii_case("md")) {
            return Some(Format::Markdown);
        }
        ExportTarget::of(path, None).ok().map(|target| match target.format {
            FileFormat::Parquet => Format::Parquet,
            FileFormat::Csv => Format::Csv,
            FileFormat::Json => Format::Json,
            FileFormat::Arrow => Format::Arrow,
        })
    }

    pub fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_string())
    }
}

/// The options of the formats for people.
#[derive(Clone)]
pub struct Layout {
    pub null: String,
    pub color: bool,
    pub expanded: bool,
    /// Show at most this many rows, the first and the last ones.
    pub rows_max: Option<usize>,
    /// Wrap cells so that the table is no wider than this, if `narrow_max` did not do it.
    pub width_max: Option<u16>,
    /// Cut texts and leave out columns in the middle, so that the table is no wider than this.
    pub narrow_max: Option<u16>,
}

/// Takes the batches of one result. Bytes go to `out`, which the caller owns and flushes.
pub trait ResultWriter {
    fn write(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<()>;
    /// Ends the result and returns the number of rows that were not shown.
    fn finish(&mut self, out: &mut dyn Write) -> Result<u64>;
    /// Whether nothing is written before `finish`, so that a progress line does no harm.
    fn holds_back(&self) -> bool {
        false
    }
    /// Whether a batch may be split without a visible effect on the result.
    fn takes_pieces(&self) -> bool {
        true
    }
}

/// The writer for a result that goes to a screen, a pipe or a text file.
pub fn writer(format: Format, schema: &SchemaRef, layout: &Layout) -> Result<Box<dyn ResultWriter>> {
    if format == Format::Parquet {
        return Err(CliError::with_hint("Parquet can only be written to a file", "add -o FILE, or use \\o FILE in the shell"));
    }
    if let Some(format) = file_format(format) {
        return Ok(Box::new(ExportWriter::stream(format, schema)?));
    }
    Ok(match format {
        Format::Table | Format::Box if plan::is_plan(schema) => Box::new(plan::PlanWriter),
        Format::Table | Format::Box if layout.expanded => Box::new(expanded::ExpandedWriter::new(schema, layout.clone())),
        Format::Table => Box::new(boxed::TableWriter::new(schema, grid::ASCII, layout.clone())),
        Format::Box => Box::new(boxed::TableWriter::new(schema, grid::LINES, layout.clone())),
        _ => Box::new(markdown::MarkdownWriter::new(schema)),
    })
}
