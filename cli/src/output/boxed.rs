//! `box` and `table`: a grid of cells, for people.

use std::io::Write;

use engine::{RecordBatch, SchemaRef};

use super::grid::{Grid, GridStyle, Line};
use super::window::RowWindow;
use super::{Layout, ResultWriter};
use crate::errors::Result;

/// Rows that are drawn at a time if all are shown: enough to find good widths, and few enough to buffer.
const PIECE_ROWS: usize = 1_000;
/// The byte limit for wide rows: drawing them takes about ten milliseconds, for which Ctrl-C waits.
const PIECE_BYTES: usize = 1 << 20;

pub struct TableWriter {
    grid: Grid,
    columns: usize,
    keep: Keep,
}

enum Keep {
    /// Both ends of the result, which are drawn when it is complete.
    Ends(RowWindow),
    /// The whole result, drawn in pieces. Holds the rows that are not drawn yet, and their size in bytes.
    All(Vec<Line>, usize),
}

impl TableWriter {
    pub fn new(schema: &SchemaRef, look: GridStyle, layout: Layout) -> Self {
        let keep = match layout.rows_max {
            Some(rows_max) => Keep::Ends(RowWindow::new(rows_max)),
            None => Keep::All(Vec::new(), 0),
        };
        let columns = schema.fields().len();
        TableWriter { grid: Grid::new(schema, look, layout), columns, keep }
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
        let Keep::All(pending, size_bytes) = &mut self.keep else {
            return Ok(());
        };
        *size_bytes = 0;
        let rows = std::mem::take(pending);
        self.grid.draw(rows, is_last, out)
    }

    /// A piece is drawn when it is full and more comes, so it is the same however the rows come in
    /// batches, and the last one is never empty.
    fn hold(&mut self, line: Line, out: &mut dyn Write) -> Result<()> {
        if let Keep::All(pending, size_bytes) = &self.keep
            && (pending.len() >= PIECE_ROWS || *size_bytes >= PIECE_BYTES)
        {
            self.draw_pending(false, out)?;
        }
        if let Keep::All(pending, size_bytes) = &mut self.keep {
            *size_bytes += line.size_bytes;
            pending.push(line);
        }
        Ok(())
    }
}

impl ResultWriter for TableWriter {
    fn write(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> Result<()> {
        if let Keep::Ends(window) = &mut self.keep {
            window.push(batch);
            return Ok(());
        }
        for start in (0..batch.num_rows()).step_by(PIECE_ROWS) {
            let piece = batch.slice(start, PIECE_ROWS.min(batch.num_rows() - start));
            for line in self.grid.rows(&piece)? {
                self.hold(line, out)?;
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
