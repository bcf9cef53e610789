//! Reads members of a zip archive as independent streams.
//!
//! `zip::ZipArchive` lends its reader to one member at a time; an import wants streams it owns. So
//! the archive only says where each member lies, and the bytes are inflated and checked
//! against the archive's CRC here.

use std::fs::File;
use std::io::{self, BufRead, Read};
use std::path::Path;

use flate2::Crc;
use flate2::bufread::DeflateDecoder;
use zip::{CompressionMethod, ZipArchive};

use super::guard::guarded;
use super::paths::is_hidden;
use common::error::import::ImportError;
use common::file_format::FileFormat;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    pub name: String,
    pub data_start: u64,
    pub compressed_bytes: u64,
    pub size_bytes: u64,
    pub crc32: u32,
    pub is_deflated: bool,
}

/// The members that may hold data: no directories, nothing hidden, nothing of `__MACOSX/`.
pub fn list(path: &Path) -> Result<Vec<Member>, ImportError> {
    let file = File::open(path).map_err(|error| ImportError::from_io(path, error))?;
    let label = path.display().to_string();
    let listed = guarded(|| {
        let mut archive = ZipArchive::new(file)?;
        let mut members = Vec::new();
        for index in 0..archive.len() {
            let entry = archive.by_index_raw(index)?;
            let name = entry.name()?.into_owned();
            if entry.is_dir() || name.split('/').any(is_hidden) {
                continue;
            }
            let method = entry.compression();
            let is_readable = !entry.encrypted() && matches!(method, CompressionMethod::Stored | CompressionMethod::Deflated);
            members.push((
                is_readable,
                Member {
                    data_start: entry.data_start().unwrap_or(0),
                    compressed_bytes: entry.compressed_size(),
                    size_bytes: entry.size(),
                    crc32: entry.crc32(),
                    is_deflated: method == CompressionMethod::Deflated,
                    name,
                },
            ));
        }
        Ok::<_, zip::result::ZipError>(members)
    })
    .map_err(|reason| ImportError::Unsupported {
        file: label.clone(),
        what: format!("the zip archive is damaged or cut short ({reason}); fetch it again"),
    })?;

    listed
        .into_iter()
        .map(|(is_readable, member)| match is_readable {
            true => Ok(member),
            false => Err(ImportError::Unsupported {
                file: format!("{label} ({})", member.name),
                what: "it is encrypted or packed with a method other than deflate; unpack it first".to_owned(),
            }),
        })
        .collect()
}

impl Member {
    /// Zip holds text formats only: Parquet and Arrow files need random access.
    pub fn refuse_binary(&self, path: &Path, format: FileFormat) -> ImportError {
        ImportError::Unsupported {
            file: format!("{} ({})", path.display(), self.name),
            what: format!("{format} inside a zip archive is not supported; unpack it first"),
        }
    }
}

/// The bytes of one member, with its length and CRC checked at the end.
pub struct CheckedMember<R> {
    inner: MemberReader<R>,
    crc: Crc,
    expected_crc32: u32,
    bytes_left: u64,
}

enum MemberReader<R> {
    Stored(R),
    Deflated(DeflateDecoder<R>),
}

impl<R: BufRead> CheckedMember<R> {
    /// `reader` yields the member's data as it is in the archive, and nothing else.
    pub fn new(member: &Member, reader: R) -> Self {
        CheckedMember {
            inner: match member.is_deflated {
                true => MemberReader::Deflated(DeflateDecoder::new(reader)),
                false => MemberReader::Stored(reader),
            },
            crc: Crc::new(),
            expected_crc32: member.crc32,
            bytes_left: member.size_bytes,
        }
    }
}

impl<R: BufRead> Read for CheckedMember<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = match &mut self.inner {
            MemberReader::Stored(reader) => reader.read(buf)?,
            MemberReader::Deflated(reader) => reader.read(buf)?,
        };
        let damaged = |what| Err(io::Error::new(io::ErrorKind::InvalidData, what));
        if read == 0 && !buf.is_empty() {
            if self.bytes_left != 0 {
                return damaged("the member of the zip archive is cut short");
            }
            if self.crc.sum() != self.expected_crc32 {
                return damaged("the checksum of the zip archive does not match");
            }
            return Ok(0);
        }
        self.crc.update(&buf[..read]);
        match self.bytes_left.checked_sub(read as u64) {
            Some(left) => self.bytes_left = left,
            None => return damaged("the member of the zip archive is longer than it says"),
        }
        Ok(read)
    }
}
