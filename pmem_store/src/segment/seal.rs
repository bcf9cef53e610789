//! The record of a sealed segment: enough to open it and to find every flipped bit.

use std::fs::File;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Result, StoreError};
use crate::files::{self, RowLocation};
use crate::region::PoisonFlag;

/// Kept in the catalog for each segment. Units: bytes; checksums are XXH3-64.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedSegment {
    pub id: u64,
    pub row_count: u64,
    pub batch_count: u64,
    pub size_bytes: u64,
    pub side_size_bytes: u64,
    pub checksums_xxh3: u64,
    pub statistics_xxh3: u64,
    pub columns_xxh3: u64,
    /// For a segment with a column of packed attributes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index_xxh3: Option<u64>,
    /// Columns are stored in other types than the physical ones.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_encoded: bool,
}

/// The files beside `<id>.arrow`.
pub(crate) struct SidePaths {
    pub checksums: PathBuf,
    pub statistics: PathBuf,
    pub columns: PathBuf,
    /// Few segments have one.
    pub index: PathBuf,
    /// What the file has beside the buffers of its columns, if the rows lie in an object store.
    pub metadata: PathBuf,
}

impl SidePaths {
    pub fn of(segment: &Path) -> SidePaths {
        SidePaths {
            checksums: segment.with_extension("sums.arrow"),
            statistics: segment.with_extension("zones.arrow"),
            columns: segment.with_extension("columns.arrow"),
            index: segment.with_extension("index.arrow"),
            metadata: segment.with_extension("metadata"),
        }
    }

    /// Those that this segment has.
    pub fn of_sealed(&self, sealed: &SealedSegment) -> Vec<&Path> {
        let index = sealed.index_xxh3.map(|_| self.index.as_path());
        self.of_every_segment().into_iter().chain(index).collect()
    }

    /// Those that are there, and those that are missing although every segment has them.
    pub fn expected(&self) -> Vec<&Path> {
        let index = self.index.exists().then_some(self.index.as_path());
        self.of_every_segment().into_iter().chain(index).collect()
    }

    fn of_every_segment(&self) -> [&Path; 3] {
        [&self.checksums, &self.statistics, &self.columns]
    }
}

/// Hard-links a sealed segment and its side files; copies them if the file system has no
/// hard links. The names are durable once their directory is.
pub(crate) fn link_segment_files(from: &Path, to: &Path, poison: &PoisonFlag) -> Result<()> {
    for (from, to) in segment_pairs(from, to) {
        if !files::link_bytes(&from, &to).is_ok_and(|is_linked| is_linked) {
            copy_durably(&from, &to, poison)?;
        }
    }
    Ok(())
}

/// The files of a segment at two paths, the rows last: a segment exists once its rows do.
pub(crate) fn segment_pairs(from: &Path, to: &Path) -> Vec<(PathBuf, PathBuf)> {
    let (sides, named) = (SidePaths::of(from), SidePaths::of(to));
    let pairs = sides.of_every_segment().into_iter().zip(named.of_every_segment());
    let index = sides.index.exists().then_some((sides.index.as_path(), named.index.as_path()));
    let all = pairs.chain(index).chain([(from, to)]);
    all.map(|(from, to)| (from.to_path_buf(), to.to_path_buf())).collect()
}

fn copy_durably(from: &Path, to: &Path, poison: &PoisonFlag) -> Result<()> {
    let mut source = files::open_rows(from)?;
    // It never overwrites an existing file, whose name belongs to another segment.
    let mut target = File::create_new(to).map_err(|error| StoreError::io("create", to, error))?;
    std::io::copy(&mut source, &mut target).map_err(|error| StoreError::io("write", to, error))?;
    files::sync(&target, to, poison)
}

/// Removes a segment and its side files; a missing file is no error.
pub(crate) fn remove_segment_files(segment: &Path) {
    let sides = SidePaths::of(segment);
    if let Some(store) = segment.ancestors().nth(3) {
        RowLocation::of(segment).remove(store);
    }
    for path in sides.of_every_segment().into_iter().chain([sides.index.as_path(), &sides.metadata, segment]) {
        if let Err(error) = std::fs::remove_file(path)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            // The file is not lost: the next open for writing removes what the catalog does not name.
            tracing::warn!(path = %path.display(), %error, "could not remove a file of a dropped segment");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_the_bytes_and_never_replaces_a_file() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("1.arrow"), dir.path().join("2.arrow"));
        std::fs::write(&from, "rows").unwrap();
        copy_durably(&from, &to, &PoisonFlag::new()).unwrap();
        assert_eq!(std::fs::read(&to).unwrap(), b"rows");
        std::fs::write(&from, "others").unwrap();
        copy_durably(&from, &to, &PoisonFlag::new()).unwrap_err();
        assert_eq!(std::fs::read(&to).unwrap(), b"rows");
    }
}
