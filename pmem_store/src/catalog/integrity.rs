//! Verifies a catalog by the checksums that redb keeps for its pages. redb itself verifies them only when it repairs a file.
//!
//! It verifies an image in memory, because redb's own check repairs what it finds, and accepts the commit before
//! the last one.
//! Source: redb's design document (<https://github.com/cberner/redb/blob/master/docs/design.md>).

use std::fs::File;
use std::io::{self, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use redb::backends::InMemoryBackend;
use redb::{Builder, DatabaseError, RepairSession, StorageBackend, StorageError};

/// A catalog of so many bytes is verified completely at every open. That takes about a millisecond and 1 MiB of memory for each MiB.
/// A larger one, with half a million segments or more, is verified by a check: its records have their own checksums, but a sound page in
/// the place of another one is not noticed. A smaller file is no catalog, and the open reports that.
pub const VERIFIED_AT_OPEN_BYTES: std::ops::RangeInclusive<u64> = 4096..=256 << 20;

const CHUNK_BYTES: usize = 1 << 20;

/// The header: flags of the file, then two commit slots. A flag selects the current one.
const FLAGS_AT: usize = 9;
const SECOND_COMMIT_COUNTS: u8 = 1;
const RECOVERY_REQUIRED: u8 = 2;
const TWO_PHASE_COMMIT: u8 = 4;
const COMMITS_AT: usize = 64;
const COMMIT_BYTES: usize = 128;
/// Each slot ends with its checksum.
const COMMIT_CHECKSUM_BYTES: usize = 16;
const HEADER_BYTES: usize = COMMITS_AT + 2 * COMMIT_BYTES;

/// Why a catalog cannot be trusted.
pub enum Flaw {
    /// A checksum is wrong, or the content that it covers is inconsistent.
    Damage(String),
    Refused(DatabaseError),
}

/// The catalog is small; redb's default cache is a gigabyte.
pub const CACHE_BYTES: usize = 32 << 20;

/// Verifies every page that the last commit in the file reaches. The file must not be written meanwhile.
pub fn verify(path: &Path) -> Result<(), Flaw> {
    let image = image_of(path).map_err(|error| Flaw::Refused(error.into()))?;
    let has_bad_page = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&has_bad_page);
    let on_repair = move |session: &mut RepairSession| {
        // redb calls back before it begins and, only if a page of the commit was wrong, before it takes the other commit.
        let (begin, verified) = (0.0, 0.5);
        if session.progress() > begin && session.progress() < verified {
            flag.store(true, Ordering::Relaxed);
            session.abort();
        }
    };
    let open = || Builder::new().set_cache_size(CACHE_BYTES).set_repair_callback(on_repair).create_with_backend(image).map(drop);
    match without_panic(open) {
        _ if has_bad_page.load(Ordering::Relaxed) => Err(Flaw::Damage("the checksum of a page is wrong".into())),
        Ok(Ok(())) => Ok(()),
        Ok(Err(DatabaseError::Storage(StorageError::Io(error)))) if error.kind() == io::ErrorKind::InvalidInput => {
            Err(Flaw::Refused(StorageError::Corrupted("it is cut short".into()).into()))
        }
        Ok(Err(error)) => Err(Flaw::Refused(error)),
        Err(what) => Err(Flaw::Damage(what)),
    }
}

/// redb panics if pages contradict each other.
pub fn without_panic<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|_| "its pages contradict each other".to_string())
}

fn image_of(path: &Path) -> io::Result<InMemoryBackend> {
    let mut file = File::open(path)?;
    let image = InMemoryBackend::new();
    image.set_len(file.metadata()?.len())?;
    let (mut chunk, mut offset) = (vec![0; CHUNK_BYTES], 0);
    loop {
        let read = read_up_to(&mut file, &mut chunk)?;
        if read == 0 {
            return Ok(image);
        }
        if offset == 0 && read >= HEADER_BYTES {
            mark_for_repair(&mut chunk);
        }
        image.write(offset, &chunk[..read])?;
        offset += read as u64;
    }
}

fn read_up_to(file: &mut File, chunk: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < chunk.len() {
        match file.read(&mut chunk[filled..])? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}

/// Marks the file as in need of repair, so that redb verifies it before it trusts its content; and invalidates the
/// other commit, so that redb cannot fall back to it.
fn mark_for_repair(header: &mut [u8]) {
    let flags = header[FLAGS_AT];
    header[FLAGS_AT] = (flags | RECOVERY_REQUIRED) & !TWO_PHASE_COMMIT;
    let other = if flags & SECOND_COMMIT_COUNTS == 0 { 1 } else { 0 };
    let end = COMMITS_AT + (other + 1) * COMMIT_BYTES;
    header[end - COMMIT_CHECKSUM_BYTES..end].iter_mut().for_each(|byte| *byte = !*byte);
}
