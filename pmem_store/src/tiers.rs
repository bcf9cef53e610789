//! Where the rows of segments lie: in the store's directory, or in one on another disk, to which a symbolic link leads.
//!
//! A move copies the file, makes the copy durable, and then exchanges what is under the segment's name in one rename. So at every moment
//! the rows are in one place or in both, and readers that have the old file mapped keep it. Neither the catalog nor the segment's other
//! files change, and no version is made. A crash leaves at most a copy to which nothing leads; recovery removes it.
//!
//! Invariant: a file of a disk tier is removed or overwritten only by the store to which its directory belongs: a copy of a store's directory
//! has links to the files of the original.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::catalog::{CatalogReader, CatalogWriter, FEATURE_TIERS, TableId};
use crate::error::{Result, StoreError};
use crate::files::{self, DiskTier};
use crate::state::TableSegment;
use crate::store::Store;

/// Bytes that are copied between two looks at whether the move shall go on.
const COPY_BYTES: usize = 1 << 20;
/// Bytes after which the copy is made durable as far as it is.
const SYNC_BYTES: u64 = 32 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tier {
    /// The store's own directory.
    Pmem,
    /// A directory elsewhere, usually on a larger and slower disk.
    Disk,
}

impl Tier {
    pub fn word(self) -> &'static str {
        match self {
            Tier::Pmem => "pmem",
            Tier::Disk => "disk",
        }
    }

    pub fn of_word(word: &str) -> Option<Tier> {
        [Tier::Pmem, Tier::Disk].into_iter().find(|tier| tier.word() == word)
    }
}

impl TableSegment {
    /// Where its rows lie now.
    pub fn tier(&self) -> Tier {
        if files::link_target(self.path()).is_some() { Tier::Disk } else { Tier::Pmem }
    }
}

impl Store {
    /// The directory of the tier on disk; `None` if the store has none.
    pub fn disk_tier(&self) -> Result<Option<PathBuf>> {
        Ok(CatalogReader::begin(&self.core.database)?.store()?.disk_tier)
    }

    /// Sets the directory, which must exist, and makes this store the owner of its part of it. Segments that lie in an earlier one stay there
    /// until they are moved.
    ///
    /// # Errors
    ///
    /// It is no directory, or lies in the store; or it was this store's already and has nothing of it, so that its disk may not be mounted.
    pub fn set_disk_tier(&self, directory: Option<&Path>) -> Result<()> {
        let core = &self.core;
        core.check_writable()?;
        let directory = directory.map(|path| fs::canonicalize(path).map_err(|error| StoreError::io("open", path, error))).transpose()?;
        if let Some(directory) = &directory {
            let store = fs::canonicalize(core.path()).map_err(|error| StoreError::io("open", core.path(), error))?;
            if !directory.is_dir() || directory.starts_with(&store) {
                let what = if directory.is_dir() { "lies in the store itself" } else { "is no directory" };
                return Err(StoreError::Refused(format!("\"{}\" {what}", directory.display())));
            }
            let part = self.part_of(directory)?;
            if self.disk_tier()?.as_ref() == Some(directory) && !part.has_owner() {
                return Err(StoreError::TierNotMounted { path: part.root().to_path_buf() });
            }
            part.claim(core.path())?;
        }
        let one_at_a_time = core.lock_commits()?;
        let mut writer = CatalogWriter::begin(&core.database)?;
        writer.store.disk_tier = directory;
        writer.store.writer_features |= FEATURE_TIERS;
        writer.commit_unversioned("a directory for the tier on disk")?;
        drop(one_at_a_time);
        Ok(())
    }

    fn part_of(&self, directory: &Path) -> Result<DiskTier> {
        match CatalogReader::begin(&self.core.database)?.store_id()? {
            Some(id) => Ok(DiskTier::new(directory, &id)),
            None => Err(StoreError::Refused("the store has no id yet; open it for writing once more".into())),
        }
    }

