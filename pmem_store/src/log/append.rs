//! The writing side of a log.
//!
//! On persistent memory each record is stored, drained, published by its commit word and drained
//! again: it is durable when it is appended. Elsewhere records gather in memory and are written with
//! one call when somebody waits for them, wants to read them, or [`UNWRITTEN_BYTES_MAX`] have come
//! together; the checksum of a record tells at recovery whether all of it arrived, so that one flush
//! is enough for any number of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arrow::array::RecordBatch;
use parking_lot::{Mutex, RwLock};

use super::commits::Commit;
use super::encode::{Encoders, PreparedRecord};
use super::error::AppendError;
use super::format::{RECORD_HEADER_BYTES, SEVERAL_COMMITS, WITH_CATALOG, random};
use super::group_commit::GroupCommit;
use super::index::Index;
use super::staged::Staged;
use crate::clock::now_ms;
use crate::error::Result;
use crate::region::{LogRegion, RegionError};

/// Records that gather in memory before they are written.
const UNWRITTEN_BYTES_MAX: usize = 256 << 10;
/// Zeros are written ahead so far. The first write to reserved bytes changes what the file system
/// knows of them, which costs a commit of its journal; this way it is one per so many bytes.
const ZEROED_AHEAD_BYTES: u64 = 256 << 10;

static ZEROS: [u8; 64 << 10] = [0; 64 << 10];

/// Where rows went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Appended {
    /// As positions in the log.
    pub rows: std::ops::Range<u64>,
    /// What [`TailLog::flush`](super::TailLog::flush) is to be asked for.
    pub end_offset: u64,
}

pub(super) struct Writer {
    pub region: LogRegion,
    pub encoders: Arc<Encoders>,
    /// Tells the records of this opening from those that an earlier one left behind.
    session: u64,
    tail: Mutex<Tail>,
    /// Readers of the file see everything before this offset.
    written: AtomicU64,
    /// Whether rows are staged. Set before anybody can know of them, and cleared when the index has them.
    has_staged: AtomicBool,
    commits: GroupCommit,
}

struct Tail {
    /// Of the last record; `previous` of the next.
    last_checksum: u64,
    /// Records appended and not written: what follows `written`.
    unwritten: Vec<u8>,
    /// Rows that follow all records; None where the schema admits none.
    staged: Option<Staged>,
    /// The first version of rows that were staged and could not be written: it and later ones cannot be read.
    lost_from: Option<u64>,
    /// Up to here something was written, if only zeros, when it was last flushed.
    zeroed: u64,
    /// Takes no more records.
    closed: bool,
}

