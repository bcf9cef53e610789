//! Verifies every checksum and every reference of the catalog.

use std::path::Path;

use crate::close_record::CloseRecord;
use crate::error::{Result, StoreError};
use crate::files::RowLocation;
use crate::segment::Segment;
use crate::shared::SegmentHandle;
use crate::store::Store;

#[derive(Debug, Clone, Default)]
pub struct CheckReport {
    pub tables: u64,
    pub segments: u64,
    /// The number of verified checksums: of buffers and of pieces of metadata.
    pub ranges: u64,
    pub bytes: u64,
    pub problems: Vec<String>,
    /// Segments that could not be checked, because their object store did not answer, or their disk is not mounted.
    pub unreachable: Vec<String>,
}

impl CheckReport {
    /// Notes why a segment could not be read. An object store that answers, and gives less than it was asked for, has a damaged file.
    fn note_unread(&mut self, segment: &Path, error: &StoreError) {
        let is_of_tier = matches!(error, StoreError::ObjectStore(_) | StoreError::TierGone { .. });
        let list = match is_of_tier && !RowLocation::of(segment).is_reachable() {
            true => &mut self.unreachable,
            false => &mut self.problems,
        };
        list.push(error.to_string());
    }
}

/// The progress of a check.
#[derive(Debug, Clone, Copy)]
pub struct CheckProgress {
    pub bytes_done: u64,
    pub bytes_total: u64,
}

impl Store {
    /// Reads the catalog and everything that the last version names. The report says what is wrong; that is no error.
    pub fn check(&self, progress: impl FnMut(CheckProgress)) -> Result<CheckReport> {
        self.check_with(false, progress)
    }

    /// The same, and with `is_validated` it checks that every value is valid for its type: for a store that others have made.
    pub fn check_with(&self, is_validated: bool, mut progress: impl FnMut(CheckProgress)) -> Result<CheckReport> {
        let snapshot = self.snapshot()?;
        let mut report = CheckReport::default();
        if let Err(error) = self.core.database.verify() {
            report.problems.push(error.to_string());
        }
        if let Err(error) = CloseRecord::read(self.path()) {
            report.problems.push(error.to_string());
        }
        let mut tables = Vec::new();
        for record in snapshot.tables()? {
            match snapshot.table(&record.namespace, &record.name) {
                Ok(Some(table)) => tables.push(table),
                Ok(None) => {}
                Err(error) => report.problems.push(format!("table {}.{}: {error}", record.namespace, record.name)),
            }
        }
        let bytes_total = tables.iter().map(|table| table.size_bytes()).sum();
        for table in &tables {
            report.tables += 1;
            let name = format!("{}.{}", table.record().namespace, table.record().name);
            for handle in table.segments() {
                let before = (report.problems.len(), report.unreachable.len());
                check_segment(handle.handle(), is_validated, &mut report);
                let found = report.problems[before.0..].iter_mut().chain(&mut report.unreachable[before.1..]);
                found.for_each(|found| *found = format!("table {name}: {found}"));
                progress(CheckProgress { bytes_done: report.bytes, bytes_total });
            }
            let tails = table.tails().iter().filter(|_| is_validated);
            let wrong = tails.filter_map(|tail| tail.validate().err()).map(|error| format!("table {name}: {error}"));
            report.problems.extend(wrong);
        }
        Ok(report)
    }
}

fn check_segment(handle: &SegmentHandle, is_validated: bool, report: &mut CheckReport) {
    report.segments += 1;
    let sealed = handle.sealed();
    // The segment is opened anew, because a mapping of a reader shows nothing of the side tables on disk.
    let segment = match Segment::open(handle.path(), sealed) {
        Ok(segment) => segment,
        Err(error) => return report.note_unread(handle.path(), &error),
    };
    if segment.row_count() as u64 != sealed.row_count {
        let path = handle.path().display();
        report.problems.push(format!("\"{path}\" has {} rows, expected {}", segment.row_count(), sealed.row_count));
    }
    if is_validated && let Err(error) = segment.validate() {
        report.note_unread(handle.path(), &error);
        if matches!(error, StoreError::ObjectStore(_)) {
            return;
        }
    }
    match segment.verify_all(&mut report.problems) {
        Ok((ranges, bytes)) => {
            report.ranges += ranges;
            report.bytes += bytes + sealed.side_size_bytes;
        }
        Err(error) => report.note_unread(handle.path(), &error),
    }
}