    /// Moves the rows of a segment; `go_on` is called with the bytes of each step, and ends the move by an error. Returns the bytes that were
    /// copied, 0 if the rows are there already. The snapshot that the segment is of must be held: it keeps the file. Readers go on with the old
    /// file until its mapping is released: see [`crate::Segment::release_mapping`].
    ///
    /// # Errors
    ///
    /// There is no such tier, its directory belongs to another store, or the file cannot be written: then the rows stay where they are.
    pub fn move_segment(&self, table: TableId, segment: &TableSegment, to: Tier, go_on: &mut dyn FnMut(u64) -> Result<()>) -> Result<u64> {
        if segment.tier() == to {
            return Ok(0);
        }
        self.core.check_writable()?;
        // A damaged file stays where it is: nobody could tell later whether the move has damaged it.
        let mut problems = Vec::new();
        segment.open()?.verify_all(&mut problems);
        if let Some(problem) = problems.pop() {
            return Err(StoreError::Refused(problem));
        }
        self.core.mark_dirty()?;
        match to {
            Tier::Disk => self.to_disk(table, segment, go_on),
            Tier::Pmem => self.to_pmem(segment, go_on),
        }
    }

    fn to_disk(&self, table: TableId, segment: &TableSegment, go_on: &mut dyn FnMut(u64) -> Result<()>) -> Result<u64> {
        let Some(directory) = self.disk_tier()? else { return Err(StoreError::NoTier(Tier::Disk.word())) };
        let part = self.part_of(&directory)?;
        if !part.belongs_to(self.core.path()) {
            let path = part.root().to_path_buf();
            return Err(if part.has_owner() { StoreError::OthersTier { path } } else { StoreError::TierNotMounted { path } });
        }
        let name = segment.path();
        let copy = part.file(table, segment.id());
        let above = part.table_dir(table);
        files::create_dir(&above)?;
        files::sync_dir(part.root())?;
        // What a move has left that did not come to its end.
        files::remove(&copy);
        let bytes = copy_durably(name, &copy, segment, go_on).inspect_err(|_| files::remove(&copy))?;
        files::sync_dir(&above)?;
        let link = being_made(name);
        symlink(&copy, &link).map_err(|error| StoreError::io("create", &link, error)).inspect_err(|_| files::remove(&copy))?;
        // If this fails, recovery removes what is not needed: the name may lead to the copy already.
        self.exchange(&link, name)?;
        Ok(bytes)
    }

    fn to_pmem(&self, segment: &TableSegment, go_on: &mut dyn FnMut(u64) -> Result<()>) -> Result<u64> {
        let name = segment.path();
        let Some(from) = files::link_target(name) else { return Ok(0) };
        let copy = being_made(name);
        let bytes = copy_durably(&from, &copy, segment, go_on).inspect_err(|_| files::remove(&copy))?;
        self.exchange(&copy, name)?;
        files::remove_of_tier(&from, self.core.path());
        Ok(bytes)
    }

    /// From here on the name leads to the new file.
    fn exchange(&self, new: &Path, name: &Path) -> Result<()> {
        fs::rename(new, name).map_err(|error| StoreError::io("rename", new, error))?;
        name.parent().map_or(Ok(()), |above| files::sync_store_dir(above, &self.core.poison))
    }
}

/// The name of a file that will get that of a segment. It is no name of a segment.
fn being_made(segment: &Path) -> PathBuf {
    let path = segment.with_extension("moving");
    files::remove(&path);
    path
}

fn copy_durably(from: &Path, to: &Path, segment: &TableSegment, go_on: &mut dyn FnMut(u64) -> Result<()>) -> Result<u64> {
    let sync = |target: &File| target.sync_data().map_err(|error| StoreError::io("sync", to, error));
    let mut source = File::open(from).map_err(|error| StoreError::io("open", from, error))?;
    let mut target = File::create_new(to).map_err(|error| StoreError::io("create", to, error))?;
    let (mut buffer, mut copied) = (vec![0_u8; COPY_BYTES], 0);
    loop {
        let count = source.read(&mut buffer).map_err(|error| StoreError::io("read", from, error))?;
        if count == 0 {
            break;
        }
        target.write_all(&buffer[..count]).map_err(|error| StoreError::io("write", to, error))?;
        copied += count as u64;
        // A single sync at the end could take minutes, in which nobody can end the move.
        if copied.is_multiple_of(SYNC_BYTES) {
            sync(&target)?;
        }
        go_on(count as u64)?;
    }
    sync(&target)?;
    let expected = segment.record().sealed.size_bytes;
    match copied == expected {
        true => Ok(copied),
        false => Err(StoreError::damaged(from, copied, format!("it has {copied} bytes, and the catalog says {expected}"))),
    }
}
