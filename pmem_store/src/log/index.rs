//! Where the rows of each commit lie: 32 bytes per commit, so that logs of many small ones cost little
//! memory.

use super::commits::Commit;

/// A commit, in the order of the log. Those of one record have its offset.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub offset: u64,
    pub version: u64,
    pub committed_at_ms: u64,
    pub first_row: u64,
}

/// A version that a log has rows of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogCommit {
    pub version: u64,
    pub committed_at_ms: u64,
    /// Of the log, when the version was made: its own and those before.
    pub rows: u64,
}

/// The commits up to some version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    pub rows: u64,
    /// Where the record of the last of them ends in the file.
    pub end: u64,
}

/// A part of a record, as positions in the record.
#[derive(Debug, Clone, Copy)]
pub(super) struct RecordRange {
    pub offset: u64,
    pub start: usize,
    pub rows: usize,
}

/// Invariant: versions and first rows increase strictly, and offsets from record to record.
#[derive(Debug)]
pub(super) struct Index {
    entries: Vec<Entry>,
    rows: u64,
    end: u64,
}

impl Index {
    /// Of a log whose first record will lie at `first_record`.
    pub fn new(first_record: u64) -> Index {
        Index { entries: Vec::new(), rows: 0, end: first_record }
    }

    /// Adds the record that begins where the last one ends, with the rows of these commits; returns its rows.
    pub fn push(&mut self, commits: &[Commit], bytes: u64) -> std::ops::Range<u64> {
        let first = self.rows;
        for Commit { version, committed_at_ms, rows } in commits.iter().copied() {
            self.entries.push(Entry { offset: self.end, version, committed_at_ms, first_row: self.rows });
            self.rows += rows;
        }
        self.end += bytes;
        first..self.rows
    }

    /// Takes the last record back.
    pub fn pop(&mut self) {
        while let Some(entry) = self.entries.pop() {
            (self.rows, self.end) = (entry.first_row, entry.offset);
            if self.entries.last().is_none_or(|before| before.offset < entry.offset) {
                return;
            }
        }
    }

    pub fn last(&self) -> Option<Entry> {
        self.entries.last().copied()
    }

    pub fn end(&self) -> u64 {
        self.end
    }

    pub fn until(&self, version_max: u64) -> Extent {
        let commits = self.entries.partition_point(|entry| entry.version <= version_max);
        let rows = self.entries.get(commits).map_or(self.rows, |next| next.first_row);
        let end = match commits.checked_sub(1) {
            Some(last) => self.end_of(self.entries[last].offset),
            None => self.entries.first().map_or(self.end, |first| first.offset),
        };
        Extent { rows, end }
    }

    /// Where the record at `offset` ends.
    fn end_of(&self, offset: u64) -> u64 {
        let next = self.entries.partition_point(|entry| entry.offset <= offset);
        self.entries.get(next).map_or(self.end, |next| next.offset)
    }

    /// Each version with the number of rows it added.
    pub fn versions(&self) -> Vec<(u64, u64)> {
        let ends = self.entries.iter().skip(1).map(|entry| entry.first_row).chain([self.rows]);
        self.entries.iter().zip(ends).map(|(entry, end)| (entry.version, end - entry.first_row)).collect()
    }

    /// Each version with its time in milliseconds since 1970, and how many rows there were at it.
    pub fn commits(&self) -> Vec<LogCommit> {
        let ends = self.entries.iter().skip(1).map(|entry| entry.first_row).chain([self.rows]);
        let commit = |(entry, rows): (&Entry, u64)| LogCommit { version: entry.version, committed_at_ms: entry.committed_at_ms, rows };
        self.entries.iter().zip(ends).map(commit).collect()
    }

    /// The parts of records that make up these rows, in order.
    pub fn pieces(&self, rows: std::ops::Range<u64>) -> Vec<RecordRange> {
        let mut pieces = Vec::new();
        let Some(within) = self.entries.partition_point(|entry| entry.first_row <= rows.start).checked_sub(1) else { return pieces };
        let offset = self.entries[within].offset;
        let mut first = self.entries.partition_point(|entry| entry.offset < offset);
        while let Some(Entry { offset, first_row, .. }) = self.entries.get(first).copied() {
            let after = match self.entries.get(first + 1) {
                Some(next) if next.offset == offset => self.entries.partition_point(|entry| entry.offset <= offset),
                _ => first + 1,
            };
            let record = first_row..self.entries.get(after).map_or(self.rows, |next| next.first_row);
            let (start, end) = (record.start.max(rows.start), record.end.min(rows.end));
            if start >= end {
                break;
            }
            pieces.push(RecordRange { offset, start: (start - record.start) as usize, rows: (end - start) as usize });
            first = after;
        }
        pieces
    }
}
