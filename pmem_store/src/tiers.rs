//! Where the rows of segments lie: in the store's directory, or in one on another disk or in an object store, to which a symbolic link leads;
//! and copies of them in memory.
//!
//! A move copies the file, makes the copy durable, and then exchanges what is under the segment's name in one rename. So at every moment
//! the rows are in one place or in both, and readers that have the old file mapped keep it. Neither the catalog nor the segment's other
//! files change, and no version is made. A crash leaves at most a copy to which nothing leads; recovery removes it.
//!
//! Invariant: a file of a tier is removed or overwritten only by the store to which its directory belongs: a copy of a store's directory
//! has links to the files of the original.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::catalog::{CatalogReader, CatalogWriter, FEATURE_OBJECT_TIER, FEATURE_TIERS, PrefetchSettings, StoreRecord, TableId};
use crate::error::{Result, StoreError};
use crate::files::{self, DiskTier, ObjectTier, RowLocation};
use crate::mapping::Mapping;
use crate::segment::{Segment, SidePaths, make_room_in_memory, memory_limit_bytes, set_memory_limit};
use crate::shared::{HandOff, Touches};
use crate::state::TableSegment;
use crate::store::Store;

/// Bytes that are copied between two looks at whether the move shall go on.
const COPY_BYTES: usize = 1 << 20;
/// Bytes after which the copy is made durable as far as it is.
const SYNC_BYTES: usize = 32 << 20;

/// It is called with the bytes of each step of a copy, and ends it by an error.
pub type GoOn<'a> = &'a mut dyn FnMut(u64) -> Result<()>;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// A copy in memory of what lies durably elsewhere.
    Memory,
    /// The store's own directory.
    Pmem,
    /// A directory elsewhere, usually on a larger and slower disk.
    Disk,
    /// An object store.
    Object,
}

impl Tier {
    /// The fastest first.
    pub const ALL: [Tier; 4] = [Tier::Memory, Tier::Pmem, Tier::Disk, Tier::Object];

    /// Those with a limit: the store's own directory has what its medium has.
    pub const LIMITED: [Tier; 3] = [Tier::Memory, Tier::Disk, Tier::Object];

    /// The setting with the bytes that it may have.
    pub fn limit_setting(self) -> String {
        format!("{}_tier_limit", self.word())
    }

    pub fn word(self) -> &'static str {
        match self {
            Tier::Memory => "memory",
            Tier::Pmem => "pmem",
            Tier::Disk => "disk",
            Tier::Object => "object",
        }
    }

    pub fn of_word(word: &str) -> Option<Tier> {
        Tier::ALL.into_iter().find(|tier| tier.word() == word)
    }

    fn missing(self) -> StoreError {
        let example = if self == Tier::Object { "s3://bucket/prefix" } else { "/directory" };
        StoreError::NoTier { tier: self.word(), example }
    }
}

/// Whether an object was given a slower tier than the store's directory.
pub fn is_slow_tier(word: &str) -> bool {
    Tier::of_word(word).is_some_and(|tier| tier > Tier::Pmem)
}

impl TableSegment {
    /// Where its rows are read from now.
    pub fn tier(&self) -> Tier {
        let open = self.handle().is_open().then(|| self.open().ok()).flatten();
        open.map_or_else(|| self.durable_tier(), |segment| segment.tier())
    }

    /// Where its rows lie durably.
    pub fn durable_tier(&self) -> Tier {
        durable_tier(self.path())
    }
}

impl Segment {
    /// Where its rows are read from now.
    pub fn tier(&self) -> Tier {
        if self.is_in_memory() { Tier::Memory } else { self.durable_tier() }
    }

    /// Where its rows lie durably.
    pub fn durable_tier(&self) -> Tier {
        durable_tier(self.path())
    }
}

