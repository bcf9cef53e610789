//! Finds the format and the compression in a file name.

use std::path::Path;

use common::error::export::ExportError;
use common::file_format::FileFormat;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    None,
    Gzip,
    Zstd,
}

/// Format and compression of a file to be written.
#[derive(Clone, Debug)]
pub struct ExportTarget {
    pub format: FileFormat,
    pub(super) compression: Compression,
    pub(super) name: String,
}

impl ExportTarget {
    /// With `format: None` the suffix of `path` decides.
    pub fn of(path: &Path, format: Option<FileFormat>) -> Result<ExportTarget, ExportError> {
        let path_buf = || path.to_owned();
        let name = path.file_name().map(|name| name.to_string_lossy().to_ascii_lowercase());
        let name = name.unwrap_or_default();
        if path.is_dir() {
            return Err(ExportError::IsDirectory { path: path_buf() });
        }
        if name.ends_with(".zip") {
            return Err(ExportError::Zip { path: path_buf() });
        }
        let compressed =
            [(".gz", Compression::Gzip), (".gzip", Compression::Gzip), (".zst", Compression::Zstd), (".zstd", Compression::Zstd)];
        let suffix_match = compressed.iter().find_map(|(suffix, kind)| name.strip_suffix(suffix).map(|stem| (stem, *kind)));
        let (stem, compression) = suffix_match.unwrap_or((&name, Compression::None));
        let by_name = || stem.rsplit_once('.').and_then(|(_, suffix)| suffix.parse().ok());
        let format = format.or_else(by_name).ok_or_else(|| ExportError::UnknownSuffix { path: path_buf() })?;
        let is_text = matches!(format, FileFormat::Csv | FileFormat::Json);
        if compression != Compression::None && !is_text {
            return Err(ExportError::CannotCompress { path: path_buf(), format });
        }
        Ok(ExportTarget { format, compression, name: path.display().to_string() })
    }

    /// The delimiter of a suffix: tabs for `.tsv`, pipes for `.psv` and `.tbl`, else commas.
    pub(super) fn delimiter(name: &str) -> u8 {
        let lower = name.to_ascii_lowercase();
        let stem = lower.trim_end_matches(".gz").trim_end_matches(".zst");
        match stem.rsplit('.').next() {
            Some("tsv" | "tab") => b'\t',
            Some("psv" | "tbl") => b'|',
            _ => b',',
        }
    }
}
