//! The target of the bytes: a file that appears only when it is complete, or a writer of the caller.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use flate2::write::GzEncoder;

use super::target::Compression;
use common::error::export::ExportError;

const BUFFER_BYTES: usize = 256 << 10;
const ZSTD_LEVEL: i32 = 3;

/// Two exports of one process must not share a temporary file.
static NEXT_TEMPORARY: AtomicU64 = AtomicU64::new(0);

pub(super) struct Sink {
    bytes: Bytes,
    /// `None`: a writer of the caller, which is only flushed.
    place: Option<TemporaryFile>,
}

enum Bytes {
    Plain(Counted),
    Gzip(GzEncoder<Counted>),
    Zstd(zstd::stream::write::Encoder<'static, Counted>),
    Closed,
}

type Counted = CountedWriter<BufWriter<Box<dyn Write + Send>>>;

struct CountedWriter<W> {
    inner: W,
    bytes: u64,
}

/// The file under its temporary name; it is removed on drop unless it was renamed.
struct TemporaryFile {
    temporary: PathBuf,
    path: PathBuf,
    file: File,
    is_kept: bool,
}

impl Sink {
    pub fn file(path: &Path, compression: Compression) -> Result<Sink, ExportError> {
        let failed = |source| ExportError::Create { path: path.to_owned(), source };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let number = NEXT_TEMPORARY.fetch_add(1, Relaxed);
        // Imports and shells skip names with a leading dot.
        let temporary = path.with_file_name(format!(".{name}.{}-{number}.tmp", std::process::id()));
        let file = OpenOptions::new().write(true).create_new(true).open(&temporary).map_err(failed)?;
        let place = TemporaryFile { temporary, path: path.to_owned(), file, is_kept: false };
        let writer = place.file.try_clone().map_err(failed)?;
        let bytes = Bytes::new(Box::new(writer), compression).map_err(failed)?;
        Ok(Sink { bytes, place: Some(place) })
    }

    pub fn writer(writer: Box<dyn Write + Send>) -> Sink {
        Sink { bytes: Bytes::Plain(counted(writer)), place: None }
    }

    /// The name of the file, from which the delimiter is chosen.
    pub fn name(&self) -> String {
        let name = self.place.as_ref().and_then(|place| place.path.file_name());
        name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Ends the compression, makes the file durable and gives it its name. Returns its size.
    pub fn finish(mut self) -> io::Result<u64> {
        let mut counted = match std::mem::replace(&mut self.bytes, Bytes::Closed) {
            Bytes::Plain(counted) => counted,
            Bytes::Gzip(encoder) => encoder.finish()?,
            Bytes::Zstd(encoder) => encoder.finish()?,
            Bytes::Closed => return Err(closed()),
        };
        counted.flush()?;
        if let Some(place) = &mut self.place {
            place.file.sync_all()?;
            fs::rename(&place.temporary, &place.path)?;
            place.is_kept = true;
        }
        Ok(counted.bytes)
    }
}

impl Bytes {
    fn new(writer: Box<dyn Write + Send>, compression: Compression) -> io::Result<Bytes> {
        let counted = counted(writer);
        Ok(match compression {
            Compression::None => Bytes::Plain(counted),
            Compression::Gzip => Bytes::Gzip(GzEncoder::new(counted, flate2::Compression::default())),
            Compression::Zstd => Bytes::Zstd(zstd::stream::write::Encoder::new(counted, ZSTD_LEVEL)?),
        })
    }
}

fn counted(writer: Box<dyn Write + Send>) -> Counted {
    CountedWriter { inner: BufWriter::with_capacity(BUFFER_BYTES, writer), bytes: 0 }
}

fn closed() -> io::Error {
    io::Error::other("the export is already finished")
}

impl Write for Sink {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        match &mut self.bytes {
            Bytes::Plain(writer) => writer.write(buf),
            Bytes::Gzip(writer) => writer.write(buf),
            Bytes::Zstd(writer) => writer.write(buf),
            Bytes::Closed => Err(closed()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.bytes {
            Bytes::Plain(writer) => writer.flush(),
            Bytes::Gzip(writer) => writer.flush(),
            Bytes::Zstd(writer) => writer.flush(),
            Bytes::Closed => Ok(()),
        }
    }
}

impl<W: Write> Write for CountedWriter<W> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(buf)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if !self.is_kept {
            // If the file cannot be removed, nothing more can be done.
            let _ = fs::remove_file(&self.temporary);
        }
    }
}
