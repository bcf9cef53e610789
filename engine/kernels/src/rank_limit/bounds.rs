//! For each group the k-th best row so far: worse rows are not among the first k.

use super::keys::is_exact;
use crate::running_windows::RankKind;

/// A list of keys without its keys, with what an allocator takes for a small one.
const GROUP_BYTES: usize = size_of::<Vec<u64>>() + 32;

pub struct Bounds {
    kind: RankKind,
    /// Whether rows with the same exact key are equal, see [`is_exact`].
    ties_are_equal: bool,
    k: usize,
    /// The k-th key of each group, and the greatest integer for a group with fewer keys.
    kth: Vec<u64>,
    /// The first keys of each group, sorted; at most `k`.
    first: Vec<Vec<u64>>,
    /// The sum of their capacities.
    keys_capacity: usize,
}

impl Bounds {
    pub fn new(kind: RankKind, ties_are_equal: bool, k: usize) -> Bounds {
        Bounds { kind, ties_are_equal, k, kth: Vec::new(), first: Vec::new(), keys_capacity: 0 }
    }

    pub fn grow(&mut self, groups: usize) {
        self.kth.resize(groups, u64::MAX);
        self.first.resize_with(groups, Vec::new);
    }

    pub fn size_bytes(&self) -> usize {
        self.kth.capacity() * size_of::<u64>() + self.first.capacity() * GROUP_BYTES + self.keys_capacity * size_of::<u64>()
    }

    /// Whether a row that was admitted may still be among the first.
    #[inline]
    pub fn still_admits(&self, group: usize, key: u64) -> bool {
        key <= self.kth[group]
    }

    /// Whether a row may be among the first `k` of its group. If so it is counted.
    #[inline]
    pub fn admits(&mut self, group: usize, key: u64) -> bool {
        if key > self.kth[group] {
            return false;
        }
        self.admits_slowly(group, key)
    }

    fn admits_slowly(&mut self, group: usize, key: u64) -> bool {
        let (first, k) = (&mut self.first[group], self.k);
        if first.len() == k && key == self.kth[group] {
            // It is as good as the last one, which changes nothing.
            return self.kind != RankKind::RowNumber || !self.ties_are_equal || !is_exact(key);
        }
        let at = first.partition_point(|other| *other <= key);
        if self.kind == RankKind::DenseRank && at > 0 && first[at - 1] == key {
            return true;
        }
        if first.len() == k {
            first.pop();
        } else if first.capacity() == first.len() {
            let more = first.len().clamp(1, k - first.len());
            first.reserve_exact(more);
            self.keys_capacity += more;
        }
        first.insert(at, key);
        if first.len() == k {
            self.kth[group] = first[k - 1];
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admitted(kind: RankKind, ties_are_equal: bool, k: usize, rows: &[(usize, u64)]) -> Vec<bool> {
        let mut bounds = Bounds::new(kind, ties_are_equal, k);
        bounds.grow(2);
        rows.iter().map(|(group, key)| bounds.admits(*group, *key)).collect()
    }

    #[test]
    fn a_group_admits_what_may_be_among_its_first_rows() {
        let rows = [(0, 10), (0, 30), (1, 99), (0, 20), (0, 20), (0, 30), (0, 5), (0, 20), (1, u64::MAX)];
        let of = |ties_are_equal| admitted(RankKind::RowNumber, ties_are_equal, 2, &rows);
        assert_eq!(of(true), [true, true, true, true, false, false, true, false, true]);
        assert_eq!(of(false), [true, true, true, true, true, false, true, false, true]);
        assert_eq!(admitted(RankKind::Rank, true, 2, &rows), of(false));
        assert_eq!(admitted(RankKind::DenseRank, true, 2, &rows), [true, true, true, true, true, false, true, false, true]);
        assert_eq!(admitted(RankKind::DenseRank, true, 3, &rows), [true, true, true, true, true, true, true, true, true]);
    }

    #[test]
    fn rows_without_an_exact_key_are_no_ties() {
        let kind = RankKind::RowNumber;
        assert_eq!(admitted(kind, true, 1, &[(0, 1), (0, 1)]), [true, true]);
        assert_eq!(admitted(kind, true, 1, &[(0, u64::MAX - 1), (0, u64::MAX - 1), (0, u64::MAX)]), [true, true, false]);
        assert_eq!(admitted(kind, true, 1, &[(0, u64::MAX), (0, u64::MAX), (0, 7)]), [true, false, true]);
    }
}
