//! Draws cells and lines with comfy-table.

use std::io::Write;
use std::ops::Range;

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

/// A text is never cut to less than this, and the name of a column to less than that.
const TEXT_CHARS_MIN: u16 = 10;
const NAME_CHARS_MIN: u16 = 6;

/// Between the words of a cell that is cut, for comfy-table: no cell has it, so that a text is cut in the middle of a word.
const NO_DELIMITER: char = '\0';

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
    /// The lines of the head of each column.
    header: Vec<Vec<String>>,
    alignments: Vec<CellAlignment>,
    widths: Option<Vec<u16>>,
    /// The columns in the middle that are left out so that the others fit the screen. One with dots stands for them.
    omitted: Option<Range<usize>>,
    /// The widths of a table that is cut to fit the screen, without the blanks beside the cells.
    narrow_widths: Option<Vec<u16>>,
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
        let head = |field: &arrow::datatypes::FieldRef| -> Vec<String> {
            let name = shorten(harmless(field.name(), true), CELL_CHARS_MAX);
            let data_type = look.shows_types.then(|| column_type_name(field));
            std::iter::once(name).chain(data_type).collect()
        };
        let header = schema.fields().iter().map(head).collect();
        Grid { look, layout, header, alignments, widths: None, omitted: None, narrow_widths: None }
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
                    true => Cell::new_owned(shorten(harmless(&text, false), CELL_CHARS_MAX)),
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
        table.add_rows(rows.into_iter().map(|line| self.with_dots(line.cells, Cell::new("…"))));
        if is_first {
            self.narrow(&mut table);
            table.set_header(self.head());
        } else {
            style.top_border = LineStyle::none();
            style.header_separator = LineStyle::none();
        }
        if !is_last {
            style.bottom_border = LineStyle::none();
        }
        table.load_style(style);
        self.arrange(&mut table);
        for line in table.lines() {
            writeln!(out, "{line}")?;
        }
        if is_first {
            let widths = self.narrow_widths.clone().unwrap_or_else(|| table.column_max_content_widths());
            self.widths = Some(widths.into_iter().map(|width| width.saturating_add(2)).collect());
        }
        Ok(())
    }

    fn head(&self) -> Vec<Cell> {
        let cell = |(index, (lines, alignment)): (usize, (&Vec<String>, &CellAlignment))| {
            let width = self.narrow_widths.as_ref().and_then(|widths| widths.get(index));
            let cut = |line: &String| match width {
                Some(width) if line.chars().count() > usize::from(*width) => shorten(line.clone(), usize::from(*width).saturating_sub(1)),
                _ => line.clone(),
            };
            Cell::new_owned(lines.iter().map(cut).collect::<Vec<_>>().join("\n")).set_alignment(*alignment)
        };
        let header = self.with_dots(self.header.clone(), dots_head(self.omitted.as_ref().map_or(0, ExactSizeIterator::len)));
        let alignments = self.with_dots(self.alignments.clone(), CellAlignment::Left);
        header.iter().zip(&alignments).enumerate().map(cell).collect()
    }

    /// What the columns have, with `dots` for those that are left out.
    fn with_dots<T>(&self, mut columns: Vec<T>, dots: T) -> Vec<T> {
        if let Some(omitted) = &self.omitted {
            columns.splice(omitted.clone(), [dots]);
        }
        columns
    }

    /// Cuts texts of a table that is too wide for the screen, and leaves out columns if that is not enough.
    fn narrow(&mut self, table: &mut Table) {
        let Some((omitted, widths)) = self.fitting_widths(table) else { return };
        (self.omitted, self.narrow_widths) = (omitted, Some(widths));
        if self.omitted.is_some() {
            let rows: Vec<Vec<Cell>> = table.row_iter().map(|row| row.cell_iter().cloned().collect()).collect();
            *table = Table::new();
            table.add_rows(rows.into_iter().map(|cells| self.with_dots(cells, Cell::new("…"))));
        }
    }

    /// The columns to leave out, and the widths of the others, if the rows are too wide for the screen: long texts and names are cut, but
    /// no numbers. `None` if the rows fit, or not even two columns do.
    fn fitting_widths(&self, rows: &Table) -> Option<(Option<Range<usize>>, Vec<u16>)> {
        let narrow_max = self.layout.narrow_max?;
        let mut data = rows.column_max_content_widths();
        data.resize(self.header.len(), 1);
        // The least and the whole width of each column.
        let columns: Vec<(u16, u16)> = self
            .header
            .iter()
            .zip(&self.alignments)
            .zip(data)
            .map(|((head, alignment), data)| {
                let head = head.iter().map(|line| line.chars().count()).max().unwrap_or(0);
                let head = u16::try_from(head).unwrap_or(u16::MAX);
                let least = if *alignment == CellAlignment::Right { data } else { data.min(TEXT_CHARS_MIN) };
                (least.max(head.min(NAME_CHARS_MIN)), data.max(head))
            })
            .collect();
        if total(&columns, u16::MAX) <= usize::from(narrow_max) {
            return None;
        }
        let widest_cut = |columns: &[(u16, u16)]| (0..=narrow_max).rev().find(|cut| total(columns, *cut) <= usize::from(narrow_max));
        if let Some(cut) = widest_cut(&columns) {
            return Some((None, cut_widths(&columns, cut).collect()));
        }
        // Each column takes three characters at least.
        (2..columns.len().min(usize::from(narrow_max) / 3)).rev().find_map(|count| {
            let omitted = count.div_ceil(2)..columns.len() - count / 2;
            let dots = dots_head(omitted.len()).iter().map(|line| line.chars().count()).max();
            let dots = dots.and_then(|chars| u16::try_from(chars).ok()).unwrap_or(u16::MAX);
            let mut with_dots = columns.clone();
            with_dots.splice(omitted.clone(), [(dots, dots)]);
            let cut = widest_cut(&with_dots)?;
            Some((Some(omitted), cut_widths(&with_dots, cut).collect()))
        })
    }

    fn arrange(&self, table: &mut Table) {
        match self.layout.color {
            true => table.enforce_styling(),
            false => table.force_no_tty(),
        };
        if let (Some(width), None) = (self.layout.width_max, &self.narrow_widths) {
            table.set_width(width).set_content_arrangement(ContentArrangement::Dynamic);
        }
        if let Some(widths) = &self.narrow_widths {
            for (index, width) in widths.iter().enumerate() {
                if let Some(column) = table.column_mut(index) {
                    column.set_constraint(ColumnConstraint::Absolute(Width::Fixed(width + 2))).set_delimiter(NO_DELIMITER);
                }
            }
            for row in table.row_iter_mut() {
                let lines = row.cell_iter().map(|cell| cell.content().matches('\n').count() + 1).max();
                row.max_height(lines.unwrap_or(1));
            }
            return;
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

/// The head of the column that stands for others.
fn dots_head(count: usize) -> Vec<String> {
    vec!["…".to_string(), format!("{count} more")]
}

/// The widths of columns, each with its least and its whole one, when they are cut to `cut` where they may be.
fn cut_widths(columns: &[(u16, u16)], cut: u16) -> impl Iterator<Item = u16> {
    columns.iter().map(move |(least, whole)| (*whole).min(cut).max(*least))
}

/// The width of the table: two blanks beside each cell, and a line before and after it.
fn total(columns: &[(u16, u16)], cut: u16) -> usize {
    cut_widths(columns, cut).map(usize::from).sum::<usize>() + columns.len() * 3 + 1
}

fn shorten(text: String, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
