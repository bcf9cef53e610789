//! `[0:64, 10:20, :]`: which cells of an array, as NumPy's basic slicing has it.

use common::error::EngineError;
use common::messages::counted;
use common::type_names::quoted;

use crate::definition::{ArrayDefinition, refused};

const FORM: &str = "write a slice for each dimension: [0:64, 10, ::2, ...]";

/// What is written for one dimension.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Slice {
    /// One index; the region does not have this dimension.
    Index(i64),
    Range {
        start: Option<i64>,
        stop: Option<i64>,
        step: i64,
    },
    /// `...`: as many whole dimensions as are missing.
    Ellipsis,
}

/// The cells of a region along one dimension: `start`, `start + step`, and so on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Axis {
    pub start: i64,
    pub step: i64,
    pub count: u64,
    /// It was given as one index.
    pub is_index: bool,
}

impl Axis {
    /// The whole dimension.
    pub fn whole(length: u64) -> Axis {
        Axis { start: 0, step: 1, count: length, is_index: false }
    }

    /// The least and the greatest index; `None` if it has none.
    pub fn bounds(&self) -> Option<(u64, u64)> {
        let last = self.start + self.step * self.count.checked_sub(1)? as i64;
        Some((self.start.min(last) as u64, self.start.max(last) as u64))
    }

    /// Its cells from index `least` to index `greatest`.
    pub fn narrowed(&self, least: i64, greatest: i64) -> Axis {
        let (near, far) = match self.step > 0 {
            true => (least.saturating_sub(self.start), greatest.saturating_sub(self.start)),
            false => (self.start.saturating_sub(greatest), self.start.saturating_sub(least)),
        };
        let step = self.step.unsigned_abs();
        let first = if near <= 0 { 0 } else { near.unsigned_abs().div_ceil(step).min(self.count) };
        let end = if far < 0 { 0 } else { (far.unsigned_abs() / step).saturating_add(1).min(self.count) };
        let count = end.saturating_sub(first);
        let start = if count == 0 { self.start } else { self.start + self.step * first as i64 };
        Axis { start, count, ..*self }
    }

    /// The same cells in the other order, if they come in the order of falling indices.
    pub fn ascending(&self) -> Axis {
        match self.bounds() {
            Some((least, _)) if self.step < 0 => Axis { start: least as i64, step: -self.step, ..*self },
            _ => *self,
        }
    }

    /// The same cells as NumPy writes them.
    pub fn text(&self) -> String {
        if self.is_index {
            return self.start.to_string();
        }
        let stop = self.start + self.step * self.count as i64;
        match self.step {
            1 => format!("{}:{stop}", self.start),
            step if stop < 0 => format!("{}::{step}", self.start),
            step => format!("{}:{stop}:{step}", self.start),
        }
    }
}

/// Reads slices with or without the brackets around them.
pub fn parse(text: &str) -> Result<Vec<Slice>, EngineError> {
    let inner = text.trim();
    let inner = inner.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(inner);
    if inner.trim().is_empty() {
        return Ok(vec![Slice::Ellipsis]);
    }
    inner.split(',').map(|part| slice(part.trim())).collect()
}

fn slice(text: &str) -> Result<Slice, EngineError> {
    let invalid = || refused(format!("\"{text}\" is no slice"), FORM);
    let number = |text: &str| text.trim().parse::<i64>().map_err(|_| invalid());
    let bound = |text: &str| if text.trim().is_empty() { Ok(None) } else { number(text).map(Some) };
    if text == "..." {
        return Ok(Slice::Ellipsis);
    }
    match text.split(':').collect::<Vec<_>>().as_slice() {
        [index] => Ok(Slice::Index(number(index)?)),
        [start, stop] => Ok(Slice::Range { start: bound(start)?, stop: bound(stop)?, step: 1 }),
        [start, stop, step] => match bound(step)?.unwrap_or(1) {
            0 => Err(refused("the step of a slice cannot be 0".into(), "a negative step goes backwards")),
            step => Ok(Slice::Range { start: bound(start)?, stop: bound(stop)?, step }),
        },
        _ => Err(invalid()),
    }
}

