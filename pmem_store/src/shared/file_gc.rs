//! Tracks files that the last version does not name, and the versions that readers still pin.

use std::collections::BTreeMap;
use std::path::PathBuf;

use parking_lot::Mutex;

/// It unlinks nothing itself: it returns the files that may be unlinked.
#[derive(Debug, Default)]
pub struct FileGc {
    inner: Mutex<GcState>,
}

#[derive(Debug, Default)]
struct GcState {
    /// Live versions and how many pins hold each.
    live: BTreeMap<u64, usize>,
    /// (first version without the files, the files)
    unlinks: Vec<(u64, Vec<PathBuf>)>,
}

impl GcState {
    fn oldest(&self) -> u64 {
        self.live.keys().next().copied().unwrap_or(u64::MAX)
    }
}

impl FileGc {
    pub fn pin(&self, version: u64) {
        *self.inner.lock().live.entry(version).or_insert(0) += 1;
    }

    /// The oldest version that is still live, and whether files wait to be unlinked.
    pub fn unpin(&self, version: u64) -> (u64, bool) {
        let mut inner = self.inner.lock();
        if let Some(count) = inner.live.get_mut(&version) {
            *count -= 1;
            if *count == 0 {
                inner.live.remove(&version);
            }
        }
        (inner.oldest(), !inner.unlinks.is_empty())
    }

    pub fn live_versions(&self) -> Vec<u64> {
        self.inner.lock().live.keys().copied().collect()
    }

    /// The files that `version` and later ones do not name.
    pub fn defer_unlink(&self, version: u64, files: Vec<PathBuf>) {
        if !files.is_empty() {
            self.inner.lock().unlinks.push((version, files));
        }
    }

    /// Takes out the files that no living reader of this process can name, with the first version without them.
    pub fn collect(&self) -> Vec<(u64, Vec<PathBuf>)> {
        let mut inner = self.inner.lock();
        let oldest = inner.oldest();
        let (free, unlinks) = std::mem::take(&mut inner.unlinks).into_iter().partition(|(version, _)| *version <= oldest);
        inner.unlinks = unlinks;
        free
    }
}
