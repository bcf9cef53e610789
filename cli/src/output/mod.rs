//! How results look: one writer per format, all fed batch by batch.

mod boxed;
mod cells;
mod csv;
mod expanded;
mod file;
mod grid;
mod ipc;
mod json;
mod markdown;
pub mod pager;
mod types;
mod window;

use std::io::Write;
use std::path::Path;

use clap::ValueEnum;
use engine::{RecordBatch, SchemaRef};

use crate::errors::Result;

pub use file::{FileWriter, file_format};
pub use types::type_name;

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
    /// The format a file name asks for.
    pub fn of_file(path: &Path) -> Option<Format> {
        let suffix = path.extension()?.to_str()?.to_ascii_lowercase();
        Some(match suffix.as_str() {
            "csv" => Format::Csv,
            "json" | "jsonl" | "ndjson" => Format::Json,
            "md" => Format::Markdown,
            "arrow" | "arrows" | "feather" | "ipc" => Format::Arrow,
            "parquet" => Format::Parquet,
            "txt" => Format::Table,
            _ => return None,
        })
    }

    pub fn name(self) -> String {
        let value = self.to_possible_value();
        value.map_or_else(String::new, |value| value.get_name().to_string())
    }

    /// For people: shows counts of changed rows and footers.
    pub fn is_for_people(self) -> bool {
        matches!(self, Format::Table | Format::Box)
    }
}

/// What the formats for people may vary.
#[derive(Clone)]
pub struct Layout {
    pub null: String,
    pub color: bool,
    pub expanded: bool,
    /// Show at most this many rows, the first and the last ones.
    pub rows_max: Option<usize>,
    /// Wrap cells so that the table is no wider than this.
    pub width_max: Option<u16>,
}

/// Takes the batches of one result. Bytes go to `out`, which the caller owns and flushes.
pub trait ResultWriter {
    fn write(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<()>;
    /// Ends the result and says how many rows were left out of sight.
    fn finish(&mut self, out: &mut dyn Write) -> Result<u64>;
    /// True when nothing is written before `finish`, so that a progress line does no harm.
    fn holds_back(&self) -> bool {
        false
    }
}

/// The writer for a result that goes to a screen, a pipe or a text file.
pub fn writer(format: Format, schema: &SchemaRef, layout: &Layout) -> Result<Box<dyn ResultWriter>> {
    Ok(match format {
        Format::Table | Format::Box if layout.expanded => {
            Box::new(expanded::ExpandedWriter::new(schema, layout.clone()))
        }
        Format::Table => Box::new(boxed::TableWriter::new(schema, grid::ASCII, layout.clone())),
        Format::Box => Box::new(boxed::TableWriter::new(schema, grid::LINES, layout.clone())),
        Format::Csv => Box::new(csv::CsvWriter::new(schema)),
        Format::Json => Box::new(json::JsonWriter::new()),
        Format::Markdown => Box::new(markdown::MarkdownWriter::new(schema)),
        Format::Arrow => Box::new(ipc::ArrowWriter::new(schema)?),
        Format::Parquet => return Err(file::needs_file()),
    })
}
