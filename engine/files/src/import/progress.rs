//! How far an import is, readable from any thread while it runs.

use std::io::{self, Read, Seek, SeekFrom};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// Reasons kept of skipped rows; the rest is only counted.
const REASONS_KEPT: usize = 10;

#[derive(Debug, Default)]
pub struct ImportProgress {
    bytes_read: AtomicU64,
    rows_read: AtomicU64,
    rows_skipped: AtomicU64,
    skip_reasons: Mutex<Vec<String>>,
}

impl ImportProgress {
    /// Position in the files as they lie on disk (compressed), of [`super::FileScan::total_bytes`].
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read.load(Relaxed)
    }

    /// Rows handed out.
    pub fn rows_read(&self) -> u64 {
        self.rows_read.load(Relaxed)
    }

    /// Bad rows left out.
    pub fn rows_skipped(&self) -> u64 {
        self.rows_skipped.load(Relaxed)
    }

    /// Why the first few rows were left out.
    pub fn skip_reasons(&self) -> Vec<String> {
        self.skip_reasons.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }

    pub fn add_bytes(&self, bytes: u64) {
        self.bytes_read.fetch_add(bytes, Relaxed);
    }

    pub fn add_rows(&self, rows: u64) {
        self.rows_read.fetch_add(rows, Relaxed);
    }

    pub fn skip(&self, reason: impl FnOnce() -> String) {
        if self.rows_skipped.fetch_add(1, Relaxed) < REASONS_KEPT as u64 {
            let mut reasons = self.skip_reasons.lock().unwrap_or_else(|p| p.into_inner());
            reasons.push(reason());
        }
    }
}

/// Counts the bytes that pass; without a progress it counts for nobody (inference).
pub struct CountingReader<R> {
    pub inner: R,
    pub progress: Option<Arc<ImportProgress>>,
}

impl<R: Read> Read for CountingReader<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buf)?;
        if let Some(progress) = &self.progress {
            progress.add_bytes(read as u64);
        }
        Ok(read)
    }
}

impl<R: Seek> Seek for CountingReader<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.inner.seek(to)
    }
}
