//! Reads and writes files by their URLs.

use std::ops::Range;
use std::path::PathBuf;

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt};
use object_store::{ObjectStoreExt, PutPayload};

use crate::client::Location;
use crate::runtime::{self, WRITE, wait};
use crate::{ObjectError, Result};

/// The size of the parts in which a large file is written. S3 allows 10,000 parts of at least 5 MiB, all of one size.
const PART_BYTES: usize = 16 << 20;
/// Requests of one call that are under way at once.
const PARALLEL_REQUESTS: usize = 8;

/// An error unless the URL has the form of one. Returns it without a slash at its end.
pub fn check_url(url: &str) -> Result<String> {
    Location::of(url)?;
    Ok(url.trim_end_matches('/').to_string())
}

/// The directory of this machine that stands for an object store; `None` for all others.
pub fn directory_of(url: &str) -> Result<Option<PathBuf>> {
    Ok(Location::of(url)?.local_path())
}

/// Writes a whole file. `go_on` is called with the bytes of each step, and ends the work by an error.
///
/// # Errors
///
/// Those of the object store and of `go_on`. A file of one part may be there all the same.
pub fn put<E: From<ObjectError>>(url: &str, content: &[u8], go_on: &mut dyn FnMut(u64) -> Result<(), E>) -> Result<(), E> {
    let location = Location::of(url)?;
    if content.len() <= PART_BYTES {
        let payload = PutPayload::from(Bytes::copy_from_slice(content));
        let (store, path) = (location.store.clone(), location.path.clone());
        wait(WRITE, url, async move { store.put(&path, payload).await })?;
        location.sync()?;
        return go_on(content.len() as u64);
    }
    let (store, path) = (location.store.clone(), location.path.clone());
    let mut upload = wait(WRITE, url, async move { store.put_multipart(&path).await })?;
    let mut write = || {
        for part in content.chunks(PART_BYTES) {
            let part_written = upload.put_part(PutPayload::from(Bytes::copy_from_slice(part)));
            wait(WRITE, url, part_written)?;
            go_on(part.len() as u64)?;
        }
        Ok(())
    };
    if let Err(error) = write() {
        // Parts of an upload that nobody ends cost money. If this fails, the rule of the bucket for such uploads must remove them.
        let _ = wait(WRITE, url, async move { upload.abort().await });
        return Err(error);
    }
    wait(WRITE, url, async move { upload.complete().await })?;
    Ok(location.sync()?)
}

/// The bytes of each range, in their order. Each range is one request.
pub fn read_ranges(url: &str, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
    let location = Location::of(url)?;
    let ranges = ranges.to_vec();
    wait("read", url, async move {
        let Location { store, path, .. } = &location;
        let requests = futures::stream::iter(ranges).map(|range| store.get_range(path, range));
        requests.buffered(PARALLEL_REQUESTS).try_collect().await
    })
}

pub fn size_bytes(url: &str) -> Result<u64> {
    let location = Location::of(url)?;
    Ok(wait("read", url, async move { location.store.head(&location.path).await })?.size)
}

/// Reads a whole file, piece by piece.
pub fn read_all<E: From<ObjectError>>(url: &str, take: &mut dyn FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
    let size_bytes = size_bytes(url)?;
    let starts: Vec<u64> = (0..size_bytes).step_by(PART_BYTES).collect();
    for starts in starts.chunks(PARALLEL_REQUESTS) {
        let ranges: Vec<_> = starts.iter().map(|start| *start..(start + PART_BYTES as u64).min(size_bytes)).collect();
        read_ranges(url, &ranges)?.iter().try_for_each(|bytes| take(bytes))?;
    }
    Ok(())
}

/// The whole of a small file.
pub fn read(url: &str) -> Result<Bytes> {
    let location = Location::of(url)?;
    wait("read", url, async move { location.store.get(&location.path).await?.bytes().await })
}

/// Removes a file; one that is not there is no error.
pub fn remove(url: &str) -> Result<()> {
    let location = Location::of(url)?;
    match wait("remove", url, async move { location.store.delete(&location.path).await }) {
        Err(ObjectError::NotFound { .. }) => Ok(()),
        removed => removed,
    }
}

