//! The user's options for the files to read.

use common::file_directories::FileDirectories;
use common::file_format::FileFormat;

/// What to do with a row that cannot be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// Stop with an error that says where.
    #[default]
    Abort,
    /// Leave the row out and count it.
    Skip,
}

/// How CSV files are written. What is `None` is inferred from the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvOptions {
    pub delimiter: Option<u8>,
    pub header: Option<bool>,
    /// `None`: quotes have no meaning.
    pub quote: Option<u8>,
    /// Additional unquoted tokens that mean NULL, in every column; the empty one always does.
    pub null: Vec<String>,
}

impl Default for CsvOptions {
    fn default() -> Self {
        CsvOptions { delimiter: None, header: None, quote: Some(b'"'), null: Vec::new() }
    }
}

/// How to read files. The default infers everything and stops at the first bad row.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// `None`: by content, then by extension.
    pub format: Option<FileFormat>,
    pub on_error: OnError,
    pub csv: CsvOptions,
    /// The bytes of text read per file to infer its types; all rows of a shorter file are used.
    pub sample_bytes: u64,
    /// Directories called `year=2024` have the values of a column `year`.
    pub has_directory_columns: bool,
    /// A file in another directory is refused.
    pub directories: FileDirectories,
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions {
            format: None,
            on_error: OnError::default(),
            csv: CsvOptions::default(),
            sample_bytes: 64 << 20,
            has_directory_columns: false,
            directories: FileDirectories::default(),
        }
    }
}
