//! The writing side of a log.
//!
//! On persistent memory each record is stored, drained, published by its commit word and drained
//! again: it is durable when it is appended. Elsewhere records gather in memory and are written with
//! one call when somebody waits for them, wants to read them, or [`STAGED_BYTES_MAX`] have come
//! together; the checksum of a record tells at recovery whether all of it arrived, so that one flush
//! is enough for any number of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};

use super::encode::{Encoders, PreparedRecord};
use super::error::AppendError;
use super::format::{RECORD_HEADER_BYTES, WITH_CATALOG, random};
use super::group_commit::GroupCommit;
use super::index::Index;
use super::tail_log::Appended;
use crate::error::Result;
use crate::region::{LogRegion, RegionError};
use crate::store::now_ms;

/// Records that gather in memory before they are written.
const STAGED_BYTES_MAX: usize = 256 << 10;
/// Zeros are written ahead so far. The first write to reserved bytes changes what the file system
/// knows of them, which costs a commit of its journal; this way it is one per so many bytes.
const ZEROED_AHEAD_BYTES: u64 = 256 << 10;

static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

pub(super) struct Writer {
    pub region: LogRegion,
    pub encoders: Arc<Encoders>,
    /// Tells the records of this opening from those that an earlier one left behind.
    session: u64,
    tail: Mutex<Tail>,
    /// Readers of the file see everything before this offset.
    written: AtomicU64,
    commits: GroupCommit,
}

struct Tail {
    /// Of the last record; `previous` of the next.
    last_checksum: u64,
    /// Records appended and not written: what follows `written`.
    staged: Vec<u8>,
    /// Up to here something was written, if only zeros, when it was last flushed.
    zeroed: u64,
    /// Takes no more records.
    closed: bool,
}

impl Writer {
    /// Of a log with this index, all of it durable.
    pub fn new(region: LogRegion, encoders: Arc<Encoders>, index: &Index, last_checksum: u64) -> Writer {
        let end = index.end();
        let tail = Tail { last_checksum, staged: Vec::new(), zeroed: end, closed: false };
        Writer {
            region,
            encoders,
            session: random(),
            tail: Mutex::new(tail),
            written: AtomicU64::new(end),
            commits: GroupCommit::new(end),
        }
    }

    /// Whether a record is written by stores of the CPU, and so durable without a system call.
    fn stores_directly(&self) -> bool {
        self.region.mode() == crate::region::Mode::Dax
    }

    pub fn append(
        &self,
        index: &RwLock<Index>,
        record: &mut PreparedRecord,
        version: u64,
        with_catalog: bool,
    ) -> Result<Appended, AppendError> {
        self.region.poison().check()?;
        let needed_bytes = record.size_bytes();
        let mut tail = self.tail.lock();
        let offset = self.check_room(&tail, &index.read(), needed_bytes, version)?;
        let flags = if with_catalog { WITH_CATALOG } else { 0 };
        let committed_at_ms = now_ms();
        let checksum = record.place(tail.last_checksum, self.session, version, committed_at_ms, flags);
        if self.stores_directly() {
            self.store(offset, record.bytes())?;
        } else {
            self.stage(&mut tail, offset, record.bytes())?;
        }
        tail.last_checksum = checksum;
        let rows = index.write().push(version, committed_at_ms, record.row_count(), needed_bytes);
        Ok(Appended { rows, end_offset: offset + needed_bytes })
    }

    /// Where the record will lie.
    fn check_room(&self, tail: &Tail, index: &Index, needed_bytes: u64, version: u64) -> Result<u64, AppendError> {
        if let Some(last) = index.last().filter(|last| last.version >= version) {
            return Err(AppendError::Version { version, last: last.version });
        }
        let free_bytes = if tail.closed { 0 } else { self.region.capacity() - index.end() };
        if needed_bytes > free_bytes {
            return Err(AppendError::Full { needed_bytes, free_bytes });
        }
        Ok(index.end())
    }

