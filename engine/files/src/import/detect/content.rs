//! Guesses the content of a file from its first bytes.

use crate::import::csv::looks_delimited;

/// Enough for the longest magic (tar's at 257) and for a few lines of text.
pub(super) const HEAD_BYTES: u64 = 64 << 10;

pub(super) const UTF16: &str = "UTF-16 text";
pub(super) const TAR: &str = "a tar archive";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    Empty,
    Parquet,
    ArrowFile,
    ArrowStream,
    Gzip,
    Zstd,
    Zip,
    /// Text that begins with a JSON object or an array of them.
    Json,
    /// Text with several columns.
    Text,
    /// Text in one column.
    Words,
    /// A known format with this name that is not supported.
    Other(&'static str),
}

impl Content {
    pub fn describe(self) -> &'static str {
        match self {
            Content::Empty => "empty",
            Content::Parquet => "Parquet",
            Content::ArrowFile => "an Arrow IPC file",
            Content::ArrowStream => "an Arrow IPC stream",
            Content::Gzip => "gzip data",
            Content::Zstd => "zstd data",
            Content::Zip => "a zip archive",
            Content::Json => "JSON text",
            Content::Text => "delimited text",
            Content::Words => "plain text",
            Content::Other(name) => name,
        }
    }
}

const MAGIC: &[(&[u8], Content)] = &[
    (b"PAR1", Content::Parquet),
    (b"PARE", Content::Other("encrypted Parquet")),
    (b"ARROW1", Content::ArrowFile),
    (b"FEA1", Content::Other("Feather version 1")),
    (b"\x1f\x8b", Content::Gzip),
    (b"\x28\xb5\x2f\xfd", Content::Zstd),
    (b"PK\x03\x04", Content::Zip),
    (b"PK\x05\x06", Content::Other("an empty zip archive")),
    (b"BZh", Content::Other("bzip2 data")),
    (b"\xfd7zXZ\0", Content::Other("xz data")),
    (b"7z\xbc\xaf\x27\x1c", Content::Other("a 7z archive")),
    (b"\xff\xfe", Content::Other(UTF16)),
    (b"\xfe\xff", Content::Other(UTF16)),
    (b"ORC", Content::Other("ORC")),
    (b"Obj\x01", Content::Other("Avro")),
    (b"SQLite format 3\0", Content::Other("a SQLite database")),
    (b"%PDF", Content::Other("a PDF")),
    (b"\xd0\xcf\x11\xe0", Content::Other("an old Excel or Office file")),
    (b"\x89PNG", Content::Other("a PNG image")),
];

pub(super) fn content_of(head: &[u8]) -> Content {
    // An Arrow stream begins with a continuation marker and the length of the schema message.
    if head.starts_with(b"\xff\xff\xff\xff") && head.len() >= 8 {
        return Content::ArrowStream;
    }
    if let Some((_, content)) = MAGIC.iter().find(|(magic, _)| head.starts_with(magic)) {
        return *content;
    }
    if head.get(257..262) == Some(b"ustar".as_slice()) {
        return Content::Other(TAR);
    }
    if head.contains(&0) {
        return Content::Other("binary data");
    }
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    if text.iter().all(u8::is_ascii_whitespace) {
        return Content::Empty;
    }
    let first = text.trim_ascii_start();
    if first.starts_with(b"<!DOCTYPE") || first.starts_with(b"<html") {
        return Content::Other("an HTML page");
    }
    if begins_json(first) {
        Content::Json
    } else if looks_delimited(text) {
        Content::Text
    } else {
        Content::Words
    }
}

/// The text begins like rows in JSON: with `{"`, `[{`, or such a bracket alone.
fn begins_json(text: &[u8]) -> bool {
    let mut bytes = text.iter().filter(|byte| !byte.is_ascii_whitespace());
    match (bytes.next(), bytes.next()) {
        (Some(b'{'), next) => matches!(next, Some(b'"' | b'}') | None),
        (Some(b'['), next) => matches!(next, Some(b'{' | b']') | None),
        _ => false,
    }
}

/// Whether the text is an array, or some line begins like JSON: a file named `.json` whose first line is broken is JSON all the same.
pub(super) fn has_json_line(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    head.trim_ascii_start().starts_with(b"[") || head.split(|byte| *byte == b'\n').any(begins_json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_told_by_its_first_bytes() {
        assert_eq!(content_of(b""), Content::Empty);
        assert_eq!(content_of(b"PAR1..."), Content::Parquet);
        assert_eq!(content_of(b"a,b\n1,2\n"), Content::Text);
        assert_eq!(content_of(b"a\n1\n"), Content::Words);
        assert_eq!(content_of(b"{\"a\": 1}\n"), Content::Json);
        assert_eq!(content_of(b"[\n {\"a\": 1}]"), Content::Json);
        assert_eq!(content_of(b"\xff\xfea\0"), Content::Other(UTF16));
        assert_eq!(content_of(b"ab\0\x01"), Content::Other("binary data"));
    }
}
