//! CSV as RFC 4180 has it. NULL is an empty field and an empty string is `""`, so that the two
//! stay apart when the file is read again.

use std::io::Write;

use engine::{RecordBatch, SchemaRef};

use super::ResultWriter;
use super::cells::Cells;
use crate::errors::Result;

pub struct CsvWriter {
    names: Vec<String>,
    has_header: bool,
    line: String,
}

impl CsvWriter {
    pub fn new(schema: &SchemaRef) -> Self {
        let names = schema.fields().iter().map(|field| field.name().clone()).collect();
        CsvWriter { names, has_header: false, line: String::new() }
    }

    fn header(&mut self, out: &mut dyn Write) -> Result<()> {
        if std::mem::replace(&mut self.has_header, true) {
            return Ok(());
        }
        self.line.clear();
        for (index, name) in self.names.iter().enumerate() {
            if index > 0 {
                self.line.push(',');
            }
            push_field(&mut self.line, name);
        }
        self.line.push('\n');
        Ok(out.write_all(self.line.as_bytes())?)
    }
}

impl ResultWriter for CsvWriter {
    fn write(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<()> {
        self.header(out)?;
        let cells = Cells::new(batch)?;
        let mut text = String::new();
        for row in 0..batch.num_rows() {
            self.line.clear();
            for column in 0..batch.num_columns() {
                if column > 0 {
                    self.line.push(',');
                }
                if cells.read(row, column, &mut text) {
                    push_field(&mut self.line, &text);
                }
            }
            self.line.push('\n');
            out.write_all(self.line.as_bytes())?;
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<u64> {
        if !self.names.is_empty() {
            self.header(out)?;
        }
        Ok(0)
    }
}

fn push_field(line: &mut String, text: &str) {
    if !text.is_empty() && !text.contains([',', '"', '\n', '\r']) {
        line.push_str(text);
        return;
    }
    line.push('"');
    line.push_str(&text.replace('"', "\"\""));
    line.push('"');
}
