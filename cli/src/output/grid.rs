//! Draws cells and lines with comfy-table.

use std::io::Write;

use arrow::datatypes::Schema;
use comfy_table::{
    Attribute, Cell, CellAlignment, ColumnConstraint, ContentArrangement, ContentLineStyle, LineStyle, Table, TableStyle, Width,
};
use engine::{RecordBatch, column_type_name};

use super::Layout;
use super::cells::{Cells, harmless, is_number};
use crate::errors::Result;

/// The look of a table.
#[derive(Clone, Copy)]
pub struct GridStyle {
    style: TableStyle,
    shows_types: bool,
}

pub const ASCII: GridStyle = GridStyle {
    style: TableStyle::new()
        .top_border(LineStyle::new('+', '-', '+', '+'))
        .header_lines(ContentLineStyle::new('|', '|', '|'))
        .header_separator(LineStyle::new('+', '-', '+', '+'))
        .content_lines(ContentLineStyle::new('|', '|', '|'))
        .bottom_border(LineStyle::new('+', '-', '+', '+')),
    shows_types: false,
};

pub const LINES: GridStyle = GridStyle {
    style: TableStyle::new()
        .top_border(LineStyle::new('┌', '─', '┬', '┐'))
        .header_lines(ContentLineStyle::new('│', '│', '│'))
        .header_separator(LineStyle::new('├', '─', '┼', '┤'))
        .content_lines(ContentLineStyle::new('│', '│', '│'))
        .bottom_border(LineStyle::new('└', '─', '┴', '┘')),
    shows_types: true,
};

/// comfy-table counts widths in 16 bits, and no screen shows more of a value. `\x` shows all of it.
const CELL_CHARS_MAX: usize = 10_000;

/// One row of a table, before it is drawn.
pub struct Line {
    cells: Vec<Cell>,
    pub size_bytes: usize,
}

/// Draws one table in pieces: the first with the head, the last with the bottom line.
/// The widths of the first piece hold for all; a wider cell later widens its own piece.
pub struct Grid {
    look: GridStyle,
    layout: Layout,
    header: Vec<Cell>,
    alignments: Vec<CellAlignment>,
    widths: Option<Vec<u16>>,
}

impl Grid {
    pub fn new(schema: &Schema, look: GridStyle, layout: Layout) -> Self {
        let alignments: Vec<CellAlignment> = schema
            .fields()
            .iter()
            .map(|field| match is_number(field.data_type()) {
                true => CellAlignment::Right,
                false => CellAlignment::Left,
            })
            .collect();
        let head = |(field, alignment): (&arrow::datatypes::FieldRef, &CellAlignment)| {
            let name = shorten(harmless(field.name(), true));
            let text = match look.shows_types {
                true => format!("{name}\n{}", column_type_name(field)),
                false => name,
            };
            Cell::new_owned(text).set_alignment(*alignment)
        };
        let header = schema.fields().iter().zip(&alignments).map(head).collect();
        Grid { look, layout, header, alignments, widths: None }
    }

    /// The rows of a batch as cells.
    pub fn rows(&self, batch: &RecordBatch) -> Result<Vec<Line>> {
        let values = Cells::shortened(batch)?;
        let mut text = String::new();
        let mut rows = Vec::with_capacity(batch.num_rows());
        for row in 0..batch.num_rows() {
            let mut cells = Vec::with_capacity(batch.num_columns());
            let mut size_bytes = 0;
            for (column, alignment) in self.alignments.iter().enumerate() {
                let cell = match values.read(row, column, &mut text) {
                    true => Cell::new_owned(shorten(harmless(&text, false))),
                    false => self.null(),
                };
                size_bytes += text.len();
                cells.push(cell.set_alignment(*alignment));
            }
            rows.push(Line { cells, size_bytes });
        }
        Ok(rows)
    }

    /// A row that stands for omitted rows.
    pub fn gap(&self) -> Line {
        let dots = |alignment: &CellAlignment| Cell::new("·").set_alignment(*alignment);
        Line { cells: self.alignments.iter().map(dots).collect(), size_bytes: 0 }
    }

    fn null(&self) -> Cell {
        let cell = Cell::new(&self.layout.null);
        match self.layout.color {
            true => cell.add_attribute(Attribute::Dim),
            false => cell,
        }
    }

    /// Draws the next piece of the table.
    pub fn draw(&mut self, rows: Vec<Line>, is_last: bool, out: &mut dyn Write) -> Result<()> {
        let is_first = self.widths.is_none();
        if !is_first && rows.is_empty() {
            return self.bottom(is_last, out);
        }
        let mut style = self.look.style;
        let mut table = Table::new();
        if is_first {
            table.set_header(self.header.clone());
        } else {
            style.top_border = LineStyle::none();
            style.header_separator = LineStyle::none();
        }
        if !is_last {
            style.bottom_border = LineStyle::none();
        }
        table.load_style(style);
        table.add_rows(rows.into_iter().map(|line| line.cells));
        self.arrange(&mut table);
        for line in table.lines() {
            writeln!(out, "{line}")?;
        }
        if is_first {
            let padded = table.column_max_content_widths().into_iter();
            self.widths = Some(padded.map(|width| width.saturating_add(2)).collect());
        }
        Ok(())
    }

    fn arrange(&self, table: &mut Table) {
        match self.layout.color {
            true => table.enforce_styling(),
            false => table.force_no_tty(),
        };
        if let Some(width) = self.layout.width_max {
            table.set_width(width).set_content_arrangement(ContentArrangement::Dynamic);
        }
        for (index, width) in self.widths.iter().flatten().enumerate() {
            if let Some(column) = table.column_mut(index) {
                column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(*width)));
            }
        }
    }

    /// The bottom line alone, when the last piece had no rows.
    fn bottom(&self, is_last: bool, out: &mut dyn Write) -> Result<()> {
        let line = self.look.style.bottom_border;
        if let (true, Some(widths)) = (is_last, &self.widths) {
            let sign = |sign: Option<char>| sign.unwrap_or(' ').to_string();
            let fills = widths.iter().map(|width| sign(line.fill).repeat(usize::from(*width)));
            let inner = fills.collect::<Vec<_>>().join(&sign(line.junction));
            writeln!(out, "{}{inner}{}", sign(line.left), sign(line.right))?;
        }
        Ok(())
    }
}

fn shorten(text: String) -> String {
    match text.char_indices().nth(CELL_CHARS_MAX) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
