//! Whether the threads that answer calls still make progress. If none does, the server takes no statements, however well it looks.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A busy server polls many times a second, and records one beat.
const SILENCE_MAX: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub struct Heartbeat {
    begun: Instant,
    /// Measured from the start.
    last_ms: AtomicU64,
}

impl Heartbeat {
    pub fn new() -> Heartbeat {
        Heartbeat { begun: Instant::now(), last_ms: AtomicU64::new(0) }
    }

    /// A thread has answered.
    pub fn beat(&self) {
        self.last_ms.store(self.ms(Instant::now()), Ordering::Relaxed);
    }

    /// How long no thread has answered, if that is too long.
    pub fn silence(&self, now: Instant) -> Option<Duration> {
        let silence = Duration::from_millis(self.ms(now).saturating_sub(self.last_ms.load(Ordering::Relaxed)));
        (silence > SILENCE_MAX).then_some(silence)
    }

    fn ms(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.begun).as_millis() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_beat_for_seconds_the_heart_has_stopped() {
        let pulse = Heartbeat::new();
        pulse.beat();
        let now = Instant::now();
        assert_eq!(pulse.silence(now + Duration::from_secs(1)), None);
        assert!(pulse.silence(now + Duration::from_secs(7)).is_some_and(|silence| silence.as_secs() >= 6));
    }
}
