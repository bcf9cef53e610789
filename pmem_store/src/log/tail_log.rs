//! Making, opening and asking a log.

use std::path::Path;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
use parking_lot::RwLockReadGuard;

use super::append::{Appended, Writer};
use super::data::LogData;
use super::encode::{Encoders, PreparedRecord};
use super::error::AppendError;
use super::format::{self, FileHeader, LogIdentity, PAGE_BYTES, RECORD_HEADER_BYTES, encode_header, parse_begin, random};
use super::index::{Index, LogCommit};
use super::loss::LogLoss;
use super::recover::{Recovered, recover};
use super::summary::LogEnd;
use super::view::LogView;
use crate::error::{Result, StoreError};
use crate::files;
use crate::mapping::Mapping;
use crate::region::{LogRegion, Mode, PoisonFlag, RegionKind, simulated};

/// The log of one table. Shared by reference: appending, flushing and reading may go on at the same
/// time. Dropped, it leaves its file; what was appended and not flushed may be lost then.
#[derive(Debug)]
pub struct TailLog {
    data: Arc<LogData>,
    /// None where the log was opened to be read only.
    writer: Option<Writer>,
    loss: Option<LogLoss>,
}

/// A log as it lies there.
pub(super) struct RecoveredLog {
    mapping: Arc<Mapping>,
    pub header: FileHeader,
    pub recovered: Recovered,
}

impl RecoveredLog {
    /// What is wrong with the length of the file, if something is.
    pub fn wrong_length(&self) -> Option<String> {
        let (len, capacity) = (self.mapping.len() as u64, self.header.capacity_bytes);
        (len != capacity).then(|| format!("it has {len} bytes and was made with {capacity}"))
    }
}

impl TailLog {
    /// Makes the file at `path`, with at least `capacity_bytes` bytes, all reserved. It is durable
    /// when this returns, with its name and those of the two directories above it.
    pub fn create(
        path: &Path,
        identity: LogIdentity,
        physical_schema: SchemaRef,
        capacity_bytes: u64,
        kind: RegionKind,
        poison: &Arc<PoisonFlag>,
    ) -> Result<TailLog> {
        let encoders = Encoders::new(Arc::clone(&physical_schema));
        let schema_message = encoders.schema_message()?;
        let first_record = format::first_record(schema_message.len());
        let capacity_bytes = capacity_bytes.max(first_record + PAGE_BYTES as u64).next_multiple_of(PAGE_BYTES as u64);
        let epoch = random();
        let dir = path.parent().unwrap_or(path);
        let mut region = files::create_in(dir, || LogRegion::create(path, capacity_bytes, kind, Arc::clone(poison)))?;
        region.write(0, &encode_header(identity, capacity_bytes, epoch, &schema_message))?;
        let mapping = Mapping::open(path, Some(capacity_bytes))?;
        region.keep()?;
        // The table's directory may be new too.
        path.ancestors().skip(1).take(2).try_for_each(|dir| files::sync_store_dir(dir, poison))?;
        let index = Index::new(first_record);
        let writer = Writer::new(region, encoders, &index, epoch);
        Ok(TailLog { data: LogData::new(path, identity, physical_schema, mapping, index), writer: Some(writer), loss: None })
    }

    /// Opens a log to be written on. `is_committed` says whether the catalog has a version; it is
    /// asked for records that were appended `with_catalog`.
    ///
    /// A record whose version the catalog has not, or that is not whole, is made unreadable for ever
    /// before this returns. So every log must have been opened before the catalog gives a version
    /// again that it did not have when the store was opened.
    pub fn open(
        path: &Path,
        identity: LogIdentity,
        physical_schema: SchemaRef,
        kind: RegionKind,
        poison: &Arc<PoisonFlag>,
        is_committed: &dyn Fn(u64) -> bool,
    ) -> Result<TailLog> {
        let log = scan_table(path, identity, &physical_schema, is_committed)?;
        TailLog::to_write(path, identity, physical_schema, log, 0, kind, poison)
    }

