//! Whether other processes may know files of segments by their names.

use std::sync::Arc;

use parking_lot::Mutex;

use crate::error::{Result, StoreError};

/// The number of hand-offs that were not ended.
#[derive(Debug, Default)]
pub struct HandOffs(Mutex<u64>);

/// While it lives, the name of a segment leads to a file.
#[derive(Debug)]
pub struct HandOff(Arc<HandOffs>);

impl HandOffs {
    pub fn begin(self: &Arc<Self>) -> HandOff {
        *self.0.lock() += 1;
        HandOff(Arc::clone(self))
    }

    /// Does what takes the file from under a name.
    pub fn without_any<T>(&self, take: impl FnOnce() -> Result<T>) -> Result<T> {
        let count = self.0.lock();
        match *count {
            0 => take(),
            _ => Err(StoreError::Refused("clients have leases of files; it waits until they have released them".into())),
        }
    }
}

impl Drop for HandOff {
    fn drop(&mut self) {
        *self.0.0.lock() -= 1;
    }
}
