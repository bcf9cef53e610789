//! Expires versions beyond the retention even if nobody commits.

use std::time::{Duration, Instant};

use pmem_store::{Store, StoreError};

use super::outlook;
use common::clock::now_ms;

/// The interval is a tenth of the retention, within these bounds.
const LOOK_MIN: Duration = Duration::from_secs(1);
const LOOK_MAX: Duration = Duration::from_secs(600);

#[derive(Default)]
pub struct Expiry {
    looked: Option<Instant>,
    /// Older versions are gone.
    oldest: u64,
}

impl Expiry {
    /// Expires what is due, and returns when to look again.
    pub fn expire(&mut self, store: &Store) -> Duration {
        self.look(store).unwrap_or_else(|error| {
            tracing::warn!(%error, "old versions could not be given up; {}", outlook(store));
            LOOK_MAX
        })
    }

    fn look(&mut self, store: &Store) -> Result<Duration, StoreError> {
        // It may have changed since.
        let retention_ms = store.retention_ms()?;
        if retention_ms == 0 {
            // Each commit expires everything before it.
            return Ok(LOOK_MAX);
        }
        let every = Duration::from_millis(retention_ms / 10).clamp(LOOK_MIN, LOOK_MAX);
        if let Some(early) = self.looked.and_then(|looked| every.checked_sub(looked.elapsed())) {
            return Ok(early);
        }
        self.looked = Some(Instant::now());
        let time_ms = now_ms().saturating_sub(retention_ms);
        match store.version_at(time_ms) {
            Ok(oldest) if oldest > self.oldest => {
                store.expire_versions_older_than(time_ms)?;
                self.oldest = oldest;
            }
            Ok(_) | Err(StoreError::BeforeHistory { .. }) => {}
            Err(error) => return Err(error),
        }
        Ok(every)
    }
}
