//! How far the k-th nearest row is, of those that were seen.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::rule::Ties;

/// A distance in the order of a sort with NULLs last; NaN is after all numbers.
#[derive(Debug, Clone, Copy)]
pub struct Far(pub Option<f64>);

impl Ord for Far {
    fn cmp(&self, other: &Far) -> Ordering {
        match (self.0, other.0) {
            (Some(one), Some(other)) => one.total_cmp(&other),
            (None, None) => Ordering::Equal,
            (one, other) => one.is_none().cmp(&other.is_none()),
        }
    }
}

impl PartialOrd for Far {
    fn partial_cmp(&self, other: &Far) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Far {
    fn eq(&self, other: &Far) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Far {}

/// The k smallest distances.
#[derive(Debug)]
pub struct Bound {
    smallest: BinaryHeap<Far>,
    k: usize,
    ties: Ties,
}

impl Bound {
    pub fn new(k: usize, ties: Ties) -> Bound {
        Bound { smallest: BinaryHeap::new(), k, ties }
    }

    pub fn size_bytes(&self) -> usize {
        self.smallest.capacity() * size_of::<Far>()
    }

    /// The k-th; None before there are k.
    pub fn last(&self) -> Option<Far> {
        (self.smallest.len() == self.k).then(|| self.smallest.peek().copied()).flatten()
    }

    /// Whether a row that comes now can be among the first.
    pub fn admits(&self, far: Far) -> bool {
        self.last().is_none_or(|last| match self.ties {
            Ties::First => far < last,
            Ties::All => far <= last,
        })
    }

    /// Whether a row that came before still can be. One that is as far as the last may be the last.
    pub fn keeps(&self, far: Far) -> bool {
        self.last().is_none_or(|last| far <= last)
    }

    /// Whether the row is one of those that can be among the first.
    pub fn take(&mut self, far: Far) -> bool {
        if !self.admits(far) {
            return false;
        }
        if self.smallest.len() == self.k
            && let Some(mut last) = self.smallest.peek_mut()
        {
            *last = far.min(*last);
            return true;
        }
        self.smallest.push(far);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_is_the_kth_of_what_was_seen() {
        let mut bound = Bound::new(2, Ties::First);
        assert!(bound.take(Far(None)) && bound.take(Far(Some(f64::NAN))));
        assert_eq!(bound.last(), Some(Far(None)));
        assert!(!bound.take(Far(None)) && bound.take(Far(Some(5.0))));
        assert_eq!(bound.last(), Some(Far(Some(f64::NAN))));
        assert!(bound.take(Far(Some(7.0))) && !bound.take(Far(Some(7.0))) && !bound.take(Far(Some(f64::INFINITY))));
        assert_eq!(bound.last(), Some(Far(Some(7.0))));
        assert!(bound.keeps(Far(Some(7.0))) && !bound.keeps(Far(Some(f64::NAN))) && !bound.keeps(Far(None)));
    }

    #[test]
    fn with_further_keys_all_that_are_as_far_stay() {
        let mut bound = Bound::new(1, Ties::All);
        assert!((0..3).all(|_| bound.take(Far(None))));
        assert!((0..3).all(|_| bound.take(Far(Some(1.0)))));
        assert!(!bound.admits(Far(None)));
    }
}