impl Writer {
    /// Of a log with this index, all of it durable.
    pub fn new(region: LogRegion, encoders: Arc<Encoders>, index: &Index, last_checksum: u64) -> Writer {
        let end = index.end();
        let tail = Tail {
            last_checksum,
            unwritten: Vec::new(),
            staged: Staged::new(encoders.schema()),
            lost_from: None,
            zeroed: end,
            closed: false,
        };
        Writer {
            region,
            encoders,
            session: random(),
            tail: Mutex::new(tail),
            written: AtomicU64::new(end),
            has_staged: AtomicBool::new(false),
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
        let mut tail = self.tail.lock();
        self.encode_staged(&mut tail, index)?;
        let commit = Commit { version, committed_at_ms: now_ms(), rows: record.row_count() };
        let flags = if with_catalog { WITH_CATALOG } else { 0 };
        self.place(&mut tail, index, record, &[commit], flags)
    }

    /// Makes the record of these commits the last one.
    fn place(
        &self,
        tail: &mut Tail,
        index: &RwLock<Index>,
        record: &mut PreparedRecord,
        commits: &[Commit],
        flags: u16,
    ) -> Result<Appended, AppendError> {
        let needed_bytes = record.size_bytes();
        let [first, ..] = commits else { unreachable!("a record has a commit") };
        let last = commits[commits.len() - 1];
        let offset = self.check_room(tail, &index.read(), needed_bytes, first.version)?;
        let checksum = record.place(tail.last_checksum, self.session, last.version, last.committed_at_ms, flags);
        if self.stores_directly() {
            self.store(offset, record.bytes())?;
        } else {
            self.put_down(tail, offset, record.bytes())?;
        }
        tail.last_checksum = checksum;
        let rows = index.write().push(commits, needed_bytes);
        Ok(Appended { rows, end_offset: offset + needed_bytes })
    }

    /// Takes rows as commit `version`, which are to be a record later. None, and nothing is done, where they
    /// have to be one at once, or may have no room. Whether they are the first ones that wait.
    pub fn stage(&self, index: &RwLock<Index>, batch: &RecordBatch, version: u64) -> Result<Option<bool>> {
        self.region.poison().check()?;
        let mut tail = self.tail.lock();
        let rows = batch.num_rows();
        let Some(staged) = &tail.staged else { return Ok(None) };
        let Some(data_bytes) = staged.data_bytes_of(batch) else { return Ok(None) };
        if staged.is_full(rows, data_bytes) {
            self.encode_staged(&mut tail, index)?;
        }
        let is_closed = tail.closed;
        let Some(staged) = &mut tail.staged else { return Ok(None) };
        let is_first = staged.is_empty();
        let (end, last) = {
            let index = index.read();
            (index.end(), staged.last_version().or_else(|| index.last().map(|last| last.version)))
        };
        let free_bytes = self.region.capacity() - end;
        if is_closed || last.is_some_and(|last| last >= version) || staged.record_bytes_max(rows, data_bytes) > free_bytes {
            return Ok(None);
        }
        staged.push(batch, data_bytes, version, now_ms());
        self.has_staged.store(true, Ordering::Release);
        Ok(Some(is_first))
    }

    /// Returns when the index has all rows up to the version that were staged before.
    pub fn settle(&self, index: &RwLock<Index>, version_max: u64) -> Result<()> {
        if !self.has_staged.load(Ordering::Acquire) {
            return Ok(());
        }
        let mut tail = self.tail.lock();
        let first = tail.lost_from.or_else(|| tail.staged.as_ref().and_then(Staged::first_version));
        let is_older = first.is_some_and(|first| first > version_max);
        if is_older { Ok(()) } else { self.encode_staged(&mut tail, index) }
    }

    /// Staged rows become a record. They were acknowledged: where that fails nothing may be written any more
    /// as if they had never been.
    fn encode_staged(&self, tail: &mut Tail, index: &RwLock<Index>) -> Result<()> {
        if !self.has_staged.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.region.poison().check()?;
        // Also where the rest panics.
        tail.lost_from = tail.staged.as_ref().and_then(Staged::first_version);
        let encoded = self.encode_all(tail, index);
        match &encoded {
            Ok(()) => {
                tail.lost_from = None;
                self.has_staged.store(false, Ordering::Release);
            }
            Err(error) => self.region.poison().poison(format!("rows that were acknowledged could not be written: {error}")),
        }
        encoded
    }

    fn encode_all(&self, tail: &mut Tail, index: &RwLock<Index>) -> Result<()> {
        let Some(staged) = tail.staged.as_mut().filter(|staged| !staged.is_empty()) else { return Ok(()) };
        let (batch, commits) = staged.take()?;
        let mut record = self.encoders.record(&batch, &commits)?;
        let flags = if commits.len() > 1 { SEVERAL_COMMITS } else { 0 };
        self.place(tail, index, &mut record, &commits, flags)?;
        Ok(())
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

    fn put_down(&self, tail: &mut Tail, offset: u64, record: &[u8]) -> Result<(), RegionError> {
        if tail.unwritten.len() + record.len() > UNWRITTEN_BYTES_MAX {
            self.write_out(tail)?;
        }
        if record.len() <= UNWRITTEN_BYTES_MAX {
            tail.unwritten.extend_from_slice(record);
            return Ok(());
        }
        self.region.write(offset, record)?;
        self.written.store(offset + record.len() as u64, Ordering::Release);
        Ok(())
    }

    /// Returns where what is written ends.
    fn write_out(&self, tail: &mut Tail) -> Result<u64, RegionError> {
        let start = self.written.load(Ordering::Relaxed);
        if tail.unwritten.is_empty() {
            return Ok(start);
        }
        self.region.write(start, &tail.unwritten)?;
        let end = start + tail.unwritten.len() as u64;
        tail.unwritten.clear();
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
            self.write_out(&mut self.tail.lock())?;
        }
        Ok(())
    }

    /// Returns when everything before `up_to` is durable.
    pub fn flush(&self, up_to: u64) -> Result<()> {
        self.commits.wait_for(up_to, || {
            let mut tail = self.tail.lock();
            let end = self.write_out(&mut tail)?;
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
        self.encode_staged(&mut tail, index)?;
        let Some(last) = index.read().last().filter(|last| last.version == version) else { return Ok(false) };
        tail.closed = true;
        let written = self.written.load(Ordering::Relaxed);
        if last.offset < written {
            // A part of a header is none, so a crash in the middle leaves the record or nothing.
            self.region.write(last.offset, &[0; RECORD_HEADER_BYTES])?;
            self.region.flush()?;
        } else {
            tail.unwritten.truncate((last.offset - written) as usize);
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
