//! A shortcut to the bin of a number: a table over ranges of numbers, most of them with at most one edge inside.
//!
//! A scale maps each number to a cell, and larger numbers never to smaller cells. All edges in cells before that of `x` are
//! then at most `x`, and all in cells after it are above; only edges in the same cell must be compared.

/// Values that are looked up together: their cells are computed with vector instructions.
pub const GROUP: usize = 64;

pub trait Scale: Copy {
    type Key: Copy + PartialOrd;
    /// A key that no number reaches.
    const NEVER: Self::Key;
    fn key(x: f64) -> Self::Key;
    /// The key that `edge` and all larger numbers reach, and no others.
    fn key_from(edge: f64) -> Self::Key;
    /// The key that all numbers above `edge` reach, and no others.
    fn key_above(edge: f64) -> Self::Key;
    fn cell(&self, x: f64) -> u32;
    fn cell_of_key(&self, key: Self::Key) -> u32;
    /// The number of cells.
    fn cells(&self) -> usize;
}

/// Cells by the highest bits of a number: a fixed number for each power of two.
#[derive(Clone, Copy, Debug)]
pub struct Powers {
    shift: u32,
    first: i32,
    last: i32,
}

impl Powers {
    /// `1 << bits` cells for each power of two, from below `low` to above `high`. `None` if they are more than `most`.
    pub fn new(low: f64, high: f64, bits: u32, most: usize) -> Option<Powers> {
        let shift = 20_u32.checked_sub(bits)?;
        let at = |edge: f64| (Self::key_from(edge) >> 32) as i32 >> shift;
        let first = at(low).checked_sub(1)?;
        let last = at(high).checked_add(1)?.checked_sub(first)?;
        (usize::try_from(last).ok()? < most).then_some(Powers { shift, first, last })
    }
}

impl Scale for Powers {
    /// The bits as an integer in the order of the numbers: -inf, …, -0.0, 0.0, …, inf, with NaN before and after.
    type Key = i64;
    const NEVER: i64 = i64::MAX;

    #[inline(always)]
    fn key(x: f64) -> i64 {
        let bits = x.to_bits() as i64;
        bits ^ (((bits >> 63) as u64) >> 1) as i64
    }

    fn key_from(edge: f64) -> i64 {
        Self::key(if edge == 0.0 { -0.0 } else { edge })
    }

    fn key_above(edge: f64) -> i64 {
        Self::key(if edge == 0.0 { 0.0 } else { edge }) + 1
    }

    #[inline(always)]
    fn cell(&self, x: f64) -> u32 {
        let high = (x.to_bits() >> 32) as i32;
        let high = high ^ (((high >> 31) as u32) >> 1) as i32;
        ((high >> self.shift) - self.first).clamp(0, self.last) as u32
    }

    fn cell_of_key(&self, key: i64) -> u32 {
        (((key >> 32) as i32 >> self.shift) - self.first).clamp(0, self.last) as u32
    }

    fn cells(&self) -> usize {
        self.last as usize + 1
    }
}

/// Cells of equal width.
#[derive(Clone, Copy, Debug)]
pub struct EvenCells {
    low: f64,
    per_cell: f64,
    last: f64,
}

impl EvenCells {
    /// `cells` cells from `low` to `high`, one below and one above. `None` if they are more than `most`, or their
    /// width is not a number.
    pub fn new(low: f64, high: f64, cells: usize, most: usize) -> Option<EvenCells> {
        let per_cell = cells as f64 / (high - low);
        let is_sound = cells.checked_add(3)? <= most && per_cell.is_finite() && per_cell > 0.0;
        is_sound.then_some(EvenCells { low, per_cell, last: (cells + 2) as f64 })
    }
}

impl Scale for EvenCells {
    type Key = f64;
    const NEVER: f64 = f64::NAN;

    #[inline(always)]
    fn key(x: f64) -> f64 {
        x
    }

    fn key_from(edge: f64) -> f64 {
        edge
    }

    fn key_above(edge: f64) -> f64 {
        if edge == f64::INFINITY { Self::NEVER } else { edge.next_up() }
    }

    #[inline(always)]
    fn cell(&self, x: f64) -> u32 {
        /// From this double on all are whole numbers, which are in the lowest bits.
        const WHOLE: f64 = (1_u64 << 52) as f64;
        let at = (x - self.low) * self.per_cell + 1.0;
        // NaN goes to cell 0, where no comparison admits it to a bin.
        let at = if at > 0.0 { at } else { 0.0 };
        let at = if at < self.last { at } else { self.last };
        (at + WHOLE).to_bits() as u32
    }

    fn cell_of_key(&self, key: f64) -> u32 {
        if key.is_nan() { self.last as u32 } else { self.cell(key) }
    }

    fn cells(&self) -> usize {
        self.last as usize + 1
    }
}

/// Two counters for each side of a key: increments of a single one would wait for each other.
const LANES: usize = 2;
/// For one cell, the values below its key and those that reached it.
pub type Tally = [[u32; 2]; LANES];

