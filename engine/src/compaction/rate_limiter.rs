//! Limits how fast a compaction writes.

use std::time::{Duration, Instant};

/// A shorter pause is added to the next one.
const PAUSE_MIN: Duration = Duration::from_millis(5);

#[derive(Debug)]
pub struct RateLimiter {
    bytes_per_s: Option<u64>,
    /// When the bytes written so far should be done at that rate.
    due: Instant,
}

impl RateLimiter {
    /// `None`: no limit.
    pub fn new(bytes_per_s: Option<u64>) -> RateLimiter {
        RateLimiter { bytes_per_s, due: Instant::now() }
    }

    /// How long to wait after writing this many bytes.
    pub fn wrote(&mut self, bytes: u64) -> Option<Duration> {
        let bytes_per_s = self.bytes_per_s?;
        let now = Instant::now();
        // Unused time is not saved up.
        self.due = self.due.max(now) + Duration::from_secs_f64(bytes as f64 / bytes_per_s.max(1) as f64);
        let pause = self.due - now;
        (pause >= PAUSE_MIN).then_some(pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_takes_its_time() {
        let mut pace = RateLimiter::new(Some(1_000_000));
        let pause = pace.wrote(500_000).unwrap();
        assert!((Duration::from_millis(400)..=Duration::from_millis(500)).contains(&pause), "{pause:?}");
        assert!(pace.wrote(500_000).unwrap() > Duration::from_millis(800));
        assert_eq!(RateLimiter::new(None).wrote(u64::MAX), None);
        assert_eq!(RateLimiter::new(Some(1_000_000)).wrote(100), None);
    }
}
