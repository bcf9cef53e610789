//! Where each record lies, and which rows it holds: 32 bytes per record, so that logs of many small
//! ones cost little memory.

/// A record, in the order of the log.
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

/// The records up to some version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    pub records: usize,
    pub rows: u64,
    /// Where the last of them ends in the file.
    pub end: u64,
}

/// A part of a record, as positions in the record.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece {
    pub offset: u64,
    pub start: usize,
    pub rows: usize,
}

/// Invariant: offsets, versions and first rows increase strictly.
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

    /// Adds the record that begins where the last one ends; returns its rows.
    pub fn push(&mut self, version: u64, committed_at_ms: u64, rows: u64, bytes: u64) -> std::ops::Range<u64> {
        self.entries.push(Entry { offset: self.end, version, committed_at_ms, first_row: self.rows });
        let first = self.rows;
        self.rows += rows;
        self.end += bytes;
        first..self.rows
    }

    /// Takes the last record back.
    pub fn pop(&mut self) {
        if let Some(entry) = self.entries.pop() {
            self.rows = entry.first_row;
            self.end = entry.offset;
        }
    }

    pub fn last(&self) -> Option<Entry> {
        self.entries.last().copied()
    }

    pub fn end(&self) -> u64 {
        self.end
    }

    pub fn until(&self, version_max: u64) -> Extent {
        let records = self.entries.partition_point(|entry| entry.version <= version_max);
        match self.entries.get(records) {
            Some(next) => Extent { records, rows: next.first_row, end: next.offset },
            None => Extent { records, rows: self.rows, end: self.end },
        }
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
    pub fn pieces(&self, rows: std::ops::Range<u64>) -> Vec<Piece> {
        let first = self.entries.partition_point(|entry| entry.first_row <= rows.start).saturating_sub(1);
        let mut pieces = Vec::new();
        for (at, entry) in self.entries.iter().enumerate().skip(first) {
            let next_row = self.entries.get(at + 1).map_or(self.rows, |next| next.first_row);
            let (start, end) = (entry.first_row.max(rows.start), next_row.min(rows.end));
            if start >= end {
                break;
            }
            let start_in_record = (start - entry.first_row) as usize;
            pieces.push(Piece { offset: entry.offset, start: start_in_record, rows: (end - start) as usize });
        }
        pieces
    }
}