/// Ranks of numbers among keys: 0 below the first, else the number of keys that were reached.
#[derive(Clone, Debug)]
pub struct Table<S: Scale> {
    scale: S,
    /// For each cell, the number of keys in cells before it.
    before: Vec<u32>,
    /// From index 1; the last keys are ones that no number reaches.
    keys: Vec<S::Key>,
    /// A cell has fewer than `1 << steps` keys.
    steps: u32,
    /// For each cell the first key in it or after it, if no cell has more than one. Its length is one of the `SIZES`.
    next: Vec<S::Key>,
}

/// The cost of a table of this scale, less is better: comparisons for each value, then the number of cells.
pub fn cost<S: Scale>(scale: &S, edges: &[f64]) -> (u32, usize) {
    let cell = |edge: &f64| scale.cell_of_key(S::key_from(*edge));
    let (mut most, mut here) = (1_u32, 1_u32);
    for pair in edges.windows(2) {
        here = if cell(&pair[0]) == cell(&pair[1]) { here + 1 } else { 1 };
        most = most.max(here);
    }
    (u32::BITS - most.leading_zeros(), scale.cells())
}

/// Powers of two that are known at compile time need no bounds checks.
const SIZES: [usize; 3] = [512, 4096, 32768];

impl<S: Scale> Table<S> {
    /// For strictly increasing edges; only larger numbers reach the last one.
    pub fn new(scale: S, edges: &[f64]) -> Table<S> {
        let last = edges.len().saturating_sub(1);
        let key = |(at, edge): (usize, &f64)| if at == last { S::key_above(*edge) } else { S::key_from(*edge) };
        let mut keys = vec![S::NEVER];
        keys.extend(edges.iter().enumerate().map(key));
        let mut before = vec![0_u32; scale.cells() + 1];
        for key in &keys[1..] {
            before[scale.cell_of_key(*key) as usize + 1] += 1;
        }
        let steps = u32::BITS - before.iter().copied().max().unwrap_or_default().leading_zeros();
        for cell in 1..before.len() {
            before[cell] += before[cell - 1];
        }
        before.pop();
        keys.resize(keys.len() + (1 << steps), S::NEVER);
        let mut next = Vec::new();
        if let Some(size) = SIZES.into_iter().find(|size| before.len() <= *size && steps <= 1) {
            next.extend(before.iter().map(|before| keys[*before as usize + 1]));
            next.resize(size, S::NEVER);
        }
        Table { scale, before, keys, steps, next }
    }

    #[inline(always)]
    pub fn rank(&self, x: f64) -> usize {
        let key = S::key(x);
        let mut rank = self.before[self.scale.cell(x) as usize] as usize;
        for step in (0..self.steps).rev() {
            // There is no branch, because whether a number has reached an edge cannot be predicted.
            rank += usize::from(key >= self.keys[rank + (1 << step)]) << step;
        }
        rank
    }

    /// As [`Table::rank`], for many numbers at once: no lookup waits for the one before it.
    pub fn ranks(&self, values: &[f64; GROUP]) -> [u32; GROUP] {
        let keys = values.map(S::key);
        let mut ranks = values.map(|x| self.before[self.scale.cell(x) as usize]);
        for step in (0..self.steps).rev() {
            let ahead = &self.keys[1 << step..];
            for (rank, key) in ranks.iter_mut().zip(&keys) {
                *rank += u32::from(*key >= ahead[*rank as usize]) << step;
            }
        }
        ranks
    }

    /// The counters for [`Table::tally`]; empty if this table cannot tally.
    pub fn tallies(&self) -> Vec<Tally> {
        vec![Tally::default(); self.next.len()]
    }

    /// Counts for each cell how many of `values` have reached its key and how many have not. The count of a bin is the sum of
    /// some of these; summing later saves two loads for each value.
    pub fn tally(&self, values: &[[f64; GROUP]], tallies: &mut [Tally]) {
        match tallies.len() {
            512 => self.tally_into::<512>(values, tallies),
            4096 => self.tally_into::<4096>(values, tallies),
            32768 => self.tally_into::<32768>(values, tallies),
            _ => {}
        }
    }

    fn tally_into<const SIZE: usize>(&self, values: &[[f64; GROUP]], tallies: &mut [Tally]) {
        let (Ok(next), Ok(tallies)) = (<&[S::Key; SIZE]>::try_from(&self.next[..]), <&mut [Tally; SIZE]>::try_from(tallies)) else {
            unreachable!("tallies are made in the size of the table");
        };
        let (mut cells, mut keys) = ([0_u32; GROUP], [S::NEVER; GROUP]);
        for group in values {
            for (cell, x) in cells.iter_mut().zip(group) {
                *cell = self.scale.cell(*x);
            }
            for (key, x) in keys.iter_mut().zip(group) {
                *key = S::key(*x);
            }
            for (at, (cell, key)) in cells.iter().zip(&keys).enumerate() {
                let cell = *cell as usize % SIZE;
                tallies[cell][at % LANES][usize::from(*key >= next[cell])] += 1;
            }
        }
    }

    /// Passes rank and count of each tally to `add`, and sets them to zero.
    pub fn settle(&self, tallies: &mut [Tally], mut add: impl FnMut(usize, u64)) {
        for (before, tally) in self.before.iter().zip(tallies) {
            for lane in std::mem::take(tally) {
                add(*before as usize, u64::from(lane[0]));
                add(*before as usize + 1, u64::from(lane[1]));
            }
        }
    }
}
