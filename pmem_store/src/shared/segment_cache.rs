//! The mappings of sealed segments: one per file, so that each is mapped and verified once.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use crate::error::Result;
use crate::files;
use crate::names::TableId;
use crate::segment::{SealedSegment, Segment};

#[derive(Debug)]
pub struct SegmentCache {
    store: PathBuf,
    handles: Mutex<HashMap<(TableId, u64), Arc<SegmentHandle>>>,
}

impl SegmentCache {
    pub fn new(store: PathBuf) -> Self {
        SegmentCache { store, handles: Mutex::default() }
    }

    pub fn handle(&self, table: TableId, sealed: &SealedSegment) -> Arc<SegmentHandle> {
        let mut handles = self.handles.lock();
        let handle = handles.entry((table, sealed.id)).or_insert_with(|| {
            let path = files::segment_path(&self.store, table, sealed.id);
            Arc::new(SegmentHandle { sealed: sealed.clone(), path, segment: OnceLock::new(), opening: Mutex::new(()) })
        });
        Arc::clone(handle)
    }

    /// Drops the mapping of a segment that was never part of the store.
    pub fn forget(&self, table: TableId, segment: u64) {
        let handle = self.handles.lock().remove(&(table, segment));
        drop(handle);
    }

    /// Drops the mappings of files that are about to be removed.
    pub fn forget_files(&self, files: &HashSet<&Path>) {
        self.handles.lock().retain(|_, handle| !files.contains(handle.path()));
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

    /// Whether [`SegmentHandle::open`] has nothing to read.
    pub fn is_open(&self) -> bool {
        self.segment.get().is_some()
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
