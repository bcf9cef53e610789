//! A region in memory that remembers in which order stores, flushes and fences were issued, so that
//! a test can look at what a loss of power could have left behind. The model is stricter than both
//! msync and persistent memory.

mod crash;

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

use super::mapped::{Backing, CreateError};
pub use crash::{CrashImage, CrashImages, CrashLimits};

/// One thing a region asked of the medium.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Bytes stored at an offset; they may reach the medium at any later time, or never.
    Store { offset: usize, bytes: Arc<[u8]> },
    /// The range is on its way; it has arrived after the next fence.
    Flush { offset: usize, len: usize },
    /// Everything flushed before has arrived.
    Fence,
}

/// The record of one simulated region: a handle that can be cloned and outlives the region.
#[derive(Clone, Debug)]
pub struct Trace {
    /// What was on the medium when the region was opened.
    initial: Arc<[u8]>,
    record: Arc<Mutex<Record>>,
}

#[derive(Debug, Default)]
struct Record {
    events: Vec<Event>,
    fail_next_flush: bool,
}

impl Trace {
    pub(super) fn new(initial: Arc<[u8]>) -> Trace {
        Trace {
            initial,
            record: Arc::default(),
        }
    }

    /// All events so far, in order.
    pub fn events(&self) -> Vec<Event> {
        self.record.lock().events.clone()
    }

    /// Makes the next flush of the region fail, as a disk that returns an I/O error would.
    pub fn fail_next_flush(&self) {
        self.record.lock().fail_next_flush = true;
    }

    /// The contents the file could have after a loss of power, around every fence; each has the
    /// region's capacity. The same trace gives the same images. At most [`CrashLimits::default`] of
    /// them.
    pub fn crash_images(&self) -> impl Iterator<Item = Vec<u8>> + use<> {
        self.crash_images_within(CrashLimits::default())
            .map(|image| image.bytes)
    }

    /// As [`Trace::crash_images`], with limits of the caller's, and saying how far the region had
    /// come.
    pub fn crash_images_within(&self, limits: CrashLimits) -> CrashImages {
        CrashImages::new(&self.initial, self.events(), limits)
    }

    pub(super) fn store(&self, offset: usize, bytes: &[u8]) {
        let bytes = bytes.into();
        self.record.lock().events.push(Event::Store { offset, bytes });
    }

    /// Everything flushed in this range is on the medium, unless the test wants a failure.
    pub(super) fn sync(&self, offset: usize, len: usize) -> io::Result<()> {
        let mut record = self.record.lock();
        if std::mem::take(&mut record.fail_next_flush) {
            return Err(io::Error::from_raw_os_error(libc::EIO));
        }
        record.events.push(Event::Flush { offset, len });
        record.events.push(Event::Fence);
        Ok(())
    }
}

/// The backing in memory. The name is taken at creation and the bytes are written to the file when
/// it is closed.
pub(super) struct Memory {
    bytes: Vec<u8>,
    trace: Trace,
}

impl Backing for Memory {
    const IS_MAPPED: bool = false;

    fn create(path: &Path, capacity: usize) -> Result<Memory, CreateError> {
        OpenOptions::new().write(true).create_new(true).open(path)?;
        let mut bytes = Vec::new();
        bytes
            .try_reserve_exact(capacity)
            .map_err(|_| io::Error::from_raw_os_error(libc::ENOSPC))?;
        bytes.resize(capacity, 0);
        let trace = Trace::new(bytes.as_slice().into());
        Ok(Memory { bytes, trace })
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn copy_in(&mut self, offset: usize, bytes: &[u8]) {
        self.bytes[offset..offset + bytes.len()].copy_from_slice(bytes);
        self.trace.store(offset, bytes);
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    fn written(&mut self, offset: usize, len: usize) {
        self.trace.store(offset, &self.bytes[offset..offset + len]);
    }

    fn store_u64(&mut self, offset: usize, value: u64) {
        self.copy_in(offset, &value.to_le_bytes());
    }

    fn sync(&mut self, offset: usize, len: usize) -> io::Result<()> {
        self.trace.sync(offset, len)
    }

    fn close(self, path: &Path) -> io::Result<()> {
        OpenOptions::new()
            .write(true)
            .open(path)?
            .write_all(&self.bytes)
    }

    fn trace(&self) -> Option<Trace> {
        Some(self.trace.clone())
    }
}