fn durable_tier(segment: &Path) -> Tier {
    match RowLocation::of(segment) {
        RowLocation::Store => Tier::Pmem,
        RowLocation::Disk(_) => Tier::Disk,
        RowLocation::Object(_) => Tier::Object,
    }
}

/// The tiers that a store has, and the bytes that they may have.
#[derive(Debug, Clone, PartialEq)]
pub struct StoreTiers {
    pub disk: Option<PathBuf>,
    pub object: Option<String>,
    limits: BTreeMap<String, u64>,
    pub prefetch: PrefetchSettings,
    /// Whether what moves to the object store is compressed.
    pub compresses_objects: bool,
}

impl StoreTiers {
    /// An error if the store has no such tier.
    pub fn check(&self, tier: Tier) -> Result<()> {
        match tier {
            Tier::Disk if self.disk.is_none() => Err(tier.missing()),
            Tier::Object if self.object.is_none() => Err(tier.missing()),
            _ => Ok(()),
        }
    }

    /// `None`: what its medium has room for.
    pub fn limit_bytes(&self, tier: Tier) -> Option<u64> {
        match self.limits.get(tier.word()) {
            None if tier == Tier::Memory => Some(memory_limit_bytes()),
            limit => limit.copied(),
        }
    }
}

impl Store {
    pub fn tiers(&self) -> Result<StoreTiers> {
        Ok(tiers_of(CatalogReader::begin(&self.core.database)?.store()?))
    }

    /// Sets the limit of a tier, in bytes; `None` takes it away. What is over it stays.
    pub fn set_tier_limit(&self, tier: Tier, limit_bytes: Option<u64>) -> Result<()> {
        self.change_tiers("a limit of a tier", |record| {
            match limit_bytes {
                Some(limit_bytes) => record.tier_limits.insert(tier.word().to_string(), limit_bytes),
                None => record.tier_limits.remove(tier.word()),
            };
        })?;
        if tier == Tier::Memory {
            set_memory_limit(limit_bytes);
        }
        Ok(())
    }

    /// Changes the settings of prefetches.
    pub fn set_prefetch(&self, change: impl FnOnce(&mut PrefetchSettings)) -> Result<()> {
        self.change_tiers("settings of prefetches", |record| change(&mut record.prefetch))
    }

    /// Until it is dropped, no segment leaves the file system: its file may be opened by its name.
    pub fn hand_off(&self) -> HandOff {
        self.core.shared.hand_offs.begin()
    }

    /// Sets whether what moves to the object store is compressed. What is there stays as it is.
    pub fn set_object_compression(&self, is_on: bool) -> Result<()> {
        self.change_tiers("the compression of a tier", |record| record.compresses_objects = is_on)
    }

    /// What was read of a table, or of a blob in a slower tier.
    pub fn touches(&self, object: u64) -> Arc<Touches> {
        self.core.shared.touches.of(object)
    }

    /// The tables, and blobs in slower tiers, that were read after a time.
    pub fn touched_since(&self, since_ms: u64) -> Vec<u64> {
        self.core.shared.touches.since(since_ms)
    }

    /// From now on `tell` is called at each read of rows of another tier than the store's directory. It must take no time.
    pub fn on_tier_reads(&self, tell: impl Fn() + Send + Sync + 'static) {
        self.core.shared.touches.on_tier_reads(tell);
    }

    /// Keeps for the next process what this one knows of reads.
    pub fn save_touches(&self) {
        self.core.save_touches();
    }

    /// Copies in memory are those of the process, so the last store with a limit that is opened decides.
    pub(crate) fn use_memory_limit(&self) -> Result<()> {
        if let Some(limit_bytes) = self.tiers()?.limits.get(Tier::Memory.word()) {
            set_memory_limit(Some(*limit_bytes));
        }
        Ok(())
    }

