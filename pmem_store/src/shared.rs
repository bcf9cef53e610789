//! What all readers and writers of one open store share: which files are still needed, and mappings.
//!
//! Invariant: while a [`Pin`] of version v is alive, no file that version v names is removed. So
//! neither DROP nor compaction disturbs a reader.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use crate::catalog::TableId;
use crate::error::Result;
use crate::files;
use crate::lock::StoreLock;
use crate::logs::OpenLogs;
use crate::region::PoisonFlag;
use crate::segment::{SealedSegment, Segment, remove_segment_files};
use crate::transaction::Moves;

/// Segments that no version names, waiting for the last reader of a version that did.
#[derive(Debug, Default)]
pub(crate) struct Graveyard {
    /// Live versions and how many pins hold each.
    live: BTreeMap<u64, usize>,
    /// (first version without them, their files)
    graves: Vec<(u64, Vec<PathBuf>)>,
}

impl Graveyard {
    /// Takes out what no living reader can name.
    fn exhume(&mut self) -> Vec<PathBuf> {
        let oldest = self.live.keys().next().copied().unwrap_or(u64::MAX);
        let (free, kept): (Vec<_>, Vec<_>) = std::mem::take(&mut self.graves).into_iter().partition(|(version, _)| *version <= oldest);
        self.graves = kept;
        free.into_iter().flat_map(|(_, files)| files).collect()
    }
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub store: PathBuf,
    graveyard: Mutex<Graveyard>,
    /// One per file, so that each is mapped and verified once.
    handles: Mutex<HashMap<(TableId, u64), Arc<SegmentHandle>>>,
    pub logs: Arc<OpenLogs>,
    pub moves: Moves,
    poison: Arc<PoisonFlag>,
    /// Released with the last reader or appender, which may outlive the store.
    _lock: StoreLock,
}

impl Shared {
    pub fn new(store: PathBuf, lock: StoreLock, poison: &Arc<PoisonFlag>) -> Self {
        let (graveyard, handles, poison) = (Mutex::default(), Mutex::default(), Arc::clone(poison));
        Shared { store, graveyard, handles, logs: Arc::default(), moves: Moves::default(), poison, _lock: lock }
    }

    /// The files of segments, and of logs, that `version` and later ones do not name.
    pub fn bury(&self, version: u64, segments: &[(TableId, u64)], logs: &[(TableId, u64)]) {
        let segments = segments.iter().map(|(table, segment)| files::segment_path(&self.store, *table, *segment));
        let logs = logs.iter().map(|(table, log)| files::log_path(&self.store, *table, *log));
        let files: Vec<PathBuf> = segments.chain(logs).collect();
        if !files.is_empty() {
            self.graveyard.lock().graves.push((version, files));
        }
    }

    /// The versions that somebody reads, or has begun a transaction with: one may be given a name yet.
    pub fn live_versions(&self) -> Vec<u64> {
        self.graveyard.lock().live.keys().copied().collect()
    }

    /// Removes the files of segments nobody can read any more; none of a store that something has failed for.
    pub fn purge(&self) {
        if self.poison.is_set() {
            return;
        }
        let files = self.graveyard.lock().exhume();
        if files.is_empty() {
            return;
        }
        let gone: HashSet<&Path> = files.iter().map(PathBuf::as_path).collect();
        self.handles.lock().retain(|_, handle| !gone.contains(handle.path()));
        for path in &files {
            if path.extension().is_some_and(|extension| extension == "log") {
                files::remove(path);
            } else {
                remove_segment_files(path);
            }
            if let Some(dir) = path.parent() {
                // Succeeds with the last segment of a dropped table, fails harmlessly before.
                let _ = std::fs::remove_dir(dir);
            }
        }
    }

    /// Lets go of a mapping that was never part of the store.
    pub fn forget(&self, table: TableId, segment: u64) {
        let handle = self.handles.lock().remove(&(table, segment));
        drop(handle);
    }

    pub fn handle(&self, table: TableId, sealed: &SealedSegment) -> Arc<SegmentHandle> {
        let mut handles = self.handles.lock();
        let handle = handles.entry((table, sealed.id)).or_insert_with(|| {
            let path = files::segment_path(&self.store, table, sealed.id);
            Arc::new(SegmentHandle { sealed: sealed.clone(), path, segment: OnceLock::new(), opening: Mutex::new(()) })
        });
        Arc::clone(handle)
    }
}

/// Keeps a version's files in place.
#[derive(Debug)]
pub(crate) struct Pin {
    pub version: u64,
    shared: Arc<Shared>,
}

impl Pin {
    pub fn new(version: u64, shared: &Arc<Shared>) -> Arc<Pin> {
        *shared.graveyard.lock().live.entry(version).or_insert(0) += 1;
        Arc::new(Pin { version, shared: Arc::clone(shared) })
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        let mut graveyard = self.shared.graveyard.lock();
        if let Some(count) = graveyard.live.get_mut(&self.version) {
            *count -= 1;
            if *count == 0 {
                graveyard.live.remove(&self.version);
            }
        }
        let pending = !graveyard.graves.is_empty();
        let oldest = graveyard.live.keys().next().copied().unwrap_or(u64::MAX);
        drop(graveyard);
        self.shared.moves.forget_before(oldest);
        if pending {
            self.shared.purge();
        }
    }
}

/// A sealed segment that may or may not be mapped yet.
#[derive(Debug)]
pub struct SegmentHandle {
    sealed: SealedSegment,
    path: PathBuf,
    segment: OnceLock<Arc<Segment>>,
    opening: Mutex<()>,
}

impl SegmentHandle {
    pub fn sealed(&self) -> &SealedSegment {
        &self.sealed
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Maps the segment on first use.
    pub fn open(&self) -> Result<Arc<Segment>> {
        if let Some(segment) = self.segment.get() {
            return Ok(Arc::clone(segment));
        }
        let _one_at_a_time = self.opening.lock();
        if let Some(segment) = self.segment.get() {
            return Ok(Arc::clone(segment));
        }
        let segment = Arc::new(Segment::open(&self.path, &self.sealed)?);
        Ok(Arc::clone(self.segment.get_or_init(|| segment)))
    }
}
