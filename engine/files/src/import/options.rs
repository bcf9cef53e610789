//! What the user may say about the files to read.

use common::file_format::FileFormat;

/// What to do with a row that cannot be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// Stop and say where.
    #[default]
    Abort,
    /// Leave the row out and count it.
    Skip,
}

/// How CSV files are written. What is `None` is found out from the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvOptions {
    pub delimiter: Option<u8>,
    pub header: Option<bool>,
    /// `None`: quotes have no meaning.
    pub quote: Option<u8>,
    /// Further unquoted tokens that mean NULL, in every column; the empty one always does.
    pub null: Vec<String>,
}

impl Default for CsvOptions {
    fn default() -> Self {
        CsvOptions { delimiter: None, header: None, quote: Some(b'"'), null: Vec::new() }
    }
}

/// How to read files. The default finds out everything and stops at the first bad row.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// `None`: by content, then by extension.
    pub format: Option<FileFormat>,
    pub on_error: OnError,
    pub csv: CsvOptions,
    /// Text read per file to infer its types; a file that is shorter is inferred from all its rows.
    pub sample_bytes: u64,
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions { format: None, on_error: OnError::default(), csv: CsvOptions::default(), sample_bytes: 64 << 20 }
    }
}