/// The URLs of all files below a URL.
pub fn list(url: &str) -> Result<Vec<String>> {
    let location = Location::of(url)?;
    let (store, path) = (location.store.clone(), location.path.clone());
    let paths: Vec<String> = wait("list", url, async move {
        let found = store.list(Some(&path));
        found.map_ok(|object| object.location.to_string()).try_collect().await
    })?;
    let below = |path: &String| Some(format!("{}{}", url.trim_end_matches('/'), path.strip_prefix(location.path.as_ref())?));
    Ok(paths.iter().filter_map(below).collect())
}

/// Does work that may wait for an object store, while the caller goes on.
pub fn in_background(work: impl FnOnce() + Send + 'static) {
    runtime::in_background(work);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url_of(dir: &tempfile::TempDir, name: &str) -> String {
        format!("file://{}/{name}", dir.path().display())
    }

    fn put_all(url: &str, content: &[u8]) {
        put::<ObjectError>(url, content, &mut |_| Ok(())).unwrap();
    }

    #[test]
    fn a_file_of_many_parts_is_read_by_ranges() {
        let dir = tempfile::tempdir().unwrap();
        let content: Vec<u8> = (0..2 * PART_BYTES + 5).map(|i| (i % 251) as u8).collect();
        let url = url_of(&dir, "a/b.arrow");
        put_all(&url, &content);
        let ranges = [3..7, PART_BYTES as u64 - 1..PART_BYTES as u64 + 1, content.len() as u64 - 2..content.len() as u64];
        let read = read_ranges(&url, &ranges).unwrap();
        for (range, bytes) in ranges.iter().zip(&read) {
            assert_eq!(bytes, &content[range.start as usize..range.end as usize]);
        }
        assert_eq!(super::read(&url).unwrap(), content);
        let mut all = Vec::new();
        let mut take = |bytes: &[u8]| {
            all.extend_from_slice(bytes);
            Ok(())
        };
        read_all::<ObjectError>(&url, &mut take).unwrap();
        assert_eq!(all, content);
    }

    #[test]
    fn files_below_a_url_are_listed_and_removed() {
        let dir = tempfile::tempdir().unwrap();
        let names = ["t/1.arrow", "t/2.arrow", "u/1.arrow"].map(|name| url_of(&dir, name));
        names.iter().for_each(|url| put_all(url, b"rows"));
        let mut below = list(&url_of(&dir, "t")).unwrap();
        below.sort();
        assert_eq!(below, names[..2]);
        remove(&names[0]).unwrap();
        remove(&names[0]).unwrap();
        assert!(matches!(read(&names[0]), Err(ObjectError::NotFound { .. })));
        assert_eq!(list(&url_of(&dir, "none")).unwrap(), [""; 0]);
    }

    #[test]
    fn a_write_that_is_ended_leaves_no_file() {
        let dir = tempfile::tempdir().unwrap();
        let url = url_of(&dir, "t/1.arrow");
        let stop = || ObjectError::NotFound { url: "stopped".into() };
        put::<ObjectError>(&url, &vec![7; 3 * PART_BYTES], &mut |_| Err(stop())).unwrap_err();
        assert!(matches!(read(&url), Err(ObjectError::NotFound { .. })));
    }

    #[test]
    fn what_is_no_url_of_an_object_store_is_refused() {
        for url in [
            "",
            "/mnt/disk",
            "s3:/bucket",
            "ftp://host/dir",
            "http://host/dir",
            "s3://",
            "s3a://b/p",
            "s3://b/p?x=1",
            "s3://b/p#1",
            "s3://key:secret@b/p",
            "https://account.blob.core.windows.net/c",
            "memory:///x",
        ] {
            assert!(matches!(check_url(url), Err(ObjectError::Url { .. })), "{url}");
        }
        assert_eq!(check_url("s3://bucket/prefix/").unwrap(), "s3://bucket/prefix");
    }

    #[test]
    fn a_caller_may_wait_on_a_thread_of_another_runtime() {
        let dir = tempfile::tempdir().unwrap();
        let url = url_of(&dir, "t/1.arrow");
        put_all(&url, b"rows");
        let own = tokio::runtime::Builder::new_current_thread().build().unwrap();
        assert_eq!(own.block_on(async { read(&url).unwrap() }), "rows");
    }
}
