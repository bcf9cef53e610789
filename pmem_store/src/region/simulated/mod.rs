//! A region in memory that records the order of stores, flushes and fences, so that
//! a test can see what a loss of power could have left behind. The model is stricter than both
//! msync and persistent memory.

mod crash;
mod disk;

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

use super::mapped::{Backing, CreateError};
pub use crash::{CrashImage, CrashImages, CrashLimits, SurvivingStores};
use disk::Calls;
pub use disk::{Disk, Failure};

/// One operation of a region on the medium.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Bytes stored at an offset; they may reach the medium at any later time, or never.
    Store { offset: usize, bytes: Arc<[u8]> },
    /// The range is on its way; it has arrived after the next fence.
    Flush { offset: usize, len: usize },
    /// Everything flushed before has arrived.
    Fence,
    /// A flush failed: what was stored before in the range arrives only by chance, even if it is flushed again.
    Lost { offset: usize, len: usize },
    /// The file has this length, durable after the next fence. Added bytes are zeros.
    Length { len: usize },
}

/// The record of one simulated region: a handle that can be cloned and outlives the region.
#[derive(Clone, Debug)]
pub struct Trace {
    /// What was on the medium when the region was opened.
    initial: Arc<[u8]>,
    record: Arc<Mutex<Record>>,
    /// The calls to the disk; it counts them and makes one fail.
    calls: Option<Arc<Calls>>,
}

#[derive(Debug, Default)]
struct Record {
    events: Vec<Event>,
    fail_next_flush: bool,
}

impl Trace {
    fn new(initial: Arc<[u8]>, disk: Option<&Disk>) -> Trace {
        Trace { initial, record: Arc::default(), calls: disk.map(|disk| Arc::clone(&disk.calls)) }
    }

    /// The trace of a file that is created now, on the disk of this thread if there is one.
    fn of_new(initial: Arc<[u8]>) -> io::Result<Trace> {
        let trace = Trace::new(initial, Disk::of_this_thread().as_ref());
        trace.call()?;
        Ok(trace)
    }

    /// The same for a file that is written to while it exists.
    pub(super) fn of_log(path: &Path, initial: Arc<[u8]>) -> io::Result<Trace> {
        let trace = Trace::of_new(initial)?;
        if let Some(disk) = Disk::of_this_thread() {
            disk.put(path, &trace);
        }
        Ok(trace)
    }

    /// The trace of a file that is opened, as [`Trace::of_log`]. `read` returns its bytes, which are durable if the disk does not know it.
    pub(super) fn of_old(path: &Path, read: impl FnOnce() -> io::Result<Vec<u8>>) -> io::Result<Trace> {
        match Disk::of_this_thread() {
            Some(disk) => Trace::on(&disk, path, read),
            None => Ok(Trace::new(read()?.into(), None)),
        }
    }

    pub(crate) fn on(disk: &Disk, path: &Path, read: impl FnOnce() -> io::Result<Vec<u8>>) -> io::Result<Trace> {
        let trace = match disk.find(path) {
            Some(trace) => trace,
            None => Trace::new(read()?.into(), Some(disk)),
        };
        trace.call()?;
        disk.put(path, &trace);
        Ok(trace)
    }

    /// An operation that the disk counts and the trace does not record.
    pub(crate) fn call(&self) -> io::Result<()> {
        self.counted().map_err(|failure| failure.error())
    }

    fn counted(&self) -> Result<(), Failure> {
        self.calls.as_ref().map_or(Ok(()), |calls| calls.call())
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
        self.crash_images_within(CrashLimits::default()).map(|image| image.bytes)
    }

    /// As [`Trace::crash_images`], with limits of the caller, and with the progress of the region in each
    /// image.
    pub fn crash_images_within(&self, limits: CrashLimits) -> CrashImages {
        CrashImages::new(&self.initial, self.events(), limits)
    }

    /// A possible content of the file after a loss of power now.
    pub fn after_power_cut(&self, survivors: SurvivingStores) -> Vec<u8> {
        CrashImages::last(&self.initial, self.events(), survivors)
    }

    /// Writes to the file too, so that others can read the bytes.
    pub(crate) fn write(&self, file: &File, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let failure = self.counted().err();
        let percent = failure.map_or(100, |failure| failure.written_percent);
        let written = &bytes[..bytes.len() * percent / 100];
        self.store(offset as usize, written);
        file.write_all_at(written, offset)?;
        failure.map_or(Ok(()), |failure| Err(failure.error()))
    }

    pub(crate) fn set_len(&self, len: usize) -> io::Result<()> {
        self.call()?;
        self.record.lock().events.push(Event::Length { len });
        Ok(())
    }

    pub(crate) fn sync_all(&self) -> io::Result<()> {
        self.sync(0, usize::MAX)
    }

    pub(super) fn store(&self, offset: usize, bytes: &[u8]) {
        let bytes = bytes.into();
        self.record.lock().events.push(Event::Store { offset, bytes });
    }

    /// Makes everything flushed in this range durable, unless the test wants a failure.
    pub(super) fn sync(&self, offset: usize, len: usize) -> io::Result<()> {
        let called = self.call();
        let mut record = self.record.lock();
        let failed = called.err().or_else(|| std::mem::take(&mut record.fail_next_flush).then(|| io::Error::from_raw_os_error(libc::EIO)));
        if let Some(error) = failed {
            record.events.push(Event::Lost { offset, len });
            return Err(error);
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
        bytes.try_reserve_exact(capacity).map_err(|_| io::Error::from_raw_os_error(libc::ENOSPC))?;
        bytes.resize(capacity, 0);
        let trace = Trace::of_new(bytes.as_slice().into())?;
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
        self.trace.call()?;
        OpenOptions::new().write(true).open(path)?.write_all(&self.bytes)
    }

    fn trace(&self) -> Option<Trace> {
        Some(self.trace.clone())
    }
}