    /// Everything before `durable_end` is durable, as it was when the store was closed.
    pub(super) fn to_write(
        path: &Path,
        identity: LogIdentity,
        physical_schema: SchemaRef,
        RecoveredLog { mapping, header, recovered }: RecoveredLog,
        durable_end: u64,
        kind: RegionKind,
        poison: &Arc<PoisonFlag>,
    ) -> Result<TailLog> {
        let region = LogRegion::open(path, header.capacity_bytes, kind, Arc::clone(poison))?;
        let Recovered { index, last_checksum, has_rest } = recovered;
        if has_rest {
            // Without its header, whatever of a record is left cannot become whole again by what is
            // written over it; see docs/durability.md.
            let len = (region.capacity() - index.end()).min(RECORD_HEADER_BYTES as u64);
            region.write(index.end(), &[0; RECORD_HEADER_BYTES][..len as usize])?;
        }
        // Records that the last process wrote and did not live to flush count from here on as durable. Where a flush of them
        // failed they are in the page cache, and the kernel takes the pages for clean: no flush writes them, unless they are
        // written again.
        let first = header.first_record.max(durable_end);
        region.write(first, mapping.slice(first as usize, (index.end() - first) as usize)?)?;
        region.flush()?;
        let encoders = Encoders::new(Arc::clone(&physical_schema));
        let writer = Writer::new(region, encoders, &index, last_checksum);
        Ok(TailLog { data: LogData::new(path, identity, physical_schema, mapping, index), writer: Some(writer), loss: None })
    }

    /// Opens a log for a store that is only read: the same rows as [`TailLog::open`], and nothing is
    /// written.
    pub fn open_read_only(
        path: &Path,
        identity: LogIdentity,
        physical_schema: SchemaRef,
        is_committed: &dyn Fn(u64) -> bool,
    ) -> Result<TailLog> {
        let log = scan_table(path, identity, &physical_schema, is_committed)?;
        Ok(TailLog::to_read(path, identity, physical_schema, log, None))
    }

    pub(super) fn to_read(path: &Path, identity: LogIdentity, schema: SchemaRef, log: RecoveredLog, loss: Option<LogLoss>) -> TailLog {
        let RecoveredLog { mapping, recovered, .. } = log;
        TailLog { data: LogData::new(path, identity, schema, mapping, recovered.index), writer: None, loss }
    }

    /// One of which nothing can be read.
    pub(super) fn of_loss(path: &Path, identity: LogIdentity, loss: LogLoss) -> Result<TailLog> {
        let data = LogData::new(path, identity, Arc::new(Schema::empty()), Mapping::zeros(path)?, Index::new(0));
        Ok(TailLog { data, writer: None, loss: Some(loss) })
    }

    /// An error if rows are missing that the log had when the store was closed, or may have had.
    pub(crate) fn check_whole(&self) -> Result<()> {
        self.loss.as_ref().map_or(Ok(()), |loss| Err(loss.error(&self.data.path)))
    }

    /// What is missing, in a sentence for who goes on without it.
    pub(crate) fn loss(&self) -> Option<String> {
        self.loss.as_ref().map(|loss| loss.sentence(self.data.identity))
    }

    /// What is left of it, also of a damaged one.
    pub(super) fn remainder(&self) -> LogView {
        LogView::new(Arc::clone(&self.data), self.data.index.read().until(u64::MAX))
    }

    /// What it has, or had before it was damaged; None for an empty one.
    pub(crate) fn end_to_note(&self) -> Option<LogEnd> {
        let LogIdentity { table, log: id, .. } = self.data.identity;
        let (mut end, mut rows) = (self.size_bytes(), self.rows_at(u64::MAX));
        if let Some(loss) = &self.loss {
            (end, rows) = (end + loss.bytes, rows + loss.rows);
        }
        (rows > 0).then_some(LogEnd { table, id, end, rows })
    }

