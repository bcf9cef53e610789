//! Finds where a log ends: records are read from the first one on until something is not a whole
//! record that follows the one before.

use std::path::Path;

use super::commits::{Commit, read_commits};
use super::decode::record_header;
use super::format::{FileHeader, RECORD_HEADER_BYTES, RecordHeader, SEVERAL_COMMITS, WITH_CATALOG};
use super::index::Index;
use crate::checksum::xxh3;
use crate::error::{Result, StoreError};

/// What a log holds.
pub(super) struct Recovered {
    pub index: Index,
    /// Of the last record; what the next one must name.
    pub last_checksum: u64,
    /// Something stands where the next record will begin.
    pub has_rest: bool,
}

/// Reads the log whose file is `bytes`. `is_committed` says which versions the catalog has.
pub(super) fn recover(path: &Path, bytes: &[u8], header: &FileHeader, is_committed: &dyn Fn(u64) -> bool) -> Result<Recovered> {
    let mut index = Index::new(header.first_record);
    let mut last_checksum = header.epoch;
    while let Some((record, body)) = next_record(bytes, &index, last_checksum) {
        let unknown = record.flags & !(WITH_CATALOG | SEVERAL_COMMITS);
        if unknown != 0 {
            let feature = u64::from(unknown);
            return Err(StoreError::NewerFormat { path: path.to_path_buf(), role: "log", feature });
        }
        // Its commit did not get as far as the catalog. Nothing was written after it: the writer
        // waits for the catalog, and takes back what the catalog refused.
        if record.flags & WITH_CATALOG != 0 && !is_committed(record.version) {
            break;
        }
        let commits = commits_of(&record, body).filter(|commits| follow(commits, &index));
        let commits = commits.ok_or_else(|| StoreError::damaged(path, index.end(), "a record is not of the commits it names"))?;
        index.push(&commits, record.record_bytes());
        last_checksum = record.checksum;
    }
    let rest = usize::try_from(index.end()).ok().and_then(|end| bytes.get(end..));
    let rest = rest.unwrap_or_default();
    let has_rest = rest[..rest.len().min(RECORD_HEADER_BYTES)].iter().any(|byte| *byte != 0);
    Ok(Recovered { index, last_checksum, has_rest })
}

/// The record after those of `index`, if a whole one is there, and its body.
fn next_record<'a>(bytes: &'a [u8], index: &Index, last_checksum: u64) -> Option<(RecordHeader, &'a [u8])> {
    let start = usize::try_from(index.end()).ok()?;
    let header_end = start.checked_add(RECORD_HEADER_BYTES)?;
    let header = record_header(bytes.get(start..header_end)?)?;
    let end = start.checked_add(usize::try_from(header.record_bytes()).ok()?)?;
    let payload = bytes.get(header_end..end)?;
    let follows = header.previous == last_checksum && header.row_count > 0 && index.last().is_none_or(|last| last.version < header.version);
    let body = payload.get(header.message_bytes as usize..)?;
    (follows && header.with_checksum(xxh3(payload)).checksum == header.checksum).then_some((header, body))
}

/// Whose rows the record has; None where it does not say that as it should.
fn commits_of(record: &RecordHeader, body: &[u8]) -> Option<Vec<Commit>> {
    let (version, rows) = (record.version, u64::from(record.row_count));
    match record.flags & SEVERAL_COMMITS {
        0 => Some(vec![Commit { version, committed_at_ms: record.committed_at_ms, rows }]),
        _ => read_commits(body, rows, version),
    }
}

fn follow(commits: &[Commit], index: &Index) -> bool {
    index.last().is_none_or(|last| commits.iter().all(|commit| last.version < commit.version))
}
