//! Points: rows of numbers, read as DOUBLE one piece at a time. Vectors of DOUBLE without NULLs are read in place; all others
//! are copied in tiles, without rows that have a NULL.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, RecordBatch};
use arrow::buffer::{Buffer, MutableBuffer, NullBuffer, ScalarBuffer};
use arrow::compute::CastOptions;
use arrow::datatypes::{ArrowNativeType, DataType, Float64Type};
use datafusion::common::{DataFusionError, Result, internal_err};

use crate::threads::{StopFlag, for_each};
use common::memory::COLUMN_BYTES;
use common::messages::counted;
use common::names::KMEANS;
use common::tensors::{Vectors, VectorsOf, refused};
use semantics::functions::cast_nearest;

/// The limits of a piece, in numbers and in rows.
const PIECE_NUMBERS: usize = 1 << 20;
const PIECE_ROWS: usize = 8_192;
/// So many numbers are copied at once.
pub const TILE_NUMBERS: usize = 1 << 15;

pub struct Points {
    pieces: Vec<Piece>,
    width: usize,
    rows: usize,
}

/// Some consecutive rows.
pub struct Piece {
    source: Source,
    /// The number of points before it.
    pub first: usize,
    /// The number of its points: its rows without those that have a NULL.
    pub rows: usize,
}

enum Source {
    Vectors(ArrayRef),
    Columns(Vec<ArrayRef>),
    Staged(ScalarBuffer<f64>),
}

impl Points {
    /// The points of batches with one column of vectors, or with columns of numbers.
    pub fn of(batches: &[RecordBatch], is_vector: bool, stop: &StopFlag) -> Result<Points> {
        let width = match is_vector {
            true => width_of(batches, stop)?,
            false => batches.first().map_or(0, RecordBatch::num_columns),
        };
        let piece_rows = (PIECE_NUMBERS / width.max(1)).clamp(1, PIECE_ROWS);
        let mut points = Points { pieces: Vec::new(), width, rows: 0 };
        for batch in batches {
            for start in (0..batch.num_rows()).step_by(piece_rows) {
                stop.check()?;
                let part = batch.slice(start, piece_rows.min(batch.num_rows() - start));
                let source = match is_vector {
                    true => Source::Vectors(Arc::clone(part.column(0))),
                    false => Source::Columns(part.columns().to_vec()),
                };
                points.push(source)?;
            }
        }
        Ok(points)
    }

