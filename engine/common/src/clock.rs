//! The clock of the machine, in the units in which the store and clients write times.

use std::time::{SystemTime, UNIX_EPOCH};

pub fn now_ms() -> u64 {
    since_epoch_ms(SystemTime::now())
}

pub fn since_epoch_ms(at: SystemTime) -> u64 {
    at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}
