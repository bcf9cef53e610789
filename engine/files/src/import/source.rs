//! One stream of rows: a file, or a member of a zip archive.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::sync::Arc;

use super::encoding::{Encoding, Utf8Text};
use super::progress::{CountingReader, ImportProgress};
use super::zip_members::{CheckedMember, Member};
use common::error::import::ImportError;
use common::file_format::FileFormat;

/// The container around the bytes of a text format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Container {
    Plain,
    Gzip,
    Zstd,
    Zip(Member),
}

#[derive(Clone, Debug)]
pub struct Source {
    pub path: PathBuf,
    pub container: Container,
    pub format: FileFormat,
    /// The Arrow bytes are the stream format, not the file format.
    pub is_stream: bool,
    /// The delimiter that the name suggests (`.tsv`).
    pub delimiter_hint: Option<u8>,
    /// The encoding of the text that the container has.
    pub encoding: Encoding,
    /// The size on disk.
    pub size_bytes: u64,
}

impl Source {
    /// The name in messages: `data/flights.zip (flights.csv)`.
    pub fn label(&self) -> String {
        match &self.container {
            Container::Zip(member) => format!("{} ({})", self.path.display(), member.name),
            _ => self.path.display().to_string(),
        }
    }

    pub fn open_file(&self) -> Result<File, ImportError> {
        File::open(&self.path).map_err(|error| ImportError::from_io(&self.path, error))
    }

    /// The decompressed text in UTF-8. `progress` counts the compressed bytes; none while inferring.
    pub fn open_text(&self, progress: Option<Arc<ImportProgress>>) -> Result<Box<dyn Read + Send>, ImportError> {
        let bytes = decompress(self.open_file()?, &self.container, progress);
        let bytes = bytes.map_err(|error| ImportError::reading(&self.label(), self.format, error))?;
        Ok(match self.encoding {
            Encoding::Utf8 => bytes,
            encoding => Box::new(Utf8Text::new(bytes, encoding)),
        })
    }

    pub fn damaged(&self, reason: impl Into<String>) -> ImportError {
        ImportError::Damaged { file: self.label(), format: self.format, reason: reason.into() }
    }
}

pub fn decompress(mut file: File, container: &Container, progress: Option<Arc<ImportProgress>>) -> io::Result<Box<dyn Read + Send>> {
    let mut bytes_wanted = u64::MAX;
    if let Container::Zip(member) = container {
        file.seek(SeekFrom::Start(member.data_start))?;
        bytes_wanted = member.compressed_bytes;
    }
    let inner = file.take(bytes_wanted);
    let counted = BufReader::with_capacity(128 << 10, CountingReader { inner, progress });
    Ok(match container {
        Container::Plain => Box::new(counted),
        // Multi: `cat a.gz b.gz` and bgzip make several members.
        Container::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(counted)),
        Container::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(counted)?),
        Container::Zip(member) => Box::new(CheckedMember::new(member, counted)),
    })
}
