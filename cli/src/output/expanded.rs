//! `\x`: one line per column, for rows too wide to read.

use std::io::Write;

use engine::{RecordBatch, SchemaRef};

use super::cells::{Cells, harmless};
use super::{Layout, ResultWriter};
use crate::errors::Result;

pub struct ExpandedWriter {
    names: Vec<String>,
    width: usize,
    layout: Layout,
    record: u64,
    hidden: u64,
}

impl ExpandedWriter {
    pub fn new(schema: &SchemaRef, layout: Layout) -> Self {
        let names: Vec<String> = schema.fields().iter().map(|f| harmless(f.name(), true)).collect();
        let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        ExpandedWriter { names, width, layout, record: 0, hidden: 0 }
    }
}

impl ResultWriter for ExpandedWriter {
    fn write(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<()> {
        let cells = Cells::new(batch)?;
        let mut text = String::new();
        for row in 0..batch.num_rows() {
            if self.layout.rows_max.is_some_and(|max| self.record >= max as u64) {
                self.hidden += (batch.num_rows() - row) as u64;
                break;
            }
            self.record += 1;
            let title = format!("-[ RECORD {} ]", self.record);
            writeln!(out, "{title:-<width$}", width = self.width + 20)?;
            for (column, name) in self.names.iter().enumerate() {
                let value = match cells.read(row, column, &mut text) {
                    true => harmless(&text, false),
                    false => self.layout.null.clone(),
                };
                let mut lines = value.split('\n');
                let first = lines.next().unwrap_or_default();
                writeln!(out, "{name:width$} | {first}", width = self.width)?;
                for line in lines {
                    writeln!(out, "{:width$} | {line}", "", width = self.width)?;
                }
            }
        }
        Ok(())
    }

    fn finish(&mut self, _out: &mut dyn Write) -> Result<u64> {
        Ok(self.hidden)
    }
}
