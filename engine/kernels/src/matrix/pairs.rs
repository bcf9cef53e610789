//! The blocks of a product, one row of them at a time: the blocks of the left side in a row match those of the right side by the key that
//! they share.
//!
//! If rows share a position, as they may in a join, there are as many pairs as the product of their numbers. So pairs are counted
//! before they are listed, and the memory for the list is reserved in between.

use std::ops::{Deref, Range};
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::execution::memory_pool::MemoryReservation;

use super::blocks::{Block, Blocks, BlocksState, Key};
use super::element::Element;
use super::work::{BlockSources, Each, Inputs, PendingBlock, Plan, PlannedBlock};
use crate::threads::StopFlag;
use common::tensors::refused;

type Pair = (u32, u32);

/// So many pairs are visited between two checks for cancellation.
const LOOK_PAIRS: usize = 1 << 16;
/// The memory for a block of the result while its row is listed. The pairs themselves are reserved until the block is made.
const PLANNED_BYTES: usize = size_of::<PlannedBlock>() + 2 * size_of::<(u32, usize)>() + size_of::<(u32, Vec<Pair>)>();
/// The same if pairs are not listed.
const DUE_BYTES: usize = size_of::<PendingBlock>() + 2 * size_of::<(u32, usize)>();
/// A column without a match in the row so far.
const UNMET: u32 = u32::MAX;

/// Indices of blocks of the left and the right side, and their reserved memory.
#[derive(Debug)]
pub struct Pairs {
    list: Vec<Pair>,
    _memory: MemoryReservation,
}

impl Pairs {
    /// `memory` is the reservation for the list.
    pub fn new(list: Vec<Pair>, memory: MemoryReservation) -> Pairs {
        Pairs { list, _memory: memory }
    }
}

impl Deref for Pairs {
    type Target = [Pair];

    fn deref(&self) -> &[Pair] {
        &self.list
    }
}

/// The product of two matrices, or of a matrix and a vector.
pub fn products<T: Element>(inputs: Arc<Inputs<T>>, function: &'static str, of_vector: bool, memory: MemoryReservation) -> Plan {
    row_by_row(inputs, function, memory, move |meeting, columns, memory| meeting.listed(columns, of_vector, memory))
}

/// The blocks of the product without their pairs.
pub fn products_due<T: Element>(inputs: Arc<Inputs<T>>, function: &'static str, memory: MemoryReservation) -> Each<PendingBlock> {
    row_by_row(inputs, function, memory, |meeting, columns, memory| {
        if meeting.row.start == 0 {
            meeting.reserve_every_row(columns, &memory)?;
        }
        meeting.due(columns, memory)
    })
}

/// The items that `list` returns for each row of blocks.
fn row_by_row<T: Element, R: Send + 'static>(
    inputs: Arc<Inputs<T>>,
    function: &'static str,
    memory: MemoryReservation,
    list: impl Fn(&RowProducts<'_>, &mut Columns, MemoryReservation) -> Result<Row<R>> + Send + 'static,
) -> Each<R> {
    let mut columns = None;
    let mut next = 0;
    let mut row = Row { list: Vec::new().into_iter(), _memory: memory.new_empty() };
    Box::new(move |stop| {
        let left = inputs.a.list();
        let right = inputs.b.as_ref().map_or(&[][..], Blocks::list);
        let columns = match &mut columns {
            Some(columns) => columns,
            None => columns.insert(Columns::new(right, memory.new_empty())?),
        };
        loop {
            if let Some(block) = row.list.next() {
                return Ok(Some(block));
            }
            let Some(range) = row_from(left, next) else { return Ok(None) };
            next = range.end;
            row = list(&RowProducts { left, row: range, right, function, stop }, columns, memory.new_empty())?;
        }
    })
}

/// The row of blocks that begins at `start`; `None` at the end.
fn row_from(left: &[Block], start: usize) -> Option<Range<usize>> {
    let first = left.get(start)?;
    Some(start..start + left[start..].partition_point(|block| block.i == first.i))
}

/// The rest of a row of blocks.
struct Row<R> {
    list: std::vec::IntoIter<R>,
    /// The memory of everything but the pairs.
    _memory: MemoryReservation,
}