    /// The commit word is stored when the rest is durable, so it never stands before less.
    fn store(&self, offset: u64, record: &[u8]) -> Result<(), RegionError> {
        let mut commit_word = [0; 8];
        commit_word.copy_from_slice(&record[..8]);
        self.region.write(offset + 8, &record[8..])?;
        self.region.flush()?;
        self.region.publish_u64(offset, u64::from_le_bytes(commit_word))?;
        self.region.flush()?;
        let end = offset + record.len() as u64;
        self.written.store(end, Ordering::Release);
        self.commits.advance(end);
        Ok(())
    }

    fn stage(&self, tail: &mut Tail, offset: u64, record: &[u8]) -> Result<(), RegionError> {
        if tail.staged.len() + record.len() > STAGED_BYTES_MAX {
            self.write_staged(tail)?;
        }
        if record.len() <= STAGED_BYTES_MAX {
            tail.staged.extend_from_slice(record);
            return Ok(());
        }
        self.region.write(offset, record)?;
        self.written.store(offset + record.len() as u64, Ordering::Release);
        Ok(())
    }

    /// Returns where what is written ends.
    fn write_staged(&self, tail: &mut Tail) -> Result<u64, RegionError> {
        let start = self.written.load(Ordering::Relaxed);
        if tail.staged.is_empty() {
            return Ok(start);
        }
        self.region.write(start, &tail.staged)?;
        let end = start + tail.staged.len() as u64;
        tail.staged.clear();
        self.written.store(end, Ordering::Release);
        Ok(end)
    }

    /// Writes zeros behind the records, if they came to where nothing was written before.
    fn zero_ahead(&self, tail: &mut Tail, end: u64) -> Result<(), RegionError> {
        if end <= tail.zeroed {
            return Ok(());
        }
        let target = end.next_multiple_of(ZEROED_AHEAD_BYTES).min(self.region.capacity());
        tail.zeroed = end;
        while tail.zeroed < target {
            let len = (target - tail.zeroed).min(ZEROS.len() as u64);
            self.region.write(tail.zeroed, &ZEROS[..len as usize])?;
            tail.zeroed += len;
        }
        Ok(())
    }

    /// Makes what was appended before `end` visible to those who read the file.
    pub fn write_up_to(&self, end: u64) -> Result<()> {
        if self.written.load(Ordering::Acquire) < end {
            self.write_staged(&mut self.tail.lock())?;
        }
        Ok(())
    }

    /// Returns when everything before `up_to` is durable.
    pub fn flush(&self, up_to: u64) -> Result<()> {
        self.commits.wait_for(up_to, || {
            let mut tail = self.tail.lock();
            let end = self.write_staged(&mut tail)?;
            self.zero_ahead(&mut tail, end)?;
            drop(tail);
            self.region.flush()?;
            Ok(end)
        })
    }

    pub fn durable(&self) -> u64 {
        self.commits.durable()
    }

    /// Takes the last record back if it is the one of `version`. Its place is not used again, because
    /// somebody may be reading it: the log is closed.
    pub fn retract(&self, index: &RwLock<Index>, version: u64) -> Result<bool> {
        let mut tail = self.tail.lock();
        let Some(last) = index.read().last().filter(|last| last.version == version) else { return Ok(false) };
        tail.closed = true;
        let written = self.written.load(Ordering::Relaxed);
        if last.offset < written {
            // A part of a header is none, so a crash in the middle leaves the record or nothing.
            self.region.write(last.offset, &[0; RECORD_HEADER_BYTES])?;
            self.region.flush()?;
        } else {
            tail.staged.truncate((last.offset - written) as usize);
        }
        index.write().pop();
        Ok(true)
    }
}

impl std::fmt::Debug for Writer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Writer({} of {} bytes)", self.written.load(Ordering::Relaxed), self.region.capacity())
    }
}
