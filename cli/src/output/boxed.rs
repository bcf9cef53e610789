//! `box` and `table`: a grid of cells, for people.

use std::io::Write;

use engine::{RecordBatch, SchemaRef};

use super::grid::{Grid, Look};
use super::window::RowWindow;
use super::{Layout, ResultWriter};
use crate::errors::Result;

/// Rows drawn at a time when all are wanted: enough to find good widths, little to hold.
const PIECE_ROWS: usize = 1_000;

pub struct TableWriter {
    grid: Grid,
    columns: usize,
    keep: Keep,
}

enum Keep {
    /// Both ends of the result; drawn when it is complete.
    Ends(RowWindow),
    /// Everything, drawn piece by piece. Holds what is not drawn yet.
    All(Vec<RecordBatch>, usize),
}

impl TableWriter {
    pub fn new(schema: &SchemaRef, look: Look, layout: Layout) -> Self {
        let keep = match layout.rows_max {
            Some(rows_max) => Keep::Ends(RowWindow::new(rows_max)),
            None => Keep::All(Vec::new(), 0),
        };
        let columns = schema.fields().len();
        TableWriter {
            grid: Grid::new(schema, look, layout),
            columns,
            keep,
        }
    }

    fn draw_ends(&mut self, out: &mut dyn Write) -> Result<u64> {
        let Keep::Ends(window) = &self.keep else {
            return Ok(0);
        };
        let mut rows = Vec::new();
        for batch in window.head() {
            rows.extend(self.grid.rows(batch)?);
        }
        let hidden = window.hidden();
        if hidden > 0 {
            rows.push(self.grid.gap());
        }
        for batch in window.tail() {
            rows.extend(self.grid.rows(&batch)?);
        }
        self.grid.draw(rows, true, out)?;
        Ok(hidden)
    }

    fn draw_pending(&mut self, is_last: bool, out: &mut dyn Write) -> Result<()> {
        let Keep::All(pending, pending_rows) = &mut self.keep else {
            return Ok(());
        };
        let batches = std::mem::take(pending);
        *pending_rows = 0;
        let mut rows = Vec::new();
        for batch in &batches {
            let mut start = 0;
            while start < batch.num_rows() {
                if rows.len() >= PIECE_ROWS {
                    self.grid.draw(std::mem::take(&mut rows), false, out)?;
                }
                let length = (batch.num_rows() - start).min(PIECE_ROWS - rows.len());
                rows.extend(self.grid.rows(&batch.slice(start, length))?);
                start += length;
            }
        }
        self.grid.draw(rows, is_last, out)
    }
}

impl ResultWriter for TableWriter {
    fn write(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<()> {
        match &mut self.keep {
            Keep::Ends(window) => window.push(batch),
            Keep::All(pending, rows) => {
                pending.push(batch.clone());
                *rows += batch.num_rows();
                if *rows >= PIECE_ROWS {
                    self.draw_pending(false, out)?;
                }
            }
        }
        Ok(())
    }

    fn finish(&mut self, out: &mut dyn Write) -> Result<u64> {
        if self.columns == 0 {
            return Ok(0);
        }
        match self.keep {
            Keep::Ends(_) => self.draw_ends(out),
            Keep::All(..) => self.draw_pending(true, out).map(|()| 0),
        }
    }

    fn holds_back(&self) -> bool {
        matches!(self.keep, Keep::Ends(_))
    }
}
