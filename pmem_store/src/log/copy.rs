//! A log in a backup: its header and its records as they are, without the room behind them; and a log
//! made of that again, or of what damage has left of one.

use std::fs;
use std::path::Path;

use super::decode::cut_short;
use super::format::{LogIdentity, PAGE_BYTES, capacity_of, parse_begin};
use super::recover::recover;
use super::tail_log::{TailLog, read};
use super::view::LogView;
use crate::error::{Result, StoreError};
use crate::files;
use crate::region::{LogRegion, PoisonFlag, RegionKind};

impl LogView {
    /// The file up to the last record of the view, verified as a whole: what its medium has lost since the log
    /// was opened is an error. A copy, so that what was verified is what will be used.
    pub(crate) fn verified_bytes(&self) -> Result<Vec<u8>> {
        let bytes = self.mapping().slice(0, self.size_bytes() as usize)?.to_vec();
        self.check_intact()?;
        verify_log(self.mapping().path(), &bytes, self.identity())?;
        Ok(bytes)
    }
}

/// Whether `bytes` are the begin of a log, up to the end of a record, with nothing but whole records.
pub(crate) fn verify_log(path: &Path, bytes: &[u8], identity: LogIdentity) -> Result<()> {
    let header = parse_begin(path, bytes)?;
    if header.identity != identity {
        return Err(StoreError::damaged(path, 0, format!("it says it is {:?}, expected {identity:?}", header.identity)));
    }
    // Whether a commit with the catalog counts was decided when the bytes were taken.
    let end = recover(path, bytes, &header, &|_| true)?.index.end();
    match end == bytes.len() as u64 {
        true => Ok(()),
        false => Err(StoreError::damaged(path, end, "a record is not whole")),
    }
}

/// Makes the log at `path` whose first bytes are these and whose others are reserved, all durable but
/// for its name.
pub(crate) fn place_log(path: &Path, bytes: &[u8], identity: LogIdentity) -> Result<()> {
    if bytes.len() < PAGE_BYTES {
        return Err(cut_short(path, bytes.len() as u64));
    }
    let mut region = LogRegion::create(path, capacity_of(bytes), RegionKind::Auto, PoisonFlag::new())?;
    region.write(0, bytes)?;
    region.flush()?;
    region.keep()?;
    drop(region);
    let end = read(path, identity, &|_| true)?.recovered.index.end();
    match end == bytes.len() as u64 {
        true => Ok(()),
        false => Err(StoreError::damaged(path, end, "a record is not whole")),
    }
}

impl TailLog {
    /// Puts a file with what is left of a damaged log in the place of its file. False, and nothing is done, where nothing can be
    /// read of it.
    pub(crate) fn rebuild(&self) -> Result<bool> {
        let (path, remainder) = (self.path(), self.remainder());
        if remainder.size_bytes() == 0 {
            return Ok(false);
        }
        let new = path.with_extension("log.new");
        files::remove(&new);
        place_log(&new, &remainder.verified_bytes()?, self.identity())?;
        fs::rename(&new, path).map_err(|error| StoreError::io("rename", &new, error))?;
        files::sync_dir(path.parent().unwrap_or(path))?;
        Ok(true)
    }
}
