//! The distance of the k-th nearest row seen so far.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::rule::Ties;

/// A distance in the order of a sort with NULLs last; NaN comes after all numbers.
#[derive(Debug, Clone, Copy)]
pub struct OrderedDistance(pub Option<f64>);

impl Ord for OrderedDistance {
    fn cmp(&self, other: &OrderedDistance) -> Ordering {
        match (self.0, other.0) {
            (Some(one), Some(other)) => one.total_cmp(&other),
            (None, None) => Ordering::Equal,
            (one, other) => one.is_none().cmp(&other.is_none()),
        }
    }
}

impl PartialOrd for OrderedDistance {
    fn partial_cmp(&self, other: &OrderedDistance) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for OrderedDistance {
    fn eq(&self, other: &OrderedDistance) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for OrderedDistance {}

/// The k smallest distances.
#[derive(Debug)]
pub struct DistanceBound {
    smallest: BinaryHeap<OrderedDistance>,
    k: usize,
    ties: Ties,
}

impl DistanceBound {
    pub fn new(k: usize, ties: Ties) -> DistanceBound {
        DistanceBound { smallest: BinaryHeap::new(), k, ties }
    }

    pub fn size_bytes(&self) -> usize {
        self.smallest.capacity() * size_of::<OrderedDistance>()
    }

    /// The k-th distance; `None` before there are k.
    pub fn last(&self) -> Option<OrderedDistance> {
        (self.smallest.len() == self.k).then(|| self.smallest.peek().copied()).flatten()
    }

    /// Whether a later row with this distance can be among the first.
    pub fn admits(&self, far: OrderedDistance) -> bool {
        self.last().is_none_or(|last| match self.ties {
            Ties::First => far < last,
            Ties::All => far <= last,
        })
    }

    /// Whether an earlier row with this distance still can be. A row with the same distance as the last may be the last.
    pub fn keeps(&self, far: OrderedDistance) -> bool {
        self.last().is_none_or(|last| far <= last)
    }

    /// Adds a distance; whether its row can be among the first.
    pub fn take(&mut self, far: OrderedDistance) -> bool {
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
        let mut bound = DistanceBound::new(2, Ties::First);
        assert!(bound.take(OrderedDistance(None)) && bound.take(OrderedDistance(Some(f64::NAN))));
        assert_eq!(bound.last(), Some(OrderedDistance(None)));
        assert!(!bound.take(OrderedDistance(None)) && bound.take(OrderedDistance(Some(5.0))));
        assert_eq!(bound.last(), Some(OrderedDistance(Some(f64::NAN))));
        assert!(
            bound.take(OrderedDistance(Some(7.0)))
                && !bound.take(OrderedDistance(Some(7.0)))
                && !bound.take(OrderedDistance(Some(f64::INFINITY)))
        );
        assert_eq!(bound.last(), Some(OrderedDistance(Some(7.0))));
        assert!(
            bound.keeps(OrderedDistance(Some(7.0))) && !bound.keeps(OrderedDistance(Some(f64::NAN))) && !bound.keeps(OrderedDistance(None))
        );
    }

    #[test]
    fn with_further_keys_all_that_are_as_far_stay() {
        let mut bound = DistanceBound::new(1, Ties::All);
        assert!((0..3).all(|_| bound.take(OrderedDistance(None))));
        assert!((0..3).all(|_| bound.take(OrderedDistance(Some(1.0)))));
        assert!(!bound.admits(OrderedDistance(None)));
    }
}
