//! What is known of a segment once it is sealed: enough to open it and to find every flipped bit.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

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
}

/// The files beside `<id>.arrow`.
pub(crate) struct SidePaths {
    pub checksums: PathBuf,
    pub statistics: PathBuf,
    pub columns: PathBuf,
}

impl SidePaths {
    pub fn of(segment: &Path) -> SidePaths {
        SidePaths {
            checksums: segment.with_extension("sums.arrow"),
            statistics: segment.with_extension("zones.arrow"),
            columns: segment.with_extension("columns.arrow"),
        }
    }

    pub fn all(&self) -> [&Path; 3] {
        [&self.checksums, &self.statistics, &self.columns]
    }
}

/// Removes a segment and what lies beside it; what is not there is no error.
pub(crate) fn remove_segment_files(segment: &Path) {
    for path in SidePaths::of(segment).all().into_iter().chain([segment]) {
        if let Err(error) = std::fs::remove_file(path)
            && error.kind() != std::io::ErrorKind::NotFound
        {
            // Not lost: the next open for writing removes what the catalog does not name.
            tracing::warn!(path = %path.display(), %error, "could not remove a file of a dropped segment");
        }
    }
}
