//! How many rows of an expensive expression to evaluate at once.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long a slice should take at most: a cancellation waits for it.
const SLICE: Duration = Duration::from_millis(8);
const SLICE_MAX: Duration = Duration::from_millis(50);

/// An evaluation has a fixed cost, such as compiling a regular expression. It is at most the time of the shortest evaluation so far.
/// Slices that are longer by this factor keep the fixed cost a small part.
const SHORTEST_PER_SLICE: u64 = 4;

/// It is not known yet how long a row takes.
const ROWS_FIRST: usize = 8;
const GROWTH_MAX: usize = 8;
/// More than any batch has.
const ROWS_MAX: usize = 1 << 20;

/// Learned from slice to slice. Threads that share one may lose each other's updates. Then a slice is a little too long or too short.
#[derive(Debug)]
pub struct AdaptiveSlice {
    /// At least 1.
    rows: AtomicUsize,
    shortest_ns: AtomicU64,
}

impl Default for AdaptiveSlice {
    fn default() -> Self {
        AdaptiveSlice { rows: AtomicUsize::new(ROWS_FIRST), shortest_ns: AtomicU64::new(u64::MAX) }
    }
}

impl AdaptiveSlice {
    /// Rows of the next slice; all slices of what remains will be about as long.
    pub fn slice(&self, remaining: usize) -> usize {
        let slices = remaining.div_ceil(self.rows.load(Ordering::Relaxed)).max(1);
        remaining.div_ceil(slices)
    }

    /// Evaluates `rows` rows and learns from the time that it takes.
    pub fn timed<T>(&self, rows: usize, evaluate: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = evaluate();
        self.learn(rows, start.elapsed());
        result
    }

    fn learn(&self, rows: usize, took: Duration) {
        let took_ns = nanoseconds(took).max(1);
        let shortest_ns = self.shortest_ns.fetch_min(took_ns, Ordering::Relaxed).min(took_ns);
        let slice_ns = shortest_ns.saturating_mul(SHORTEST_PER_SLICE).clamp(nanoseconds(SLICE), nanoseconds(SLICE_MAX));
        let allowed = self.rows.load(Ordering::Relaxed);
        // A short time for few rows says nothing about many rows.
        if took_ns < slice_ns && rows.saturating_mul(2) < allowed {
            return;
        }
        let most = allowed.max(rows).saturating_mul(GROWTH_MAX).min(ROWS_MAX);
        let fitting = u128::from(slice_ns) * rows as u128 / u128::from(took_ns);
        self.rows.store(usize::try_from(fitting).unwrap_or(most).clamp(1, most), Ordering::Relaxed);
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Slices of `batches` batches of 8,192 rows: rows and time of each.
    fn slices(pace: &AdaptiveSlice, batches: usize, took: impl Fn(usize) -> Duration) -> Vec<(usize, Duration)> {
        let mut slices = Vec::new();
        for _ in 0..batches {
            let mut remaining = 8192;
            while remaining > 0 {
                let rows = pace.slice(remaining);
                pace.learn(rows, took(rows));
                slices.push((rows, took(rows)));
                remaining -= rows;
            }
        }
        slices
    }

    #[test]
    fn cheap_rows_are_soon_evaluated_a_batch_at_a_time() {
        let pace = AdaptiveSlice::default();
        let first = slices(&pace, 1, |rows| Duration::from_nanos(50 * rows as u64));
        assert!(first.len() <= 6, "{first:?}");
        let later = slices(&pace, 10, |rows| Duration::from_nanos(50 * rows as u64));
        assert!(later.iter().all(|(rows, _)| *rows == 8192), "{later:?}");
    }

    #[test]
    fn dear_rows_are_evaluated_some_milliseconds_at_a_time() {
        let pace = AdaptiveSlice::default();
        let took = slices(&pace, 2, |rows| Duration::from_micros(230 * rows as u64));
        assert!(took.iter().all(|(_, took)| *took <= SLICE_MAX), "{took:?}");
        assert!(took.len() >= 2 * 8192 * 230 / 50_000, "{} slices", took.len());
    }

    #[test]
    fn what_an_evaluation_costs_by_itself_is_not_paid_much_more_often() {
        let pace = AdaptiveSlice::default();
        let fixed = Duration::from_millis(3);
        let took = slices(&pace, 4, |rows| fixed + Duration::from_micros(100 * rows as u64));
        let fixed_in_all = fixed * u32::try_from(took.len()).unwrap();
        let all: Duration = took.iter().map(|(_, took)| *took).sum();
        assert!(fixed_in_all * 3 < all, "{fixed_in_all:?} of {all:?}");
    }

    #[test]
    fn a_pause_of_the_machine_is_forgotten() {
        let pace = AdaptiveSlice::default();
        slices(&pace, 2, |rows| Duration::from_nanos(50 * rows as u64));
        pace.learn(8192, Duration::from_secs(1));
        slices(&pace, 2, |rows| Duration::from_nanos(50 * rows as u64));
        assert_eq!(pace.slice(8192), 8192);
    }

    #[test]
    fn a_slice_is_never_empty_while_rows_remain() {
        let pace = AdaptiveSlice::default();
        pace.learn(8, Duration::from_secs(100));
        assert_eq!(pace.slice(8192), 1);
        assert_eq!(pace.slice(1), 1);
        assert_eq!(pace.slice(0), 0);
    }
}