    /// Encodes rows for [`TailLog::append_prepared`]; needs no lock, so it can be done before the
    /// version is known. Columns are matched by position and cast to the physical type where they
    /// differ.
    pub fn prepare(&self, batch: &RecordBatch) -> Result<PreparedRecord> {
        self.writer()?.encoders.encode(batch)
    }

    /// Appends rows as the record of commit `version`, which must be greater than all before.
    /// Readable at once by those who ask for the version; durable after [`TailLog::flush`]. With
    /// `with_catalog` the record counts after a crash only if the catalog has the version; nothing
    /// else may be appended before the catalog has it, or the record was taken back
    /// ([`TailLog::retract`]).
    ///
    /// # Errors
    ///
    /// [`AppendError::Full`]: nothing was written.
    pub fn append(&self, batch: &RecordBatch, version: u64, with_catalog: bool) -> Result<Appended, AppendError> {
        self.append_prepared(&mut self.prepare(batch)?, version, with_catalog)
    }

    /// As [`TailLog::append`]. The record may be one that another log of the same schema prepared
    /// and had no room for.
    pub fn append_prepared(&self, record: &mut PreparedRecord, version: u64, with_catalog: bool) -> Result<Appended, AppendError> {
        self.writer()?.append(&self.data.index, record, version, with_catalog)
    }

    /// Takes rows as commit `version`, as [`TailLog::append`] does, and makes them a record later, with those
    /// of other commits: when somebody asks for them, appends or flushes. What they need is reserved. Types
    /// are those of the log. None, and nothing is done, for rows that have to be appended; else whether
    /// they are the first ones that wait.
    ///
    /// # Errors
    ///
    /// Rows staged before that could not be written poison the store.
    pub fn stage(&self, batch: &RecordBatch, version: u64) -> Result<Option<bool>> {
        self.writer()?.stage(&self.data.index, batch, version)
    }

    /// Returns when everything before the offset `up_to` is durable, as far as the mode promises
    /// that. Callers that come together share a flush.
    ///
    /// # Errors
    ///
    /// A flush that failed poisons the store.
    pub fn flush(&self, up_to: u64) -> Result<()> {
        let writer = self.writer()?;
        // It may be so by somebody else's flush, whatever has happened since.
        if writer.durable() >= up_to {
            return Ok(());
        }
        writer.settle(&self.data.index, u64::MAX)?;
        // Not with the index: who appends waits for it, and the flush for who appends.
        let end = self.data.index.read().end();
        writer.flush(up_to.min(end))
    }

    /// Takes back the record of `version`, if it is the last: for a commit `with_catalog` that the
    /// catalog refused. Durable when this returns. The log then takes no more rows
    /// ([`AppendError::Full`]). False if the last record is of another version.
    pub fn retract(&self, version: u64) -> Result<bool> {
        self.writer()?.retract(&self.data.index, version)
    }

    /// The rows of records with a version of at most `version_max`; stays as it is.
    pub fn view(&self, version_max: u64) -> Result<LogView> {
        self.check_whole()?;
        let Some(writer) = &self.writer else {
            let extent = self.data.index.read().until(version_max);
            return Ok(LogView::new(Arc::clone(&self.data), extent));
        };
        writer.settle(&self.data.index, version_max)?;
        let extent = self.data.index.read().until(version_max);
        writer.write_up_to(extent.end)?;
        Ok(LogView::new(Arc::clone(&self.data), extent))
    }

    /// How many rows there were at `version`.
    pub fn rows_at(&self, version: u64) -> u64 {
        self.index().until(version).rows
    }

    /// Each version of the log with the number of rows it added, oldest first.
    pub fn versions(&self) -> Vec<(u64, u64)> {
        self.index().versions()
    }

