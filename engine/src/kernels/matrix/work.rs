//! What the blocks of a result are made of, in the order in which they go out.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::common::Result;

use super::blocks::{Block, Blocks, Key, State};
use super::element::Element;
use crate::kernels::arrays::refused;

/// Indices of blocks in the inputs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Work {
    Sum(Option<usize>, Option<usize>),
    Scaled(usize),
    Transposed(usize),
    /// The sum of the products of these.
    Products(Vec<(u32, u32)>),
    /// The same, with the columns of a vector.
    VectorProducts(Vec<(u32, u32)>),
    /// Nothing but NULLs met.
    Null,
}

/// A block of the result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    pub i: Key,
    pub j: Key,
    pub work: Work,
}

/// The inputs of a kernel.
pub struct Inputs<T: Element> {
    pub a: Blocks<T>,
    pub b: Option<Blocks<T>>,
}

pub type Plan = Box<dyn Iterator<Item = Result<Planned>> + Send>;

/// Blocks of both, and those that one of them lacks.
pub fn sums<T: Element>(inputs: Arc<Inputs<T>>) -> Plan {
    let (mut a, mut b) = (0, 0);
    Box::new(std::iter::from_fn(move || {
        let others = inputs.b.as_ref().map_or(&[][..], Blocks::list);
        let place = |block: &Block| (block.i, block.j);
        let (left, right) = (inputs.a.list().get(a).map(place), others.get(b).map(place));
        let (i, j) = left.into_iter().chain(right).min()?;
        let is_next = |side: Option<(Key, Key)>| side == Some((i, j));
        let work = Work::Sum(is_next(left).then_some(a), is_next(right).then_some(b));
        a += usize::from(is_next(left));
        b += usize::from(is_next(right));
        Some(Ok(Planned { i, j, work }))
    }))
}

pub fn scaled<T: Element>(inputs: Arc<Inputs<T>>) -> Plan {
    let planned = move |at: usize| {
        let block = inputs.a.list().get(at)?;
        Some(Ok(Planned { i: block.i, j: block.j, work: Work::Scaled(at) }))
    };
    Box::new((0..).map_while(planned))
}

pub fn transposed<T: Element>(inputs: &Inputs<T>) -> Plan {
    let blocks = inputs.a.list().iter().enumerate();
    let mut planned: Vec<Planned> =
        blocks.map(|(at, block)| Planned { i: block.j, j: block.i, work: Work::Transposed(at) }).collect();
    planned.sort_by_key(|planned| (planned.i, planned.j));
    Box::new(planned.into_iter().map(Ok))
}

/// The product, a row of blocks at a time: those of the left side in a row meet those of the right side by the key that they share.
pub fn products<T: Element>(inputs: Arc<Inputs<T>>, function: &'static str, of_vector: bool) -> Plan {
    let mut next = 0;
    let mut row = Vec::new().into_iter();
    Box::new(std::iter::from_fn(move || {
        loop {
            if let Some(planned) = row.next() {
                return Some(Ok(planned));
            }
            let left = inputs.a.list();
            let first = left.get(next)?;
            let end = next + left[next..].partition_point(|block| block.i == first.i);
            match products_of_row(&inputs, next..end, function, of_vector) {
                Ok(planned) => row = planned.into_iter(),
                Err(error) => {
                    next = left.len();
                    return Some(Err(error));
                }
            }
            next = end;
        }
    }))
}

fn products_of_row<T: Element>(
    inputs: &Inputs<T>,
    row: std::ops::Range<usize>,
    function: &str,
    of_vector: bool,
) -> Result<Vec<Planned>> {
    let left = &inputs.a.list()[row.clone()];
    let right = inputs.b.as_ref().map_or(&[][..], Blocks::list);
    let mut by_column: BTreeMap<Key, Vec<(u32, u32)>> = BTreeMap::new();
    for (a, block) in row.zip(left) {
        let start = right.partition_point(|other| other.i < block.j);
        let met = right[start..].iter().take_while(|other| other.i == block.j);
        for (b, other) in (start..).zip(met) {
            let pairs = by_column.entry(other.j).or_default();
            match (block.state, other.state) {
                (State::Whole, State::Whole) => pairs.push((a as u32, b as u32)),
                // As any aggregate leaves out rows of NULLs.
                (State::Null, _) | (_, State::Null) => {}
                _ => return Err(refused(format!("{function}: a block has an element that is NULL"), None)),
            }
        }
    }
    let planned = by_column.into_iter().map(|(j, pairs)| {
        let work = match pairs.is_empty() {
            true => Work::Null,
            false if of_vector => Work::VectorProducts(pairs),
            false => Work::Products(pairs),
        };
        Planned { i: left[0].i, j, work }
    });
    Ok(planned.collect())
}
