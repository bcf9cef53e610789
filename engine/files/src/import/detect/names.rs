//! Guesses the content of a file from its name.

use common::file_format::FileFormat;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Claim {
    pub format: Option<FileFormat>,
    pub delimiter: Option<u8>,
    pub is_zip: bool,
}

/// `flights.csv.gz` claims CSV, `lineitem.tbl` CSV with pipes, `data.zip` nothing but a zip.
pub(super) fn claim_of(name: &str) -> Claim {
    let lower = name.to_ascii_lowercase();
    let is_zip = lower.ends_with(".zip");
    let stem = [".gz", ".gzip", ".zst", ".zstd", ".zip"].iter().find_map(|suffix| lower.strip_suffix(suffix)).unwrap_or(&lower);
    let base = stem.rsplit(['/', '\\']).next().unwrap_or(stem);
    let Some((_, extension)) = base.rsplit_once('.') else {
        return Claim { is_zip, ..Claim::default() };
    };
    let delimiter = match extension {
        "tsv" | "tab" => Some(b'\t'),
        "psv" | "tbl" => Some(b'|'),
        _ => None,
    };
    let format = match extension {
        "tab" => Some(FileFormat::Csv),
        other => other.parse().ok(),
    };
    Claim { format, delimiter, is_zip }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compression_suffix_hides_no_format() {
        assert_eq!(claim_of("a/B.CSV.GZ").format, Some(FileFormat::Csv));
        assert_eq!(claim_of("x.ndjson.zst").format, Some(FileFormat::Json));
        assert_eq!(claim_of("lineitem.tbl").delimiter, Some(b'|'));
        assert_eq!(claim_of("data.d/README").format, None);
        assert!(claim_of("flights.zip").is_zip);
    }
}
