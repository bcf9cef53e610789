//! The sources of the blocks of a result, in the order of the output.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryReservation;

use super::blocks::{Block, Blocks, Key};
use super::element::Element;
use super::pairs::Pairs;
use crate::threads::StopFlag;

/// Indices of blocks in the inputs.
#[derive(Debug)]
pub enum BlockSources {
    Sum(Option<usize>, Option<usize>),
    Scaled(usize),
    Transposed(usize),
    /// The sum of the products of these blocks.
    Products(Pairs),
    /// The same, with the columns of a vector.
    VectorProducts(Pairs),
    /// All matching rows have NULLs.
    Null,
}

impl BlockSources {
    /// The number of block pairs that are multiplied.
    pub fn pairs(&self) -> usize {
        match self {
            BlockSources::Products(pairs) | BlockSources::VectorProducts(pairs) => pairs.len(),
            _ => 0,
        }
    }
}

/// A block of the result.
#[derive(Debug)]
pub struct PlannedBlock {
    pub i: Key,
    pub j: Key,
    pub work: BlockSources,
}

impl PlannedBlock {
    pub fn due(&self) -> PendingBlock {
        PendingBlock { i: self.i, j: self.j, is_null: matches!(self.work, BlockSources::Null) }
    }
}

/// A block of the result before its sources are known: the values of its other columns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PendingBlock {
    pub i: Key,
    pub j: Key,
    pub is_null: bool,
}

/// The inputs of a kernel.
pub struct Inputs<T: Element> {
    pub a: Blocks<T>,
    pub b: Option<Blocks<T>>,
}

/// The next one; `None` at the end. It ends soon when the stop flag is set.
pub type Each<R> = Box<dyn FnMut(&StopFlag) -> Result<Option<R>> + Send>;
/// The blocks of a result.
pub type Plan = Each<PlannedBlock>;

/// The blocks of both inputs, including those that one of them lacks.
pub fn sums<T: Element>(inputs: Arc<Inputs<T>>) -> Plan {
    let (mut a, mut b) = (0, 0);
    Box::new(move |_| {
        let others = inputs.b.as_ref().map_or(&[][..], Blocks::list);
        let place = |block: &Block| (block.i, block.j);
        let (left, right) = (inputs.a.list().get(a).map(place), others.get(b).map(place));
        let Some((i, j)) = left.into_iter().chain(right).min() else { return Ok(None) };
        let is_next = |side: Option<(Key, Key)>| side == Some((i, j));
        let work = BlockSources::Sum(is_next(left).then_some(a), is_next(right).then_some(b));
        a += usize::from(is_next(left));
        b += usize::from(is_next(right));
        Ok(Some(PlannedBlock { i, j, work }))
    })
}

pub fn scaled<T: Element>(inputs: Arc<Inputs<T>>) -> Plan {
    let planned = move |at: usize| {
        let block = inputs.a.list().get(at)?;
        Some(PlannedBlock { i: block.i, j: block.j, work: BlockSources::Scaled(at) })
    };
    let mut planned = (0..).map_while(planned);
    Box::new(move |_| Ok(planned.next()))
}

pub fn transposed<T: Element>(inputs: Arc<Inputs<T>>, memory: MemoryReservation) -> Result<Plan> {
    let list = inputs.a.list();
    memory.try_grow(list.len() * size_of::<u32>())?;
    let mut order: Vec<u32> = (0..list.len() as u32).collect();
    order.sort_by_key(|at| (list[*at as usize].j, list[*at as usize].i));
    let mut order = order.into_iter();
    Ok(Box::new(move |_| {
        // The memory is reserved as long as the order lives.
        let _ = &memory;
        let planned = |at: usize| {
            let block = inputs.a.list()[at];
            PlannedBlock { i: block.j, j: block.i, work: BlockSources::Transposed(at) }
        };
        Ok(order.next().map(|at| planned(at as usize)))
    }))
}
