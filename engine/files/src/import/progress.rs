//! The progress of an import, readable from any thread while it runs.

use std::io::{self, Read, Seek, SeekFrom};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

/// So many reasons of skipped rows are kept; the others are only counted.
const REASONS_KEPT: usize = 10;

#[derive(Debug, Default)]
pub struct ImportProgress {
    bytes_read: AtomicU64,
    rows_read: AtomicU64,
    rows_skipped: AtomicU64,
    skip_reasons: Mutex<Vec<String>>,
}

impl ImportProgress {
    /// The position in the files as they are on disk (compressed), out of [`super::FileScan::total_bytes`].
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read.load(Relaxed)
    }

    /// The number of rows that were handed out.
    pub fn rows_read(&self) -> u64 {
        self.rows_read.load(Relaxed)
    }

    /// The number of bad rows that were skipped.
    pub fn rows_skipped(&self) -> u64 {
        self.rows_skipped.load(Relaxed)
    }

    /// The reasons of the first few skipped rows.
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

/// Counts the bytes that pass through; without a progress (in inference) they are not counted.
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
