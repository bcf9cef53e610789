//! The blocks of an input while a kernel runs: the batches as the scan yields them, and the position of each block in them.

use std::fmt;

use arrow::array::{Array, AsArray, FixedSizeListArray, Int64Array, RecordBatch};
use arrow::buffer::ScalarBuffer;
use arrow::datatypes::Int64Type;
use datafusion::common::{DataFusionError, Result, internal_err};

use super::element::Element;
use super::layout::Layout;
use super::padding;
use crate::threads::{StopFlag, for_each};
use common::tensor_shape::shape_text;
use common::tensors::refused;

/// So many bytes are read between two checks for cancellation.
const PANEL_BYTES: usize = 1 << 20;

/// The indices of the columns in an input's batches. A vector has no `j`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ColumnIndices {
    pub i: usize,
    pub j: Option<usize>,
    pub block: usize,
}

/// What a row without a key or a block means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// Each block exists once, with its position and all its elements.
    Matrix,
    /// Rows of a join by the key at `j` (of the left side) or at `i`: rows without a key match nothing; all else may be NULL, and any
    /// number of rows may have one position.
    JoinedByJ,
    JoinedByI,
}

/// Row or column of a block. `None` is NULL, which sorts first.
pub type Key = Option<i64>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    pub i: Key,
    pub j: Key,
    batch: u32,
    row: u32,
    pub state: BlocksState,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlocksState {
    Whole,
    Null,
    /// An element of it is NULL.
    HasNull,
}

/// The blocks of one input, in place.
pub struct Blocks<T: Element> {
    values: Vec<ScalarBuffer<T>>,
    /// Sorted by i, then by j.
    list: Vec<Block>,
    /// The number of elements of a block.
    width: usize,
}

impl<T: Element> Blocks<T> {
    pub fn new(batches: &[RecordBatch], places: ColumnIndices, layout: &Layout, rule: Rule, function: &str) -> Result<Blocks<T>> {
        let mut blocks = Blocks { values: Vec::with_capacity(batches.len()), list: Vec::new(), width: layout.width() };
        for batch in batches {
            blocks.add(batch, places, rule)?;
        }
        blocks.list.sort_by_key(|block| (block.i, block.j));
        if rule == Rule::Matrix {
            blocks.check(layout, function)?;
        }
        Ok(blocks)
    }

    fn add(&mut self, batch: &RecordBatch, places: ColumnIndices, rule: Rule) -> Result<()> {
        let keys = |column: usize| batch.column(column).as_primitive_opt::<Int64Type>();
        let blocks = batch.column(places.block).as_fixed_size_list_opt();
        let values = blocks.and_then(|blocks| blocks.values().as_primitive_opt::<T::Arrow>());
        let (Some(i), Some(blocks), Some(values)) = (keys(places.i), blocks, values) else {
            return internal_err!("blocks came in other types than they were planned with");
        };
        let j = places.j.and_then(keys);
        if blocks.values().len() != blocks.len() * self.width {
            return internal_err!("blocks came in another size than they were planned with");
        }
        let number = u32::try_from(self.values.len()).unwrap_or(u32::MAX);
        self.values.push(values.values().clone());
        self.list.reserve(batch.num_rows());
        for row in 0..batch.num_rows() {
            let (i, j) = (key(i, row), j.map_or(Some(0), |j| key(j, row)));
            let meets_nobody = match rule {
                Rule::Matrix => false,
                Rule::JoinedByJ => j.is_none(),
                Rule::JoinedByI => i.is_none(),
            };
            if !meets_nobody {
                // A batch has no more rows than a u32 can count.
                self.list.push(Block { i, j, batch: number, row: row as u32, state: state(blocks, row, self.width) });
            }
        }
        Ok(())
    }

    fn check(&self, layout: &Layout, function: &str) -> Result<()> {
        let name = &layout.name;
        let error = |message: String| Err(refused(format!("{function}: {message}"), None));
        for block in &self.list {
            let place = BlockPosition { block, is_vector: layout.is_vector };
            match (block.i, block.j) {
                (Some(i), Some(j)) if i >= 0 && j >= 0 => {}
                (Some(_), Some(_)) => return error(format!("\"{name}\" has a block at {place}; i and j count from 0")),
                _ => return error(format!("\"{name}\" has a block without a place, at {place}")),
            }
            match block.state {
                BlocksState::Whole => {}
                BlocksState::Null => {
                    return error(format!("the block {place} of \"{name}\" is NULL; leave the row out where it is all zeros"));
                }
                BlocksState::HasNull => return error(format!("the block {place} of \"{name}\" has an element that is NULL")),
            }
        }
        if let Some(twice) = self.list.windows(2).find(|two| (two[0].i, two[0].j) == (two[1].i, two[1].j)) {
            let place = BlockPosition { block: &twice[0], is_vector: layout.is_vector };
            return error(format!("\"{name}\" has the block {place} more than once"));
        }
        Ok(())
    }