    fn push(&mut self, source: Source) -> Result<()> {
        let rows = source.points()?;
        if rows > 0 {
            self.pieces.push(Piece { source, first: self.rows, rows });
            self.rows += rows;
        }
        Ok(())
    }

    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// The numbers of a point.
    pub fn width(&self) -> usize {
        self.width
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The bytes of all points as DOUBLE.
    pub fn size_bytes(&self) -> Result<usize> {
        let bytes = self.rows.checked_mul(self.width).and_then(|numbers| numbers.checked_mul(size_of::<f64>()));
        let (points, numbers) = (counted(self.rows, "point"), counted(self.width, "number"));
        bytes.ok_or_else(|| refused(format!("{KMEANS} cannot hold {points} of {numbers}"), None))
    }

    /// Whether all of them are read in place.
    pub fn is_dense(&self) -> Result<bool> {
        for piece in &self.pieces {
            if !piece.source.is_dense()? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Passes the points of a piece in one or several parts; `tile` is room for parts that are copied.
    pub fn read(&self, piece: &Piece, tile: &mut Vec<f64>, give: &mut dyn FnMut(&[f64]) -> Result<()>) -> Result<()> {
        tile.clear();
        match &piece.source {
            Source::Staged(values) => give(values),
            Source::Vectors(array) => match Vectors::of(array.as_ref(), KMEANS)? {
                Vectors::F64(rows) => match rows.dense() {
                    Some((values, _)) => give(values),
                    None => copied(rows, tile, give),
                },
                Vectors::F32(rows) => copied(rows, tile, give),
            },
            Source::Columns(columns) => match dense_column(columns) {
                Some(values) => give(values),
                None => interleaved(columns, tile, give),
            },
        }
    }

    /// The points with these numbers, one after the other; the list is sorted. Each piece that has some of them is read once.
    pub fn at(&self, rows: &[usize], stop: &StopFlag) -> Result<Vec<f64>> {
        let (mut numbers, mut tile) = (Vec::with_capacity(rows.len() * self.width), Vec::new());
        let mut rows = rows.iter().copied().peekable();
        while let Some(row) = rows.peek().copied() {
            stop.check()?;
            let at = self.pieces.partition_point(|piece| piece.first <= row).saturating_sub(1);
            let Some(piece) = self.pieces.get(at) else { break };
            let mut first = piece.first;
            self.read(piece, &mut tile, &mut |points| {
                let next = first + points.len() / self.width;
                while let Some(row) = rows.next_if(|row| *row < next) {
                    numbers.extend_from_slice(&points[(row - first) * self.width..][..self.width]);
                }
                first = next;
                Ok(())
            })?;
            if rows.peek() == Some(&row) {
                return internal_err!("{KMEANS} does not find the point {row} again");
            }
        }
        Ok(numbers)
    }

    /// The bytes of the list of pieces, without the rows.
    pub fn list_bytes(&self) -> usize {
        let columns = |piece: &Piece| if let Source::Columns(columns) = &piece.source { columns.len() } else { 1 };
        self.pieces.iter().map(|piece| size_of::<Piece>() + columns(piece) * COLUMN_BYTES).sum()
    }

    /// The same points in one allocation that begins on a cache line.
    pub fn staged(self, threads: usize, stop: &StopFlag) -> Result<Points> {
        let mut memory = MutableBuffer::from_len_zeroed(self.size_bytes()?);
        let mut rest: &mut [f64] = memory.typed_data_mut();
        let mut places = Vec::with_capacity(self.pieces.len());
        for piece in &self.pieces {
            let (place, behind) = std::mem::take(&mut rest).split_at_mut(piece.rows * self.width);
            places.push((piece, place));
            rest = behind;
        }
        for_each(threads, stop, places, |(piece, place)| {
            let mut at = 0;
            self.read(piece, &mut Vec::new(), &mut |points| {
                place[at..at + points.len()].copy_from_slice(points);
                at += points.len();
                Ok(())
            })
        })?;
        let values = ScalarBuffer::<f64>::from(Buffer::from(memory));
        let staged = |piece: &Piece| Piece {
            source: Source::Staged(values.slice(piece.first * self.width, piece.rows * self.width)),
            first: piece.first,
            rows: piece.rows,
        };
        Ok(Points { pieces: self.pieces.iter().map(staged).collect(), width: self.width, rows: self.rows })
    }
}

impl Source {
    /// The number of rows without a NULL.
    fn points(&self) -> Result<usize> {
        Ok(match self {
            Source::Staged(_) => 0,
            Source::Columns(columns) => {
                let rows = columns.first().map_or(0, |column| column.len());
                rows - nulls_of(columns).map_or(0, |nulls| nulls.null_count())
            }
            Source::Vectors(array) => match Vectors::of(array.as_ref(), KMEANS)? {
                Vectors::F64(rows) => points_of(rows),
                Vectors::F32(rows) => points_of(rows),
            },
        })
    }

    fn is_dense(&self) -> Result<bool> {
        Ok(match self {
            Source::Staged(_) => true,
            Source::Columns(columns) => dense_column(columns).is_some(),
            Source::Vectors(array) => match Vectors::of(array.as_ref(), KMEANS)? {
                Vectors::F64(rows) => rows.dense().is_some(),
                Vectors::F32(_) => false,
            },
        })
    }
}

/// The width of all vectors; 0 if there is no vector.
fn width_of(batches: &[RecordBatch], stop: &StopFlag) -> Result<usize> {
    let mut width = None;
    for batch in batches {
        stop.check()?;
        match Vectors::of(batch.column(0).as_ref(), KMEANS)? {
            Vectors::F64(rows) => check_width(rows, &mut width)?,
            Vectors::F32(rows) => check_width(rows, &mut width)?,
        }
    }
    match width {
        Some(0) => Err(refused(format!("{KMEANS} takes vectors of at least one number, and these have none"), None)),
        width => Ok(width.unwrap_or_default()),
    }
}

fn check_width<T: ArrowNativeType>(rows: VectorsOf<'_, T>, width: &mut Option<usize>) -> Result<()> {
    let mut check = |found: usize| match *width.get_or_insert(found) {
        expected if expected == found => Ok(()),
        expected => Err(different_widths(expected, found)),
    };
    if let Some(found) = rows.width().or_else(|| rows.dense().map(|(_, found)| found)) {
        return check(found);
    }
    (0..rows.len()).filter_map(|row| rows.row(row)).try_for_each(|row| check(row.len()))
}

fn different_widths(expected: usize, found: usize) -> DataFusionError {
    let message = format!("{KMEANS} takes vectors of one length, and finds one of {} and one of {found}", counted(expected, "number"));
    refused(message, Some("leave the others out with a view: CREATE VIEW v AS SELECT … WHERE array_length(x) = …"))
}

fn points_of<T: ArrowNativeType>(rows: VectorsOf<'_, T>) -> usize {
    match rows.dense() {
        Some(_) => rows.len(),
        None => (0..rows.len()).filter(|row| rows.row(*row).is_some()).count(),
    }
}

fn copied<T: ArrowNativeType + Into<f64>>(
    rows: VectorsOf<'_, T>,
    tile: &mut Vec<f64>,
    give: &mut dyn FnMut(&[f64]) -> Result<()>,
) -> Result<()> {
    for row in (0..rows.len()).filter_map(|row| rows.row(row)) {
        if !tile.is_empty() && tile.len() + row.len() > TILE_NUMBERS {
            give(tile)?;
            tile.clear();
        }
        tile.extend(row.iter().map(|number| -> f64 { (*number).into() }));
    }
    if tile.is_empty() { Ok(()) } else { give(tile) }
}

/// The numbers of a single column, if they can be read in place.
fn dense_column(columns: &[ArrayRef]) -> Option<&[f64]> {
    let [column] = columns else { return None };
    let column = column.as_primitive_opt::<Float64Type>()?;
    (column.null_count() == 0).then(|| column.values().as_ref())
}

fn interleaved(columns: &[ArrayRef], tile: &mut Vec<f64>, give: &mut dyn FnMut(&[f64]) -> Result<()>) -> Result<()> {
    let rows = columns.first().map_or(0, |column| column.len());
    let tile_rows = (TILE_NUMBERS / columns.len().max(1)).max(1);
    for start in (0..rows).step_by(tile_rows) {
        let len = tile_rows.min(rows - start);
        let numbers = columns.iter().map(|column| cast_nearest(&column.slice(start, len), &DataType::Float64, &CastOptions::default()));
        let numbers = numbers.collect::<Result<Vec<_>, _>>()?;
        let nulls = nulls_of(&numbers);
        let numbers: Vec<&Float64Array> = numbers.iter().map(|column| column.as_primitive::<Float64Type>()).collect();
        for row in (0..len).filter(|row| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(*row))) {
            tile.extend(numbers.iter().map(|column| column.value(row)));
        }
        if !tile.is_empty() {
            give(tile)?;
            tile.clear();
        }
    }
    Ok(())
}

/// NULL if one of the columns is NULL.
fn nulls_of(columns: &[ArrayRef]) -> Option<NullBuffer> {
    columns.iter().fold(None, |nulls, column| NullBuffer::union(nulls.as_ref(), column.logical_nulls().as_ref()))
}

#[cfg(test)]
mod tests {
    use arrow::array::{Float32Array, ListArray};
    use arrow::datatypes::Float32Type;

    use super::*;

    fn columns() -> RecordBatch {
        let numbers = |from: usize| (from..from + 20_000).map(|row| (row % 7 != 3).then_some(row as f32));
        let column = |from: usize| Arc::new(Float32Array::from_iter(numbers(from))) as ArrayRef;
        RecordBatch::try_from_iter([("a", column(0)), ("b", column(7))]).unwrap()
    }

    #[test]
    fn points_are_found_again_in_whatever_piece_they_are() {
        let lists = (0..20_000).filter(|row| row % 7 != 3).map(|row| Some(vec![Some(row as f32), Some((row + 7) as f32)]));
        let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Float32Type, _, _>(lists));
        let lists = RecordBatch::try_from_iter([("x", lists)]).unwrap();
        for (batch, is_vector) in [(columns(), false), (lists, true)] {
            let batches = [batch.slice(0, 9_000), batch.slice(9_000, batch.num_rows() - 9_000)];
            let points = Points::of(&batches, is_vector, &StopFlag::default()).unwrap();
            let positions = [0, 3, 4, 7_020, 7_021, 12_345, points.rows() - 1];
            // Six of seven rows are points.
            let expected = positions.map(|at| at + (at + 3) / 6).map(|row| [row as f64, (row + 7) as f64]);
            assert_eq!(points.at(&positions, &StopFlag::default()).unwrap(), expected.as_flattened());
            assert!(points.at(&[], &StopFlag::default()).unwrap().is_empty());
        }
    }

    #[test]
    fn points_that_nobody_waits_for_are_not_read() {
        let stop = StopFlag::default();
        let points = Points::of(&[columns()], false, &stop).unwrap();
        stop.set();
        assert!(points.at(&[5], &stop).unwrap_err().to_string().contains("cancelled"));
        assert!(Points::of(&[columns()], false, &stop).is_err());
    }
}
