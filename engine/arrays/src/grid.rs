//! Regions and chunks: which chunks a region touches, and which cells of each.

use crate::definition::ArrayDefinition;
use crate::slices::Axis;

/// The part of a region that lies in one chunk, along one dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AxisPart {
    /// Its first cell, as a position in the region.
    pub first: u64,
    pub count: u64,
    /// The position of this cell in the chunk, and the distance to the next one.
    pub offset: i64,
    pub step: i64,
}

/// The first and the last chunk along each dimension; `None` if the region has no cells.
pub fn chunk_bounds(array: &ArrayDefinition, axes: &[Axis]) -> Option<Vec<(u64, u64)>> {
    let bounds = array.dimensions.iter().zip(axes).map(|(dimension, axis)| {
        let (least, greatest) = axis.bounds()?;
        Some((least / dimension.chunk, greatest / dimension.chunk))
    });
    bounds.collect()
}

/// The number of chunks between these bounds.
fn chunk_count(bounds: &[(u64, u64)]) -> u64 {
    bounds.iter().fold(1_u64, |count, (first, last)| count.saturating_mul(last - first + 1))
}

/// The number of chunks that an array of these lengths has.
fn chunks_of(array: &ArrayDefinition, lengths: &[u64]) -> u64 {
    array.dimensions.iter().zip(lengths).fold(1_u64, |count, (dimension, length)| count.saturating_mul(length.div_ceil(dimension.chunk)))
}

/// The part of the region in the chunk with these numbers; `None` if it has no cell there.
pub fn part_in(array: &ArrayDefinition, axes: &[Axis], chunk: &[u64]) -> Option<Vec<AxisPart>> {
    let parts = array.dimensions.iter().zip(axes).zip(chunk).map(|((dimension, axis), number)| axis_part(axis, *number, dimension.chunk));
    parts.collect()
}

/// How many chunks a statement may have to read.
#[derive(Debug, Clone, Copy)]
pub struct ChunkCount {
    pub in_region: u64,
    pub in_array: u64,
}

impl ChunkCount {
    pub fn of(array: &ArrayDefinition, axes: &[Axis], lengths: &[u64]) -> ChunkCount {
        let in_region = chunk_bounds(array, axes).map_or(0, |bounds| chunk_count(&bounds));
        ChunkCount { in_region, in_array: chunks_of(array, lengths) }
    }
}

/// Whether no cell of the chunks that a region touches stays as it is.
pub fn covers_whole_chunks(array: &ArrayDefinition, axes: &[Axis], lengths: &[u64]) -> bool {
    array.dimensions.iter().zip(axes).zip(lengths).all(|((dimension, axis), length)| match axis.bounds() {
        Some((least, greatest)) => {
            let ends_chunk = (greatest + 1).is_multiple_of(dimension.chunk) || greatest + 1 == *length;
            axis.step.abs() == 1 && least.is_multiple_of(dimension.chunk) && ends_chunk
        }
        None => true,
    })
}

fn axis_part(axis: &Axis, chunk: u64, size: u64) -> Option<AxisPart> {
    let (low, high) = (i64::try_from(chunk.checked_mul(size)?).ok()?, i64::try_from((chunk + 1).checked_mul(size)?).ok()?);
    // The positions k with low <= start + k * step < high.
    let (near, far) = if axis.step > 0 { (low - axis.start, high - 1 - axis.start) } else { (axis.start - (high - 1), axis.start - low) };
    let step = axis.step.unsigned_abs() as i64;
    if far < 0 {
        return None;
    }
    let first = if near <= 0 { 0 } else { (near + step - 1) / step };
    let end = (far / step + 1).min(axis.count as i64);
    let is_there = first < end;
    is_there.then(|| AxisPart {
        first: first as u64,
        count: (end - first) as u64,
        offset: axis.start + first * axis.step - low,
        step: axis.step,
    })
}

/// The numbers of the chunks in which a region has cells, ascending, the last dimension fastest.
#[derive(Debug)]
pub struct ChunkNumbers {
    /// The region along each dimension, ascending, and the size of the chunks.
    axes: Vec<(Axis, u64)>,
    next: Option<Vec<u64>>,
}

impl ChunkNumbers {
    pub fn new(array: &ArrayDefinition, axes: &[Axis]) -> ChunkNumbers {
        let axes: Vec<(Axis, u64)> =
            axes.iter().map(Axis::ascending).zip(array.dimensions.iter().map(|dimension| dimension.chunk)).collect();
        let next = axes.iter().map(first_chunk).collect();
        ChunkNumbers { axes, next }
    }
}

fn first_chunk((axis, size): &(Axis, u64)) -> Option<u64> {
    axis.bounds().map(|(least, _)| least / size)
}

/// The chunk of the first cell that is behind this chunk.
fn chunk_after((axis, size): &(Axis, u64), chunk: u64) -> Option<u64> {
    let behind = i64::try_from((chunk + 1).checked_mul(*size)?).ok()?;
    axis.narrowed(behind, i64::MAX).bounds().map(|(least, _)| least / size)
}

impl Iterator for ChunkNumbers {
    type Item = Vec<u64>;

    fn next(&mut self) -> Option<Vec<u64>> {
        let current = self.next.take()?;
        let mut following = current.clone();
        for at in (0..following.len()).rev() {
            if let Some(chunk) = chunk_after(&self.axes[at], following[at]) {
                following[at] = chunk;
                self.next = Some(following);
                break;
            }
            following[at] = first_chunk(&self.axes[at])?;
        }
        Some(current)
    }
}