    /// Each version of the log with its time, oldest first. An error where one is missing that was acknowledged: who
    /// looks for the version of a time must not find the one before.
    pub(crate) fn commits(&self) -> Result<Vec<LogCommit>> {
        self.check_whole()?;
        if let Some(writer) = &self.writer {
            writer.settle(&self.data.index, u64::MAX)?;
        }
        Ok(self.data.index.read().commits())
    }

    pub fn last_version(&self) -> Option<u64> {
        self.index().last().map(|last| last.version)
    }

    /// What the header and the records take.
    pub fn size_bytes(&self) -> u64 {
        self.index().end()
    }

    /// The size of the file.
    pub fn capacity_bytes(&self) -> u64 {
        self.data.mapping.len() as u64
    }

    /// Everything before this offset is durable; all of a log that was opened read-only.
    pub fn durable_bytes(&self) -> u64 {
        self.writer.as_ref().map_or_else(|| self.size_bytes(), Writer::durable)
    }

    pub fn identity(&self) -> LogIdentity {
        self.data.identity
    }

    pub fn path(&self) -> &Path {
        &self.data.path
    }

    pub fn schema(&self) -> &SchemaRef {
        &self.data.schema
    }

    /// How a flush makes rows durable; None where the log was opened to be read only.
    pub fn mode(&self) -> Option<Mode> {
        self.writer.as_ref().map(|writer| writer.region.mode())
    }

    /// The record of a log in a simulated region.
    pub fn trace(&self) -> Option<simulated::Trace> {
        self.writer.as_ref().and_then(|writer| writer.region.trace())
    }

    /// With all rows in it that were staged; but for those that could not be written, which has poisoned the
    /// store.
    fn index(&self) -> RwLockReadGuard<'_, Index> {
        if let Some(Err(error)) = self.writer.as_ref().map(|writer| writer.settle(&self.data.index, u64::MAX)) {
            tracing::error!(%error, "rows that were acknowledged could not be written");
        }
        self.data.index.read()
    }

    fn writer(&self) -> Result<&Writer> {
        self.check_whole()?;
        self.writer.as_ref().ok_or_else(|| StoreError::ReadOnly(self.data.path.clone()))
    }
}

/// Maps the file and finds its records, as far as they go.
pub(super) fn read(path: &Path, identity: LogIdentity, is_committed: &dyn Fn(u64) -> bool) -> Result<RecoveredLog> {
    let mapping = Mapping::open(path, None)?;
    let bytes = mapping.slice(0, mapping.len())?;
    let contents = parse_begin(path, bytes).and_then(|header| {
        if header.identity != identity {
            let what = format!("it says it is {:?} where the catalog says {identity:?}", header.identity);
            return Err(StoreError::damaged(path, 0, what));
        }
        let recovered = recover(path, bytes, &header, is_committed)?;
        Ok((header, recovered))
    });
    if mapping.damaged() {
        // No loss of its table alone: it may be read another time. A writer that goes on without it gives its versions to others, and then a
        // record of it that never came as far as the catalog would count.
        let failure = std::io::Error::other(
            "it was cut short, or its medium failed, while it was being read; check the disk and open the store again, or move the file \
             away, and `quiver check --accept-loss` goes on without its rows",
        );
        return Err(StoreError::io("read", path, failure));
    }
    let (header, recovered) = contents?;
    Ok(RecoveredLog { mapping, header, recovered })
}

/// As [`read`], of a log of these columns whose file is as long as it was made.
fn scan_table(path: &Path, identity: LogIdentity, schema: &SchemaRef, is_committed: &dyn Fn(u64) -> bool) -> Result<RecoveredLog> {
    let log = read(path, identity, is_committed)?;
    if let Some(what) = log.wrong_length() {
        return Err(StoreError::damaged(path, 32, what));
    }
    if log.header.schema.fields() != schema.fields() {
        return Err(StoreError::damaged(path, 0, "it has other columns than the table"));
    }
    Ok(log)
}
