//! The file in an object store that has the bytes of a segment.

use std::borrow::Cow;
use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

use object_tier::Bytes;
use zstd::bulk::Decompressor;

use super::checksum::ChecksumEntry;
use super::compressed::{Frames, decompress};
use crate::error::{Result, StoreError};
use crate::files::is_compressed;

/// Ranges with no more than this between them are read in one request, with what lies between. A request to an object store takes some 20 ms
/// before its first byte, in which 1 MiB arrives.
pub const MERGE_GAP_BYTES: u64 = 1 << 20;
/// Longer requests are divided, because several at once are faster.
pub const REQUEST_MAX_BYTES: u64 = 8 << 20;

/// What a read has fetched from an object store.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fetched {
    /// As they came, perhaps compressed.
    pub size_bytes: u64,
    /// Buffers of columns.
    pub ranges: u64,
    /// Near ranges share a request.
    pub requests: u64,
}

#[derive(Debug)]
pub(super) struct ObjectFile {
    url: String,
    /// If it is compressed.
    frames: Option<Frames>,
}

impl ObjectFile {
    /// Removes from the file of the metadata, whose name is `path`, what it has behind the metadata and the columns.
    pub fn new(url: String, metadata: &mut Vec<u8>, path: &Path, entries: usize) -> Result<ObjectFile> {
        let frames = is_compressed(&url).then(|| Frames::take_from(metadata, path, entries)).transpose()?;
        Ok(ObjectFile { url, frames })
    }

    /// Fetches entries of the segment, ascending ones, and gives each of them to `take`.
    pub fn fetch(
        &self,
        segment: &Path,
        entries: &[ChecksumEntry],
        indices: &[usize],
        size_bytes: u64,
        take: &dyn Fn(&[u8], &ChecksumEntry) -> Result<()>,
    ) -> Result<Fetched> {
        let ranges = match &self.frames {
            Some(frames) => indices.iter().map(|index| frames.of(*index)).collect(),
            None => ranges(entries, indices),
        };
        let answers = Answers::of(&ranges, |requests| object_tier::read_ranges(&self.url, requests))?;
        let mut zstd = Decompressor::new().map_err(|error| StoreError::io("decompress", segment, error))?;
        for (index, range) in indices.iter().zip(&ranges) {
            let bytes = answers.bytes(range);
            match &self.frames {
                // One at a time, because together they may be much more than what was fetched.
                Some(_) => take(&decompress(&mut zstd, segment, &bytes, (entries, *index), size_bytes)?, &entries[*index])?,
                None => take(&bytes, &entries[*index])?,
            }
        }
        Ok(answers.fetched(&ranges))
    }
}

/// The same from the segment's file, if that has come back meanwhile.
pub(super) fn read_file(
    segment: &Path,
    entries: &[ChecksumEntry],
    indices: &[usize],
    take: &dyn Fn(&[u8], &ChecksumEntry) -> Result<()>,
) -> Result<Fetched> {
    let failed = |error| StoreError::io("read", segment, error);
    let file = File::open(segment).map_err(failed)?;
    let read = |range: &Range<u64>| {
        let mut bytes = vec![0; (range.end - range.start) as usize];
        file.read_exact_at(&mut bytes, range.start).map(|()| Bytes::from(bytes))
    };
    let ranges = ranges(entries, indices);
    let answers = Answers::of(&ranges, |requests| requests.iter().map(read).collect::<Result<_, _>>()).map_err(failed)?;
    indices.iter().zip(&ranges).try_for_each(|(index, range)| take(&answers.bytes(range), &entries[*index]))?;
    Ok(answers.fetched(&ranges))
}

fn ranges(entries: &[ChecksumEntry], indices: &[usize]) -> Vec<Range<u64>> {
    indices.iter().map(|index| &entries[*index]).map(|entry| entry.offset..entry.offset + entry.length).collect()
}

/// Requests, and what came.
struct Answers {
    requests: Vec<Range<u64>>,
    answers: Vec<Bytes>,
}

impl Answers {
    fn of<E>(ranges: &[Range<u64>], read: impl FnOnce(&[Range<u64>]) -> Result<Vec<Bytes>, E>) -> Result<Answers, E> {
        let requests = requests(ranges);
        let answers = read(&requests)?;
        Ok(Answers { requests, answers })
    }

    /// A range is copied only if several requests have it.
    fn bytes(&self, range: &Range<u64>) -> Cow<'_, [u8]> {
        let mut found = Cow::Borrowed(&[][..]);
        for (request, answer) in self.requests.iter().zip(&self.answers) {
            let (from, to) = (range.start.max(request.start), range.end.min(request.end));
            if from < to {
                let part = answer.get((from - request.start) as usize..(to - request.start) as usize).unwrap_or_default();
                match found.is_empty() {
                    true => found = Cow::Borrowed(part),
                    false => found.to_mut().extend_from_slice(part),
                }
            }
        }
        found
    }

    fn fetched(&self, ranges: &[Range<u64>]) -> Fetched {
        let size_bytes = ranges.iter().map(|range| range.end - range.start).sum();
        Fetched { size_bytes, ranges: ranges.len() as u64, requests: self.requests.len() as u64 }
    }
}

/// The requests for ranges that are ascending.
fn requests(ranges: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut merged: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end + MERGE_GAP_BYTES => last.end = last.end.max(range.end),
            _ => merged.push(range.clone()),
        }
    }
    let pieces = |range: Range<u64>| {
        let starts = range.clone().step_by(REQUEST_MAX_BYTES as usize);
        starts.map(move |start| start..(start + REQUEST_MAX_BYTES).min(range.end)).collect::<Vec<_>>()
    };
    merged.into_iter().flat_map(pieces).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_ranges_are_one_request_and_long_ones_several() {
        let (gap, max) = (MERGE_GAP_BYTES, REQUEST_MAX_BYTES);
        let of = |ranges: &[(u64, u64)]| {
            let requests = requests(&ranges.iter().map(|(start, end)| *start..*end).collect::<Vec<_>>());
            requests.into_iter().map(|range| (range.start, range.end)).collect::<Vec<_>>()
        };
        assert_eq!(of(&[(64, 164), (164 + gap, 174 + gap)]), [(64, 174 + gap)]);
        assert_eq!(of(&[(64, 164), (165 + gap, 175 + gap)]), [(64, 164), (165 + gap, 175 + gap)]);
        assert_eq!(of(&[(10, 11 + 2 * max)]), [(10, 10 + max), (10 + max, 10 + 2 * max), (10 + 2 * max, 11 + 2 * max)]);
        assert_eq!(of(&[]), []);
    }
}