    /// Sets the directory, which must exist, and makes this store the owner of its part of it. Segments that lie in an earlier one stay there
    /// until they are moved.
    ///
    /// # Errors
    ///
    /// It is not there, or lies in the store; or it was this store's already and has nothing of it, so that its disk may not be mounted.
    pub fn set_disk_tier(&self, directory: Option<&Path>) -> Result<()> {
        let core = &self.core;
        core.check_writable()?;
        let directory = directory.map(|path| files::tier_directory(path, core.path())).transpose()?;
        if let Some(directory) = &directory {
            let part = self.part_of(directory)?;
            if self.tiers()?.disk.as_ref() == Some(directory) && !part.has_owner() {
                return Err(StoreError::TierNotMounted { path: part.root().to_path_buf() });
            }
            part.claim(core.path())?;
        }
        self.change_tiers("a directory for the tier on disk", |record| {
            record.disk_tier = directory;
            record.writer_features |= FEATURE_TIERS;
        })
    }

    /// Sets the URL of the tier in an object store, and makes this store the owner of its part of it.
    ///
    /// # Errors
    ///
    /// It is no URL of an object store, or nothing can be written there. A directory that stands for one must exist, and not lie in the store.
    pub fn set_object_tier(&self, url: Option<&str>) -> Result<()> {
        self.core.check_writable()?;
        let url = url.map(object_tier::check_url).transpose()?;
        if let Some(url) = &url {
            if let Some(directory) = object_tier::directory_of(url)? {
                files::tier_directory(&directory, self.core.path())?;
            }
            self.objects_of(url)?.claim(self.core.path())?;
        }
        self.change_tiers("a tier in an object store", |record| {
            if url.is_some() {
                record.writer_features |= FEATURE_TIERS;
                record.reader_features |= FEATURE_OBJECT_TIER;
            }
            record.object_tier = url;
        })
    }

    /// Removes files from the object store to which no segment leads: what a crash, or an answer that did not come, has left. No segment is
    /// moved meanwhile.
    pub fn sweep_object_tier(&self) -> Result<()> {
        self.core.check_writable()?;
        match self.tiers()?.object {
            Some(url) => self.objects_of(&url)?.remove_unlinked(self.core.path()),
            None => Ok(()),
        }
    }

    fn change_tiers(&self, what: &str, change: impl FnOnce(&mut StoreRecord)) -> Result<()> {
        let core = &self.core;
        core.check_writable()?;
        let one_at_a_time = core.lock_commits()?;
        let mut writer = CatalogWriter::begin(&core.database)?;
        change(&mut writer.store);
        writer.commit_unversioned(what)?;
        drop(one_at_a_time);
        Ok(())
    }

    fn store_id(&self) -> Result<String> {
        let id = CatalogReader::begin(&self.core.database)?.store_id()?;
        id.ok_or_else(|| StoreError::Refused("the store has no id yet; open it for writing once more".into()))
    }

    fn part_of(&self, directory: &Path) -> Result<DiskTier> {
        Ok(DiskTier::new(directory, &self.store_id()?))
    }

    fn objects_of(&self, url: &str) -> Result<ObjectTier> {
        Ok(ObjectTier::new(url, &self.store_id()?))
    }

