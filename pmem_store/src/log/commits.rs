//! The commits of a record that several of them share: a table behind its Arrow buffers.

use super::format::u64_at;
use crate::segment::ALIGNMENT;

const ENTRY_BYTES: usize = 24;
const COUNT_BYTES: usize = 8;

/// What a commit added to a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Commit {
    pub version: u64,
    pub committed_at_ms: u64,
    pub rows: u64,
}

/// What the table of so many commits takes.
pub(super) fn commits_bytes(count: usize) -> usize {
    (count * ENTRY_BYTES + COUNT_BYTES).next_multiple_of(ALIGNMENT)
}

/// Appends the table. The count stands at its end, from where it is read.
pub(super) fn put_commits(bytes: &mut Vec<u8>, commits: &[Commit]) {
    let end = bytes.len() + commits_bytes(commits.len());
    for word in commits.iter().flat_map(|commit| [commit.version, commit.committed_at_ms, commit.rows]) {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
    bytes.resize(end - COUNT_BYTES, 0);
    bytes.extend_from_slice(&(commits.len() as u64).to_le_bytes());
}

/// The table at the end of a body. None where there is none that fits, or its rows are not the record's,
/// or versions do not increase up to the record's.
pub(super) fn read_commits(body: &[u8], row_count: u64, version: u64) -> Option<Vec<Commit>> {
    let count_at = body.len().checked_sub(COUNT_BYTES)?;
    let count = usize::try_from(u64_at(body, count_at)).ok().filter(|count| *count <= body.len() / ENTRY_BYTES)?;
    let table = body.get(body.len().checked_sub(commits_bytes(count))?..)?;
    let entries = table.chunks_exact(ENTRY_BYTES).take(count);
    let commit = |entry: &[u8]| Commit { version: u64_at(entry, 0), committed_at_ms: u64_at(entry, 8), rows: u64_at(entry, 16) };
    let commits: Vec<Commit> = entries.map(commit).collect();
    let rows = commits.iter().try_fold(0u64, |rows, commit| rows.checked_add(commit.rows));
    let is_whole = commits.len() == count
        && commits.last().is_some_and(|last| last.version == version)
        && commits.windows(2).all(|pair| pair[0].version < pair[1].version)
        && commits.iter().all(|commit| commit.rows > 0)
        && rows == Some(row_count);
    is_whole.then_some(commits)
}
