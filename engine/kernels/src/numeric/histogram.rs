//! Histograms with any increasing edges: numpy's bins, of which the last one is closed.

use super::cells::{EvenCells, GROUP, Powers, Scale, Table, Tally, cost};

/// Tables up to this size are preferred to the fewest comparisons: they stay in the cache.
const CELLS_WANTED: usize = 1 << 15;
/// At most so many values are counted in 32 bits.
const TALLIED_MAX: usize = 1 << 30;

/// The reason why edges make no bins.
#[derive(Clone, Debug, PartialEq)]
pub enum EdgesError {
    TooFew {
        found: usize,
    },
    /// `after`, at `index` (from 0), is not above `before`.
    NotIncreasing {
        index: usize,
        before: f64,
        after: f64,
    },
    NotANumber {
        index: usize,
    },
}

impl std::fmt::Display for EdgesError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            EdgesError::TooFew { found: 1 } => write!(out, "one edge makes no bin: at least 2 are needed"),
            EdgesError::TooFew { found } => write!(out, "{found} edges make no bin: at least 2 are needed"),
            EdgesError::NotIncreasing { index, before, after } => {
                write!(out, "edges must increase: edge {} is {after}, after {before}", index + 1)
            }
            EdgesError::NotANumber { index } => write!(out, "edge {} is NaN: edges must be numbers", index + 1),
        }
    }
}

impl std::error::Error for EdgesError {}

/// Bins `[e0, e1), [e1, e2), …, [eN-1, eN]`.
#[derive(Clone, Debug)]
pub struct Bins {
    edges: Vec<f64>,
    search: Search,
}

/// Edges that grow by a factor want cells by powers of two; evenly spaced ones want even cells.
#[derive(Clone, Debug)]
enum Search {
    Powers(Table<Powers>),
    Even(Table<EvenCells>),
}

impl Bins {
    /// Edges strictly increase; infinity may be at the ends.
    pub fn new(edges: &[f64]) -> Result<Bins, EdgesError> {
        if edges.len() < 2 {
            return Err(EdgesError::TooFew { found: edges.len() });
        }
        if let Some(index) = edges.iter().position(|edge| edge.is_nan()) {
            return Err(EdgesError::NotANumber { index });
        }
        if let Some(index) = edges.windows(2).position(|pair| pair[0] >= pair[1]) {
            return Err(EdgesError::NotIncreasing { index: index + 1, before: edges[index], after: edges[index + 1] });
        }
        Ok(Bins { edges: edges.to_vec(), search: Search::best(edges) })
    }

    /// The number of bins.
    pub fn len(&self) -> usize {
        self.edges.len() - 1
    }

    pub fn edges(&self) -> &[f64] {
        &self.edges
    }

    /// The bin of `x`. `None` for NaN and for values outside of all bins.
    pub fn find(&self, x: f64) -> Option<usize> {
        let rank = match &self.search {
            Search::Powers(table) => table.rank(x),
            Search::Even(table) => table.rank(x),
        };
        rank.checked_sub(1).filter(|bin| *bin < self.len())
    }
}

/// Counts of the bins so far, in the form that is fastest to increment.
#[derive(Clone, Debug)]
pub struct Counter {
    counts: Vec<u64>,
    tallies: Vec<Tally>,
    /// The number of values in the tallies, which have 32 bits.
    tallied: usize,
}

impl Counter {
    pub fn new(bins: &Bins) -> Counter {
        let tallies = match &bins.search {
            Search::Powers(table) => table.tallies(),
            Search::Even(table) => table.tallies(),
        };
        Counter { counts: vec![0; bins.len()], tallies, tallied: 0 }
    }

    /// `bins` are the bins that this was made for.
    pub fn add(&mut self, bins: &Bins, values: &[f64]) {
        let (groups, rest) = values.as_chunks::<GROUP>();
        for groups in groups.chunks(TALLIED_MAX / GROUP) {
            if self.tallied > TALLIED_MAX {
                self.settle(bins);
            }
            self.tallied += groups.len() * GROUP;
            match &bins.search {
                Search::Powers(table) => self.add_groups(table, groups),
                Search::Even(table) => self.add_groups(table, groups),
            }
        }
        for x in rest {
            if let Some(bin) = bins.find(*x) {
                self.counts[bin] += 1;
            }
        }
    }

