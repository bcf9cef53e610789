//! A sorted sequence in chunks; copies of it share the chunks.
//!
//! A commit changes a few tables of a catalog of many: a copy costs one pointer per chunk, a change
//! one chunk, and two copies differ only in the chunks that they do not share.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::Arc;

/// A larger chunk is split into two.
const CHUNK_MAX: usize = 256;

#[derive(Debug)]
pub struct Chunks<T> {
    /// No chunk is empty.
    chunks: Arc<Vec<Arc<Vec<T>>>>,
}

impl<T> Clone for Chunks<T> {
    fn clone(&self) -> Self {
        Chunks { chunks: Arc::clone(&self.chunks) }
    }
}

impl<T> Default for Chunks<T> {
    fn default() -> Self {
        Chunks { chunks: Arc::default() }
    }
}

/// `order` always compares an element with the searched one.
impl<T: Clone> Chunks<T> {
    /// `sorted` is ascending, without equal elements.
    pub fn of(sorted: &[T]) -> Chunks<T> {
        Chunks { chunks: Arc::new(sorted.chunks(CHUNK_MAX / 2).map(|chunk| Arc::new(chunk.to_vec())).collect()) }
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.chunks.iter().flat_map(|chunk| chunk.iter())
    }

    pub fn get(&self, order: impl Fn(&T) -> Ordering) -> Option<&T> {
        let chunk = self.chunks.get(self.chunk_of(&order))?;
        chunk.binary_search_by(order).ok().map(|at| &chunk[at])
    }

    /// Inserts an element, or replaces its equal.
    pub fn put(&mut self, new: T, order: impl Fn(&T) -> Ordering) {
        let at = self.chunk_of(&order).min(self.chunks.len().saturating_sub(1));
        let chunks = Arc::make_mut(&mut self.chunks);
        let Some(chunk) = chunks.get_mut(at) else {
            chunks.push(Arc::new(vec![new]));
            return;
        };
        let chunk = Arc::make_mut(chunk);
        match chunk.binary_search_by(order) {
            Ok(place) => chunk[place] = new,
            Err(place) => chunk.insert(place, new),
        }
        if chunk.len() > CHUNK_MAX {
            let upper = chunk.split_off(CHUNK_MAX / 2);
            chunks.insert(at + 1, Arc::new(upper));
        }
    }

    pub fn remove(&mut self, order: impl Fn(&T) -> Ordering) -> Option<T> {
        let at = self.chunk_of(&order);
        let place = self.chunks.get(at)?.binary_search_by(order).ok()?;
        let chunks = Arc::make_mut(&mut self.chunks);
        let chunk = Arc::make_mut(&mut chunks[at]);
        let removed = chunk.remove(place);
        if chunk.is_empty() {
            chunks.remove(at);
        }
        Some(removed)
    }

    /// The index of the first chunk that may hold the searched element; the number of chunks if none does.
    fn chunk_of(&self, order: impl Fn(&T) -> Ordering) -> usize {
        self.chunks.partition_point(|chunk| chunk.last().is_some_and(|last| order(last) == Ordering::Less))
    }

    /// Whether one is an unchanged copy of the other.
    pub fn is_copy_of(&self, other: &Chunks<T>) -> bool {
        Arc::ptr_eq(&self.chunks, &other.chunks)
    }

    /// The elements of chunks that `other` does not share: all that differ from it, and some neighbours.
    pub fn not_shared_with(&self, other: &Chunks<T>) -> impl Iterator<Item = &T> {
        let (mine, others): (&[_], &[_]) = match self.is_copy_of(other) {
            true => (&[], &[]),
            false => (&self.chunks, &other.chunks),
        };
        let shared: HashSet<*const Vec<T>> = others.iter().map(Arc::as_ptr).collect();
        mine.iter().filter(move |chunk| !shared.contains(&Arc::as_ptr(chunk))).flat_map(|chunk| chunk.iter())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    type Pair = (u64, u64);

    fn put(chunks: &mut Chunks<Pair>, pair: Pair) {
        chunks.put(pair, |other| other.0.cmp(&pair.0));
    }

    fn numbers(seed: u64) -> impl Iterator<Item = u64> {
        std::iter::successors(Some(seed), |last| Some(last.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407)))
            .map(|number| number >> 33)
    }

    #[test]
    fn they_hold_what_a_map_holds_after_the_same_changes() {
        let mut chunks = Chunks::default();
        let mut map = BTreeMap::new();
        for (step, number) in (0..20_000_u64).zip(numbers(7)) {
            let key = number % 3_000;
            if number % 5 < 2 {
                assert_eq!(chunks.remove(|pair: &Pair| pair.0.cmp(&key)), map.remove(&key).map(|value| (key, value)));
            } else {
                put(&mut chunks, (key, step));
                map.insert(key, step);
            }
            let lookup_key = number % 3_001;
            assert_eq!(chunks.get(|pair| pair.0.cmp(&lookup_key)).map(|pair| pair.1), map.get(&lookup_key).copied());
        }
        assert!(chunks.iter().copied().eq(map.into_iter()));
        assert!(chunks.chunks.iter().all(|chunk| !chunk.is_empty() && chunk.len() <= CHUNK_MAX));
    }

    #[test]
    fn a_copy_does_not_see_later_changes_and_shares_all_else() {
        let pairs: Vec<Pair> = (0..10_000).map(|key| (key, 0)).collect();
        let before = Chunks::of(&pairs);
        let mut after = before.clone();
        assert!(after.is_copy_of(&before));
        assert_eq!(after.not_shared_with(&before).count(), 0);
        put(&mut after, (5_000, 1));
        put(&mut after, (20_000, 1));
        after.remove(|pair| pair.0.cmp(&70));
        assert!(before.iter().copied().eq(pairs.iter().copied()));
        let new: Vec<Pair> = after.not_shared_with(&before).copied().collect();
        let old: Vec<Pair> = before.not_shared_with(&after).copied().collect();
        assert!(new.len() <= 4 * CHUNK_MAX && new.contains(&(5_000, 1)) && new.contains(&(20_000, 1)) && !new.contains(&(70, 0)));
        assert!(old.len() <= 4 * CHUNK_MAX && old.contains(&(5_000, 0)) && old.contains(&(70, 0)));
        // All others are the same on both sides.
        let apart: Vec<u64> = new.iter().filter(|pair| !old.contains(pair)).map(|pair| pair.0).collect();
        assert_eq!(apart, [5_000, 20_000]);
    }

    #[test]
    fn an_empty_sequence_gains_and_loses_its_only_element() {
        let mut chunks = Chunks::default();
        assert_eq!(chunks.get(|pair: &Pair| pair.0.cmp(&1)), None);
        assert_eq!(chunks.remove(|pair: &Pair| pair.0.cmp(&1)), None);
        put(&mut chunks, (1, 2));
        assert_eq!(chunks.remove(|pair| pair.0.cmp(&1)), Some((1, 2)));
        assert_eq!(chunks.iter().count(), 0);
    }
}
