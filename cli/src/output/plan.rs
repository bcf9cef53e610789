//! EXPLAIN: plans are texts with their own indentation, and far too wide for a cell.

use std::io::Write;

use engine::{RecordBatch, SchemaRef};

use super::ResultWriter;
use super::cells::{Cells, harmless};
use crate::errors::Result;

pub struct PlanWriter;

/// Whether a result has the columns of EXPLAIN.
pub fn is_plan(schema: &SchemaRef) -> bool {
    let names = schema.fields().iter().map(|field| field.name().as_str());
    names.eq(["plan_type", "plan"])
}

impl ResultWriter for PlanWriter {
    fn write(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<()> {
        let cells = Cells::new(batch)?;
        let mut text = String::new();
        for row in 0..batch.num_rows() {
            cells.read(row, 0, &mut text);
            writeln!(out, "{}:", harmless(&text, true))?;
            cells.read(row, 1, &mut text);
            for line in harmless(text.trim_end(), false).lines() {
                writeln!(out, "  {line}")?;
            }
        }
        Ok(())
    }

    fn finish(&mut self, _out: &mut dyn Write) -> Result<u64> {
        Ok(0)
    }
}
