//! A Markdown table for GitHub. It is written row by row, so its columns are not padded.

use std::io::Write;

use engine::{RecordBatch, SchemaRef};

use super::ResultWriter;
use super::cells::{Cells, harmless, is_number};
use crate::errors::Result;

pub struct MarkdownWriter {
    schema: SchemaRef,
    has_header: bool,
}

impl MarkdownWriter {
    pub fn new(schema: &SchemaRef) -> Self {
        MarkdownWriter { schema: schema.clone(), has_header: false }
    }

    fn header(&mut self, out: &mut dyn Write) -> Result<()> {
        if std::mem::replace(&mut self.has_header, true) || self.schema.fields().is_empty() {
            return Ok(());
        }
        let fields = self.schema.fields();
        let names: Vec<String> = fields.iter().map(|field| escape(field.name())).collect();
        let lines: Vec<&str> = fields.iter().map(|field| if is_number(field.data_type()) { "---:" } else { "---" }).collect();
        writeln!(out, "| {} |", names.join(" | "))?;
        writeln!(out, "| {} |", lines.join(" | "))?;
        Ok(())
    }
}

impl ResultWriter for MarkdownWriter {
    fn write(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<()> {
        self.header(out)?;
        let cells = Cells::new(batch)?;
        let mut text = String::new();
        for row in 0..batch.num_rows() {
            for column in 0..batch.num_columns() {
                let value = match cells.read(row, column, &mut text) {
                    true => escape(&text),
                    false => "NULL".to_string(),
                };
                write!(out, "| {value} ")?;
            }
            writeln!(out, "|")?;
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<u64> {
        self.header(out)?;
        Ok(0)
    }
}

fn escape(text: &str) -> String {
    let lines = text.replace('\\', "\\\\").replace('|', "\\|").replace('\n', "<br>");
    harmless(&lines, true)
}