    /// Moves the rows of a segment; `go_on` is called with the bytes of each step, and ends the move by an error. Returns the bytes that were
    /// copied, 0 if the rows are there already. The snapshot that the segment is of must be held: it keeps the file. Readers go on with the old
    /// file until its mapping is released: see [`crate::Segment::release_mapping`].
    ///
    /// # Errors
    ///
    /// There is no such tier, it is full, its directory belongs to another store, or the file cannot be written: then the rows stay where they
    /// are.
    pub fn move_segment(&self, table: TableId, segment: &TableSegment, to: Tier, go_on: GoOn<'_>) -> Result<u64> {
        if segment.tier() == to || (segment.durable_tier() == to && segment.tier() != Tier::Memory) {
            return Ok(0);
        }
        self.core.check_writable()?;
        let tiers = self.tiers()?;
        tiers.check(to)?;
        if to == Tier::Memory {
            return copy_to_memory(segment, go_on);
        }
        let open = segment.open()?;
        if segment.durable_tier() == to {
            // It leaves the memory.
            return match open.release_mapping() {
                true => Ok(0),
                false => Err(StoreError::Refused("queries read the copy in memory".into())),
            };
        }
        // A damaged file stays where it is: nobody could tell later whether the move has damaged it. What was verified is what is copied.
        let rows = open.verified_mapping(go_on)?;
        self.core.mark_dirty()?;
        let before = RowLocation::of(segment.path());
        match to {
            Tier::Disk => self.to_disk(table, segment, &rows, &tiers, go_on),
            Tier::Object => self.to_object(table, segment, &rows, &tiers, go_on),
            Tier::Memory | Tier::Pmem => self.to_pmem(segment, &rows, go_on),
        }?;
        // From here on the name leads to the new file, so that one stays whatever happens.
        self.sync_names(segment)?;
        before.remove(self.core.path());
        if to != Tier::Object {
            files::remove(&SidePaths::of(segment.path()).metadata);
        }
        Ok(rows.len() as u64)
    }

    fn sync_names(&self, segment: &TableSegment) -> Result<()> {
        segment.path().parent().map_or(Ok(()), |above| files::sync_store_dir(above, &self.core.poison))
    }

    fn to_disk(&self, table: TableId, segment: &TableSegment, rows: &Mapping, tiers: &StoreTiers, go_on: GoOn<'_>) -> Result<()> {
        let Some(directory) = &tiers.disk else { return Err(Tier::Disk.missing()) };
        let part = self.part_of(directory)?;
        if !part.belongs_to(self.core.path()) {
            let path = part.root().to_path_buf();
            return Err(if part.has_owner() { StoreError::OthersTier { path } } else { StoreError::TierNotMounted { path } });
        }
        check_limit(Tier::Disk, tiers, segment, || Ok(files::size_below(part.root())))?;
        let copy = part.file(table, segment.id());
        let above = part.table_dir(table);
        files::create_dir(&above)?;
        files::sync_dir(part.root())?;
        // What a move has left that did not come to its end.
        files::remove(&copy);
        let copied = copy_durably(rows, &copy, go_on).and_then(|()| files::sync_dir(&above));
        copied.and_then(|()| link(&copy, segment.path())).inspect_err(|_| files::remove(&copy))
    }

    fn to_object(&self, table: TableId, segment: &TableSegment, rows: &Mapping, tiers: &StoreTiers, go_on: GoOn<'_>) -> Result<()> {
        let Some(url) = &tiers.object else { return Err(Tier::Object.missing()) };
        let part = self.objects_of(url)?;
        if !part.belongs_to(self.core.path())? {
            return Err(StoreError::OthersObjects { url: part.root().to_string() });
        }
        check_limit(Tier::Object, tiers, segment, || self.object_size_bytes())?;
        let (open, bytes) = (segment.open()?, rows.slice(0, rows.len())?);
        let mut local_bytes = open.local_bytes()?;
        let compressed = if tiers.compresses_objects {
            // The bytes are counted when they are sent.
            let (compressed, positions) = open.compressed(bytes, &mut |_| go_on(0))?;
            local_bytes.extend_from_slice(&positions);
            Some(compressed)
        } else {
            None
        };
        let metadata = SidePaths::of(segment.path()).metadata;
        files::write_store_file(&metadata, &local_bytes, &self.core.poison)?;
        self.sync_names(segment)?;
        let file = part.new_file(table, segment.id(), tiers.compresses_objects);
        object_tier::put(&file, compressed.as_deref().unwrap_or(bytes), go_on)?;
        check_whole(rows)?;
        self.core.shared.hand_offs.without_any(|| link(Path::new(&file), segment.path()))
    }