/// The columns of the right side.
struct Columns {
    keys: Vec<Key>,
    /// For each block, its column.
    of_block: Vec<u32>,
    /// For each column, its index in the list of the current row.
    places: Vec<u32>,
    _memory: MemoryReservation,
}

impl Columns {
    fn new(right: &[Block], memory: MemoryReservation) -> Result<Columns> {
        memory.try_grow(right.len() * (size_of::<Key>() + 2 * size_of::<u32>()))?;
        let mut keys: Vec<Key> = right.iter().map(|block| block.j).collect();
        keys.sort_unstable();
        keys.dedup();
        keys.shrink_to_fit();
        let of_block = right.iter().map(|block| keys.partition_point(|key| *key < block.j) as u32).collect();
        let places = vec![UNMET; keys.len()];
        memory.resize(keys.len() * (size_of::<Key>() + size_of::<u32>()) + right.len() * size_of::<u32>());
        Ok(Columns { keys, of_block, places, _memory: memory })
    }
}

/// A row of blocks of the left side, and all of the right side.
struct RowProducts<'a> {
    left: &'a [Block],
    row: Range<usize>,
    right: &'a [Block],
    function: &'static str,
    stop: &'a StopFlag,
}

impl RowProducts<'_> {
    /// The blocks of the right side that match a block.
    fn matching(&self, a: usize) -> Range<usize> {
        let key = self.left[a].j;
        let start = self.right.partition_point(|other| other.i < key);
        start..start + self.right[start..].partition_point(|other| other.i == key)
    }

    /// Calls `give` for each matching pair, and says whether both are complete. Others count as no pair: any aggregate ignores NULLs.
    fn for_each(&self, mut give: impl FnMut(usize, usize, bool)) -> Result<()> {
        for a in self.row.clone() {
            let matching = self.matching(a);
            for start in matching.clone().step_by(LOOK_PAIRS) {
                self.stop.check()?;
                for b in start..matching.end.min(start + LOOK_PAIRS) {
                    match (self.left[a].state, self.right[b].state) {
                        (BlocksState::Whole, BlocksState::Whole) => give(a, b, true),
                        (BlocksState::Null, _) | (_, BlocksState::Null) => give(a, b, false),
                        _ => return Err(refused(format!("{}: a block has an element that is NULL", self.function), None)),
                    }
                }
            }
        }
        Ok(())
    }

    /// An upper bound of the number of pairs.
    fn count(&self) -> Result<usize> {
        let mut count: usize = 0;
        for a in self.row.clone() {
            self.stop.check()?;
            count = count.saturating_add(self.matching(a).len());
        }
        Ok(count)
    }

    /// The bytes of the row while it is listed: the total, and the part besides the pairs.
    fn listed_bytes(&self, columns: &Columns) -> Result<(usize, usize)> {
        let count = self.count()?;
        let of_blocks = count.min(columns.keys.len()) * PLANNED_BYTES;
        Ok((count.saturating_mul(size_of::<Pair>()).saturating_add(of_blocks), of_blocks))
    }

    /// An error if there is no memory to list one of the rows, before any pair is visited. The memory is reserved once and released: while
    /// rows are made, the listed ones hold memory, and another check for a later row would refuse a row that has room.
    fn reserve_every_row(&self, columns: &Columns, memory: &MemoryReservation) -> Result<()> {
        let (mut most_bytes, mut next) = (0, 0);
        while let Some(row) = row_from(self.left, next) {
            next = row.end;
            most_bytes = RowProducts { row, ..*self }.listed_bytes(columns)?.0.max(most_bytes);
        }
        memory.try_grow(most_bytes)?;
        memory.shrink(most_bytes);
        Ok(())
    }

    /// The blocks of the row of the result, in the order of their columns.
    fn listed(&self, columns: &mut Columns, of_vector: bool, memory: MemoryReservation) -> Result<Row<PlannedBlock>> {
        let (all_bytes, block_bytes) = self.listed_bytes(columns)?;
        memory.try_grow(all_bytes)?;
        let mut lists = self.lists(columns)?;
        lists.sort_unstable_by_key(|(column, _)| *column);
        let planned = lists.into_iter().map(|(column, pairs)| {
            columns.places[column as usize] = UNMET;
            let pairs_memory = memory.split(std::mem::size_of_val(pairs.as_slice()));
            let work = match pairs.is_empty() {
                true => BlockSources::Null,
                false if of_vector => BlockSources::VectorProducts(Pairs::new(pairs, pairs_memory)),
                false => BlockSources::Products(Pairs::new(pairs, pairs_memory)),
            };
            PlannedBlock { i: self.left[self.row.start].i, j: columns.keys[column as usize], work }
        });
        let planned: Vec<PlannedBlock> = planned.collect();
        memory.resize(block_bytes);
        Ok(Row { list: planned.into_iter(), _memory: memory })
    }

    /// The same row of the result as `listed` returns, without pairs.
    fn due(&self, columns: &mut Columns, memory: MemoryReservation) -> Result<Row<PendingBlock>> {
        memory.try_grow(self.count()?.min(columns.keys.len()) * DUE_BYTES)?;
        let mut counts = self.counts(columns)?;
        counts.sort_unstable_by_key(|(column, _)| *column);
        let due = counts.into_iter().map(|(column, count)| {
            columns.places[column as usize] = UNMET;
            PendingBlock { i: self.left[self.row.start].i, j: columns.keys[column as usize], is_null: count == 0 }
        });
        let due: Vec<PendingBlock> = due.collect();
        Ok(Row { list: due.into_iter(), _memory: memory })
    }

    /// The matching columns, and the number of their pairs. It sets their places to their order here.
    fn counts(&self, Columns { of_block, places, .. }: &mut Columns) -> Result<Vec<(u32, usize)>> {
        let mut counts: Vec<(u32, usize)> = Vec::new();
        self.for_each(|_, b, is_whole| {
            let column = of_block[b];
            let place = &mut places[column as usize];
            if *place == UNMET {
                *place = counts.len() as u32;
                counts.push((column, 0));
            }
            counts[*place as usize].1 += usize::from(is_whole);
        })?;
        Ok(counts)
    }

    /// The pairs of each matching column; a second pass over them fills what the first one has counted.
    fn lists(&self, columns: &mut Columns) -> Result<Vec<(u32, Vec<Pair>)>> {
        let counts = self.counts(columns)?;
        let Columns { of_block, places, .. } = columns;
        let mut lists: Vec<(u32, Vec<Pair>)> = counts.iter().map(|(column, count)| (*column, Vec::with_capacity(*count))).collect();
        self.for_each(|a, b, is_whole| {
            if is_whole {
                lists[places[of_block[b] as usize] as usize].1.push((a as u32, b as u32));
            }
        })?;
        Ok(lists)
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, FixedSizeListArray, Float64Array, Int64Array, RecordBatch};
    use arrow::datatypes::{DataType, Field};
    use datafusion::common::DataFusionError;
    use datafusion::execution::memory_pool::{GreedyMemoryPool, MemoryConsumer, MemoryPool};

    use super::super::blocks::{ColumnIndices, Rule};
    use super::super::layout::Layout;
    use super::*;

    /// Blocks of one number with these keys.
    fn side(i: Vec<i64>, j: Vec<i64>, rule: Rule) -> Blocks<f64> {
        let item = Arc::new(Field::new_list_field(DataType::Float64, true));
        let blocks = FixedSizeListArray::new(item, 1, Arc::new(Float64Array::from(vec![1.0; i.len()])), None);
        let keys = |keys: Vec<i64>| Arc::new(Int64Array::from(keys)) as ArrayRef;
        let batch = RecordBatch::try_from_iter([("i", keys(i)), ("j", keys(j)), ("block", Arc::new(blocks) as ArrayRef)]).unwrap();
        let layout = Layout { name: "t".into(), element: DataType::Float64, block: [1, 1], shape: None, is_vector: false };
        Blocks::new(&[batch], ColumnIndices { i: 0, j: Some(1), block: 2 }, &layout, rule, "f").unwrap()
    }

    fn inputs(a: [Vec<i64>; 2], b: [Vec<i64>; 2]) -> Arc<Inputs<f64>> {
        let ([ai, aj], [bi, bj]) = (a, b);
        Arc::new(Inputs { a: side(ai, aj, Rule::JoinedByJ), b: Some(side(bi, bj, Rule::JoinedByI)) })
    }

    fn plan(a: [Vec<i64>; 2], b: [Vec<i64>; 2], limit_bytes: usize) -> (Plan, Arc<dyn MemoryPool>) {
        let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(limit_bytes));
        (products(inputs(a, b), "f", false, MemoryConsumer::new("f").register(&pool)), pool)
    }

    #[test]
    fn blocks_match_by_their_shared_key_and_pairs_release_their_memory() {
        let (mut plan, pool) = plan([vec![0, 0, 1], vec![0, 1, 1]], [vec![0, 1, 1, 2], vec![7, 5, 7, 9]], 1 << 20);
        let mut blocks = Vec::new();
        while let Some(planned) = plan(&StopFlag::default()).unwrap() {
            let BlockSources::Products(pairs) = &planned.work else { panic!("{planned:?}") };
            blocks.push((planned.i.unwrap(), planned.j.unwrap(), pairs.to_vec()));
        }
        assert_eq!(blocks, [(0, 5, vec![(1, 1)]), (0, 7, vec![(0, 0), (1, 2)]), (1, 5, vec![(2, 1)]), (1, 7, vec![(2, 2)])]);
        drop(plan);
        assert_eq!(pool.reserved(), 0);
    }

    #[test]
    fn pending_blocks_are_those_of_the_plan_in_less_memory() {
        let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(1 << 20));
        let memory = || MemoryConsumer::new("f").register(&pool);
        // 40,000 pairs, in 3 columns.
        let rows: Vec<i64> = (0..200).map(|row| row / 100).collect();
        let columns: Vec<i64> = (0..400).map(|column| column % 3).collect();
        let inputs = inputs([rows, vec![0; 200]], [vec![0; 400], columns]);
        let mut due = products_due(Arc::clone(&inputs), "f", memory());
        let mut plan = products(inputs, "f", false, memory());
        let stop = StopFlag::default();
        let (mut peak_due, mut peak) = (0, 0);
        for block in 0..6 {
            let pending = due(&stop).unwrap().unwrap();
            peak_due = peak_due.max(pool.reserved());
            assert_eq!((pending.i, pending.j, pending.is_null), (Some(block / 3), Some(block % 3), false));
        }
        assert_eq!(due(&stop).unwrap(), None);
        drop(due);
        for block in 0..6 {
            let planned = plan(&stop).unwrap().unwrap();
            peak = peak.max(pool.reserved());
            assert_eq!(planned.due(), PendingBlock { i: Some(block / 3), j: Some(block % 3), is_null: false });
        }
        assert!(peak > 20_000 * size_of::<Pair>() && peak_due < 8192, "{peak_due} and {peak}");
    }

    #[test]
    fn pairs_that_memory_has_no_room_for_are_refused_before_they_are_listed() {
        // There are 10^10 pairs.
        let same = || [vec![0; 100_000], vec![0; 100_000]];
        let (mut plan, pool) = plan(same(), same(), 64 << 20);
        assert!(matches!(plan(&StopFlag::default()), Err(DataFusionError::ResourcesExhausted(_))));
        drop(plan);
        assert_eq!(pool.reserved(), 0);
        // The first row has 10 pairs, and the second 10^10.
        let sides = inputs([[vec![0; 10], vec![1; 100_000]].concat(), [vec![0; 10], vec![1; 100_000]].concat()], {
            [[vec![0], vec![1; 100_000]].concat(), vec![0; 100_001]]
        });
        let mut due = products_due(sides, "f", MemoryConsumer::new("f").register(&pool));
        assert!(matches!(due(&StopFlag::default()), Err(DataFusionError::ResourcesExhausted(_))));
        drop(due);
        assert_eq!(pool.reserved(), 0);
    }

    #[test]
    fn pairs_that_nobody_waits_for_are_not_listed() {
        let same = || [vec![0; 100_000], vec![0; 100_000]];
        let (mut plan, _) = plan(same(), same(), usize::MAX);
        let stop = StopFlag::default();
        stop.set();
        assert!(plan(&stop).unwrap_err().to_string().contains("cancelled"));
    }
}
