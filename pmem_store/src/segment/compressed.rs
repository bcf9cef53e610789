//! A segment as it lies in an object store: compressed with zstd, in a frame for each range that has a checksum, with the padding behind it. So a
//! query fetches and decompresses only the buffers that it needs, and `zstd -d` makes the Arrow file of the whole again.
//!
//! The positions of the frames stay in the store's directory, at the end of the file of the metadata: one for each frame, the length of the
//! compressed file, and the checksum of these, each 8 bytes in little-endian order.

use std::ops::Range;
use std::path::Path;

use zstd::bulk::{Compressor, Decompressor};

use super::checksum::ChecksumEntry;
use crate::checksum::xxh3;
use crate::error::{Result, StoreError};

/// What zstd uses by default; higher levels are much slower for a few per cent.
const LEVEL: i32 = 3;
const POSITION_BYTES: usize = 8;

/// The compressed file, and the positions of its frames as they are kept. `go_on` is called with the bytes of each step.
pub(crate) fn compress(
    segment: &Path,
    bytes: &[u8],
    entries: &[ChecksumEntry],
    go_on: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<(Vec<u8>, Vec<u8>)> {
    let failed = |error| StoreError::io("compress", segment, error);
    let mut compressor = Compressor::new(LEVEL).map_err(failed)?;
    let (mut file, mut positions) = (Vec::new(), Vec::with_capacity((entries.len() + 1) * POSITION_BYTES));
    for range in (0..entries.len()).map(|index| padded(entries, index, bytes.len() as u64)) {
        positions.extend_from_slice(&(file.len() as u64).to_le_bytes());
        let part = &bytes[range.start as usize..range.end as usize];
        file.extend_from_slice(&compressor.compress(part).map_err(failed)?);
        go_on(part.len() as u64)?;
    }
    positions.extend_from_slice(&(file.len() as u64).to_le_bytes());
    positions.extend_from_slice(&xxh3(&positions).to_le_bytes());
    Ok((file, positions))
}

/// An entry with the padding behind it. The first one begins the file.
fn padded(entries: &[ChecksumEntry], index: usize, size_bytes: u64) -> Range<u64> {
    entries[index].offset..entries.get(index + 1).map_or(size_bytes, |next| next.offset)
}

/// Where the frame of each entry lies.
#[derive(Debug)]
pub(super) struct Frames(Vec<u64>);

impl Frames {
    /// Removes the positions from the end of the file of the metadata; `path` is its name.
    pub fn take_from(metadata: &mut Vec<u8>, path: &Path, entries: usize) -> Result<Frames> {
        let damaged =
            |offset: usize| StoreError::damaged(path, offset as u64, "the positions of the frames are not those that were written");
        let start = metadata.len().checked_sub((entries + 2) * POSITION_BYTES).ok_or_else(|| damaged(0))?;
        let positions = metadata.split_off(start);
        let (positions, checksum) = positions.split_at((entries + 1) * POSITION_BYTES);
        if checksum != xxh3(positions).to_le_bytes() {
            return Err(damaged(start));
        }
        let (positions, _) = positions.as_chunks::<POSITION_BYTES>();
        Ok(Frames(positions.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect()))
    }

    pub fn of(&self, index: usize) -> Range<u64> {
        self.0[index]..self.0[index + 1]
    }
}

/// The bytes of an entry from its frame. A frame that is damaged is an error, or has other bytes than the checksum says.
pub(super) fn decompress(
    zstd: &mut Decompressor<'_>,
    segment: &Path,
    frame: &[u8],
    (entries, index): (&[ChecksumEntry], usize),
    size_bytes: u64,
) -> Result<Vec<u8>> {
    let range = padded(entries, index, size_bytes);
    let damaged =
        |error| StoreError::damaged(segment, range.start, format!("what the object store has of it cannot be decompressed: {error}"));
    let mut bytes = zstd.decompress(frame, (range.end - range.start) as usize).map_err(damaged)?;
    bytes.truncate(entries[index].length as usize);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(offset: u64, length: u64) -> ChecksumEntry {
        ChecksumEntry { batch: 0, is_metadata: false, offset, length, xxh3: 0 }
    }

    #[test]
    fn each_entry_is_decompressed_alone_and_all_frames_are_the_file() {
        let bytes: Vec<u8> = (0..1000_u32).map(|at| (at / 100) as u8).collect();
        let entries = [entry(0, 10), entry(64, 300), entry(384, 600)];
        let (file, positions) = compress(Path::new("s"), &bytes, &entries, &mut |_| Ok(())).unwrap();
        let mut metadata = [b"first".as_slice(), &positions].concat();
        let frames = Frames::take_from(&mut metadata, Path::new("m"), entries.len()).unwrap();
        assert_eq!(metadata, b"first");
        let mut zstd = Decompressor::new().unwrap();
        for (index, entry) in entries.iter().enumerate() {
            let range = frames.of(index);
            let frame = &file[range.start as usize..range.end as usize];
            let found = decompress(&mut zstd, Path::new("s"), frame, (&entries, index), 1000).unwrap();
            assert_eq!(found, bytes[entry.offset as usize..(entry.offset + entry.length) as usize]);
        }
        assert_eq!(zstd::stream::decode_all(file.as_slice()).unwrap(), bytes);
        assert!(decompress(&mut zstd, Path::new("s"), &file[1..20], (&entries, 0), 1000).is_err());
    }

    #[test]
    fn positions_that_were_damaged_are_not_used() {
        let (_, positions) = compress(Path::new("s"), &[7; 1000], &[entry(0, 10), entry(64, 300)], &mut |_| Ok(())).unwrap();
        for at in 0..positions.len() {
            let mut damaged = positions.clone();
            damaged[at] ^= 1;
            assert!(Frames::take_from(&mut damaged, Path::new("m"), 2).is_err(), "{at}");
        }
        assert!(Frames::take_from(&mut positions[1..].to_vec(), Path::new("m"), 2).is_err());
        assert!(Frames::take_from(&mut positions.clone(), Path::new("m"), 2).is_ok());
    }
}