/// The cells that the slices mean in an array of these lengths. If the region is to be written, a dimension that grows has all cells that
/// are named.
pub fn region(slices: &[Slice], array: &ArrayDefinition, lengths: &[u64], writes: bool) -> Result<Vec<Axis>, EngineError> {
    let given = slices.iter().filter(|slice| **slice != Slice::Ellipsis).count();
    if slices.len() - given > 1 {
        return Err(refused("a region has ... twice".into(), FORM));
    }
    if given > lengths.len() {
        let message = format!("a region of {} is asked of an array of {}", counted(given, "slice"), counted(lengths.len(), "dimension"));
        return Err(refused(message, FORM));
    }
    let whole = Slice::Range { start: None, stop: None, step: 1 };
    let before = slices.iter().position(|slice| *slice == Slice::Ellipsis).unwrap_or(slices.len());
    let missing = lengths.len() - given;
    let all = slices[..before].iter().chain(std::iter::repeat_n(&whole, missing)).chain(slices.iter().skip(before + 1));
    let axes = all.zip(array.dimensions.iter().zip(lengths)).map(|(slice, (dimension, length))| {
        let may_grow = writes && dimension.length.is_none();
        axis(*slice, *length, may_grow).ok_or_else(|| {
            let message = match slice {
                Slice::Index(index) => {
                    format!("index {index} is out of bounds for dimension {} of length {length}", quoted(&dimension.name))
                }
                _ => format!("a slice of dimension {} is too far away", quoted(&dimension.name)),
            };
            refused(message, "the first cell has index 0, and the last -1")
        })
    });
    axes.collect()
}

/// No cell that is written is farther away: the ends of chunks behind it are numbers, too.
const REACH: i64 = i64::MAX / 2;

/// `None` if an index is not in the dimension.
fn axis(slice: Slice, length: u64, may_grow: bool) -> Option<Axis> {
    let length = i64::try_from(length).ok()?;
    let from_start = |index: i64| if index < 0 { index.saturating_add(length) } else { index };
    match slice {
        Slice::Index(index) => {
            let start = from_start(index);
            let is_there = start >= 0 && start < if may_grow { REACH } else { length };
            is_there.then_some(Axis { start, step: 1, count: 1, is_index: true })
        }
        Slice::Range { start, stop, step } => {
            let (low, high) = if step > 0 { (0, length) } else { (-1, length - 1) };
            let reach = if may_grow { REACH } else { high };
            let bound = |bound: Option<i64>, missing: i64| bound.map_or(missing, |bound| from_start(bound).clamp(low, reach.max(low)));
            let (start, stop) = if step > 0 { (bound(start, low), bound(stop, high)) } else { (bound(start, high), bound(stop, low)) };
            let distance = if step > 0 { stop - start } else { start - stop };
            let count = if distance <= 0 { 0 } else { (distance as u64).div_ceil(step.unsigned_abs()) };
            // The step of one cell says nothing, however large it is.
            let step = if count > 1 { step } else { step.signum() };
            Some(Axis { start, step, count, is_index: false })
        }
        Slice::Ellipsis => None,
    }
}

/// The axes as NumPy writes them.
pub fn text(axes: &[Axis]) -> String {
    format!("[{}]", axes.iter().map(Axis::text).collect::<Vec<_>>().join(", "))
}

/// The number of cells; `None` if it is more than a number can say.
pub fn cell_count(axes: &[Axis]) -> Option<u64> {
    if axes.iter().any(|axis| axis.count == 0) {
        return Some(0);
    }
    axes.iter().try_fold(1_u64, |cells, axis| cells.checked_mul(axis.count))
}

/// The lengths of the region's dimensions; those given as one index are none.
pub fn shape(axes: &[Axis]) -> Vec<usize> {
    axes.iter().filter(|axis| !axis.is_index).map(|axis| axis.count as usize).collect()
}