    fn add_groups<S: Scale>(&mut self, table: &Table<S>, groups: &[[f64; GROUP]]) {
        if !self.tallies.is_empty() {
            return table.tally(groups, &mut self.tallies);
        }
        for group in groups {
            for rank in table.ranks(group) {
                // Rank 0 is below the first edge, and wraps to an index without a bin.
                if let Some(count) = self.counts.get_mut((rank as usize).wrapping_sub(1)) {
                    *count += 1;
                }
            }
        }
    }

    /// The count of each bin.
    pub fn counts(mut self, bins: &Bins) -> Vec<u64> {
        self.settle(bins);
        self.counts
    }

    fn settle(&mut self, bins: &Bins) {
        let counts = &mut self.counts;
        let add = |rank: usize, count: u64| {
            if let Some(total) = rank.checked_sub(1).and_then(|bin| counts.get_mut(bin)) {
                *total += count;
            }
        };
        match &bins.search {
            Search::Powers(table) => table.settle(&mut self.tallies, add),
            Search::Even(table) => table.settle(&mut self.tallies, add),
        }
        self.tallied = 0;
    }

    pub fn size_bytes(&self) -> usize {
        size_of_val(&self.counts[..]) + size_of_val(&self.tallies[..])
    }
}

impl Search {
    fn best(edges: &[f64]) -> Search {
        // The outermost edges have their own cells, with everything beyond the others.
        let inner = if edges.len() < 3 { edges } else { &edges[1..edges.len() - 1] };
        let (low, high) = (inner[0], inner[inner.len() - 1]);
        let cell_count = CELLS_WANTED.max(edges.len().saturating_mul(4));
        let powers = (0..=20).map_while(|bits| Powers::new(low, high, bits, cell_count)).min_by_key(|scale| cost(scale, edges));
        let sizes = std::iter::successors(Some(edges.len()), |size| size.checked_mul(2));
        let even = sizes.map_while(|cells| EvenCells::new(low, high, cells, cell_count)).min_by_key(|scale| cost(scale, edges));
        match (powers, even) {
            (Some(powers), Some(even)) if cost(&even, edges) < cost(&powers, edges) => Search::Even(Table::new(even, edges)),
            (Some(powers), _) => Search::Powers(Table::new(powers, edges)),
            (None, Some(even)) => Search::Even(Table::new(even, edges)),
            (None, None) => unreachable!("one cell for each power of two are few"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts by the definition of bins, one comparison after the other.
    fn counted_plainly(edges: &[f64], values: &[f64]) -> Vec<u64> {
        let last = edges.len() - 2;
        let is_in = |bin: usize, x: f64| edges[bin] <= x && (x < edges[bin + 1] || (bin == last && x == edges[bin + 1]));
        (0..=last).map(|bin| values.iter().filter(|x| is_in(bin, **x)).count() as u64).collect()
    }

    /// Values on both sides of every edge, far away from all, and special numbers.
    fn probes(edges: &[f64]) -> Vec<f64> {
        let near = |edge: &f64| [edge.next_down(), *edge, edge.next_up(), edge * 1.0001, -*edge, edge / 3.0];
        let mut probes: Vec<f64> = edges.iter().flat_map(near).collect();
        probes.extend(edges.windows(2).map(|pair| pair[0] / 2.0 + pair[1] / 2.0));
        probes.extend([0.0, -0.0, f64::MIN_POSITIVE, 5e-324, -5e-324, f64::MAX, f64::MIN, f64::INFINITY, f64::NEG_INFINITY]);
        probes.extend([0x7FFF_FFFF_FFFF_FFFF, 0xFFFF_FFFF_FFFF_FFFF, 0x7FF0_0000_0000_0001, 0xFFF0_0000_0000_0001].map(f64::from_bits));
        probes.extend([f64::NAN, -f64::NAN]);
        probes
    }

    fn geometric(n: usize) -> Vec<f64> {
        let inner = (0..n).map(|at| 0.01 * 5000_f64.powf(at as f64 / (n - 1) as f64));
        std::iter::once(0.0).chain(inner).chain([f64::INFINITY]).collect()
    }

    fn many_edges() -> Vec<Vec<f64>> {
        let even = |n: i32, step: f64| (0..=n).map(|at| f64::from(at - n / 2) * step).collect::<Vec<_>>();
        vec![
            geometric(139),
            even(10, 1.0),
            even(1000, 0.01),
            even(70_000, 1e-3),
            vec![0.0, 1.0],
            vec![-0.0, f64::INFINITY],
            vec![f64::NEG_INFINITY, f64::INFINITY],
            vec![f64::NEG_INFINITY, 0.0, f64::INFINITY],
            vec![f64::NEG_INFINITY, -1.0, -0.0, 1.0],
            vec![-3.0, -2.0, 0.0],
            vec![f64::MIN, f64::MAX],
            vec![f64::MIN, -1.0, 1.0, f64::MAX],
            vec![-1e300, -1e-300, 0.0, 5e-324, 1e-300, 1e300],
            (0..40).map(|at| f64::from_bits(1.0_f64.to_bits() + at)).collect(),
            [0.0, 1.0].into_iter().chain((1..9).map(|at| 1.0 + f64::from(at) * f64::EPSILON)).chain([1e9, 1e18]).collect(),
            (-40..=40).map(|at| f64::from(at) * f64::from(i32::abs(at)).exp()).collect(),
        ]
    }

    #[test]
    fn a_number_is_in_the_bin_whose_edges_enclose_it() {
        for edges in many_edges() {
            let bins = Bins::new(&edges).unwrap();
            for x in probes(&edges) {
                let below = edges.partition_point(|edge| *edge <= x);
                let last = edges.len() - 1;
                let expected = if x == edges[last] { Some(last - 1) } else { below.checked_sub(1).filter(|bin| *bin < last) };
                assert_eq!(bins.find(x), expected.filter(|_| !x.is_nan()), "{x:?} in {} edges", edges.len());
            }
        }
    }

    #[test]
    fn counts_are_those_of_comparing_with_every_edge() {
        for edges in many_edges().into_iter().filter(|edges| edges.len() < 2000) {
            let bins = Bins::new(&edges).unwrap();
            let values: Vec<f64> = probes(&edges).into_iter().cycle().take(5003).collect();
            let expected = counted_plainly(&edges, &values);
            let mut counter = Counter::new(&bins);
            for batch in values.chunks(801) {
                counter.add(&bins, batch);
            }
            assert_eq!(counter.counts(&bins), expected, "{} edges", edges.len());
        }
    }

    #[test]
    fn uneven_and_even_edges_need_one_comparison_for_a_number() {
        for edges in [geometric(139), (0..=1000).map(f64::from).collect(), (-500..500).map(|at| f64::from(at) * 1e-3).collect()] {
            assert!(!Counter::new(&Bins::new(&edges).unwrap()).tallies.is_empty(), "{} edges", edges.len());
        }
    }

    #[test]
    fn edges_that_make_no_bins_are_refused() {
        assert_eq!(Bins::new(&[]).unwrap_err(), EdgesError::TooFew { found: 0 });
        assert_eq!(Bins::new(&[1.0]).unwrap_err().to_string(), "one edge makes no bin: at least 2 are needed");
        assert_eq!(Bins::new(&[1.0, f64::NAN]).unwrap_err().to_string(), "edge 2 is NaN: edges must be numbers");
        let error = Bins::new(&[0.0, 1.0, 1.0]).unwrap_err();
        assert_eq!(error.to_string(), "edges must increase: edge 3 is 1, after 1");
        assert!(Bins::new(&[0.0, -0.0]).is_err());
    }

    #[test]
    fn without_values_all_counts_are_zero() {
        let bins = Bins::new(&[0.0, 1.0, 2.0]).unwrap();
        let mut counter = Counter::new(&bins);
        counter.add(&bins, &[]);
        assert_eq!(counter.counts(&bins), [0, 0]);
    }

    #[test]
    fn counts_do_not_depend_on_how_often_tallies_are_settled() {
        let bins = Bins::new(&geometric(139)).unwrap();
        let values: Vec<f64> = probes(bins.edges()).into_iter().cycle().take(3 * GROUP).collect();
        let (mut once, mut often) = (Counter::new(&bins), Counter::new(&bins));
        for _ in 0..5 {
            once.add(&bins, &values);
            often.add(&bins, &values);
            often.settle(&bins);
        }
        assert_eq!(once.counts(&bins), often.counts(&bins));
    }
}