    /// An error if a block has nonzero elements outside of a matrix of this shape, which comes from the layout or from the other matrix.
    pub fn check_padding(&self, layout: &Layout, shape: [usize; 2], function: &str, threads: usize, stop: &StopFlag) -> Result<()> {
        let [rows, columns] = layout.block;
        let inside = |at: usize| padding::inside(shape, layout.block, self.list[at].i, self.list[at].j);
        let last = (0..self.list.len()).filter(|at| inside(*at) != layout.block);
        let panel_rows = (PANEL_BYTES / (columns * size_of::<T>())).clamp(1, rows);
        let panels = last.flat_map(|at| (0..rows).step_by(panel_rows).map(move |first| (at, first)));
        for_each(threads, stop, panels.collect(), |(at, first)| {
            let panel = &self.values(at)[first * columns..rows.min(first + panel_rows) * columns];
            match padding::is_clear(panel, first, columns, inside(at)) {
                true => Ok(()),
                false => Err(self.beyond(at, layout, shape, function)),
            }
        })
    }

    fn beyond(&self, at: usize, layout: &Layout, shape: [usize; 2], function: &str) -> DataFusionError {
        let place = BlockPosition { block: &self.list[at], is_vector: layout.is_vector };
        let (name, blocks) = (&layout.name, layout.block_text());
        let shape = if layout.is_vector { shape[0].to_string() } else { shape_text(&shape) };
        match layout.shape {
            Some(_) => {
                let message =
                    format!("\"{name}\" is {shape} in blocks of {blocks}, and its block {place} has elements beyond that which are not 0");
                let hint = "set them to 0, or write the matrix anew with the shape that its blocks have";
                refused(format!("{function}: {message}"), Some(hint))
            }
            None => {
                let message = format!("\"{name}\" is {shape} in blocks of {blocks} here, as the other side says");
                let message = format!("{function}: {message}, and its block {place} has elements beyond that which are not 0");
                refused(message, Some("set them to 0, or write the other side anew with the shape that these blocks have"))
            }
        }
    }

    /// Sorted by i, then by j.
    pub fn list(&self) -> &[Block] {
        &self.list
    }

    /// The elements, row by row, in place.
    pub fn values(&self, index: usize) -> &[T] {
        let block = self.list[index];
        let start = block.row as usize * self.width;
        &self.values[block.batch as usize][start..start + self.width]
    }

    /// The bytes of the list.
    pub fn list_bytes(&self) -> usize {
        std::mem::size_of_val(self.list.as_slice())
    }

    /// Rows and columns of the matrix: the declared ones, or else those that the blocks need.
    pub fn shape(&self, layout: &Layout, function: &str) -> Result<[usize; 2]> {
        let needed = |last: Option<i64>, size: usize| {
            let blocks = last.map_or(Some(0), |last| usize::try_from(last).ok()?.checked_add(1));
            blocks.and_then(|blocks| blocks.checked_mul(size))
        };
        let [rows, columns] = layout.block;
        let last = [self.list.last().and_then(|block| block.i), self.list.iter().filter_map(|block| block.j).max()];
        let extent = needed(last[0], rows).zip(needed(last[1], columns));
        let Some((rows, columns)) = extent else {
            let message = format!("{function}: \"{}\" has a block so far out that its rows or columns cannot be counted", layout.name);
            return Err(refused(message, None));
        };
        let Some(shape) = layout.shape else { return Ok([rows, columns]) };
        if rows > padded(shape[0], layout.block[0]) || columns > padded(shape[1], layout.block[1]) {
            let message = format!(
                "{function}: {layout}, and has blocks for {}",
                if layout.is_vector { rows.to_string() } else { shape_text(&[rows, columns]) }
            );
            return Err(refused(message, Some("write the matrix anew with the shape that its blocks have")));
        }
        Ok(shape)
    }
}

/// The size rounded up to whole blocks.
pub fn padded(size: usize, block: usize) -> usize {
    size.div_ceil(block).saturating_mul(block)
}

fn key(keys: &Int64Array, row: usize) -> Key {
    keys.is_valid(row).then(|| keys.value(row))
}

fn state(blocks: &FixedSizeListArray, row: usize, width: usize) -> BlocksState {
    if blocks.is_null(row) {
        return BlocksState::Null;
    }
    match blocks.values().nulls().filter(|nulls| nulls.null_count() > 0) {
        Some(nulls) if nulls.slice(row * width, width).null_count() > 0 => BlocksState::HasNull,
        _ => BlocksState::Whole,
    }
}

/// A block's position as people write it.
struct BlockPosition<'a> {
    block: &'a Block,
    is_vector: bool,
}

impl fmt::Display for BlockPosition<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |key: Key| key.map_or("NULL".to_string(), |key| key.to_string());
        match self.is_vector {
            true => write!(f, "{}", number(self.block.i)),
            false => write!(f, "({}, {})", number(self.block.i), number(self.block.j)),
        }
    }
}