    fn to_pmem(&self, segment: &TableSegment, rows: &Mapping, go_on: GoOn<'_>) -> Result<()> {
        let copy = being_made(segment.path());
        copy_durably(rows, &copy, go_on).and_then(|()| rename(&copy, segment.path())).inspect_err(|_| files::remove(&copy))
    }

    /// The bytes of all segments in the object store that the current version has.
    fn object_size_bytes(&self) -> Result<u64> {
        let snapshot = self.snapshot()?;
        let mut size_bytes = 0;
        for record in snapshot.tables()? {
            let Some(table) = snapshot.glance(record.id)? else { continue };
            let there = table.segments().iter().filter(|segment| segment.durable_tier() == Tier::Object);
            size_bytes += there.map(|segment| segment.record().sealed.size_bytes).sum::<u64>();
        }
        Ok(size_bytes)
    }
}

fn tiers_of(record: StoreRecord) -> StoreTiers {
    StoreTiers {
        disk: record.disk_tier,
        object: record.object_tier,
        limits: record.tier_limits,
        prefetch: record.prefetch,
        compresses_objects: record.compresses_objects,
    }
}

/// An error if the tier has no room for the segment.
fn check_limit(tier: Tier, tiers: &StoreTiers, segment: &TableSegment, size_bytes: impl FnOnce() -> Result<u64>) -> Result<()> {
    let Some(limit_bytes) = tiers.limit_bytes(tier) else { return Ok(()) };
    let bytes = segment.record().sealed.size_bytes;
    match size_bytes()?.saturating_add(bytes) > limit_bytes {
        true => Err(StoreError::TierFull { tier: tier.word(), bytes, limit_bytes }),
        false => Ok(()),
    }
}

fn copy_to_memory(segment: &TableSegment, go_on: GoOn<'_>) -> Result<u64> {
    let bytes = segment.record().sealed.size_bytes;
    check_memory(bytes)?;
    segment.open()?.copy_to_memory(go_on)?;
    Ok(bytes)
}

/// Makes room in the tier in memory, or returns an error if there is none.
pub(crate) fn check_memory(bytes: u64) -> Result<()> {
    match make_room_in_memory(bytes) {
        true => Ok(()),
        false => Err(StoreError::TierFull { tier: Tier::Memory.word(), bytes, limit_bytes: memory_limit_bytes() }),
    }
}

/// From here on the name leads to this file. An error leaves it as it was.
fn link(to: &Path, name: &Path) -> Result<()> {
    let link = being_made(name);
    symlink(to, &link).map_err(|error| StoreError::io("create", &link, error))?;
    rename(&link, name)
}

fn rename(new: &Path, name: &Path) -> Result<()> {
    fs::rename(new, name).map_err(|error| StoreError::io("rename", new, error))
}

/// The name of a file that will get that of a segment. It is no name of a segment.
fn being_made(segment: &Path) -> PathBuf {
    let path = segment.with_extension("moving");
    files::remove(&path);
    path
}

fn copy_durably(rows: &Mapping, to: &Path, go_on: GoOn<'_>) -> Result<()> {
    let sync = |target: &File| target.sync_data().map_err(|error| StoreError::io("sync", to, error));
    let mut target = File::create_new(to).map_err(|error| StoreError::io("create", to, error))?;
    // A single sync at the end could take minutes, in which nobody can end the move.
    for piece in rows.slice(0, rows.len())?.chunks(SYNC_BYTES) {
        for step in piece.chunks(COPY_BYTES) {
            target.write_all(step).map_err(|error| StoreError::io("write", to, error))?;
            go_on(step.len() as u64)?;
        }
        sync(&target)?;
    }
    check_whole(rows)
}

/// Bytes that were cut off while they were copied have been read as zeros.
fn check_whole(rows: &Mapping) -> Result<()> {
    match rows.damaged() {
        true => Err(StoreError::damaged(rows.path(), 0, "it was cut short while it was copied")),
        false => Ok(()),
    }
}
