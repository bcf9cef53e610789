//! Backups of a store in use, and stores restored from them.

mod content;
mod damage;
mod failure;
mod live;
mod places;
mod second;

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use pmem_store::{BackupReport, Store, StoreError, restore_backup, verify_backup};
use tempfile::TempDir;

use crate::helpers::*;

/// A store with table `t`, and room for a backup and other stores beside it.
pub struct Place {
    pub dir: TempDir,
    pub store: Store,
}

impl Place {
    pub fn new() -> Place {
        let dir = tempfile::tempdir().unwrap();
        let store = open(&dir.path().join("store"));
        create_table(&store, "t", &ints(0..1).schema());
        Place { dir, store }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn backup(&self) -> BackupReport {
        back_up(&self.store, &self.path("backup")).unwrap()
    }

    pub fn restored(&self, name: &str) -> Store {
        restore(&self.path("backup"), &self.path(name)).unwrap();
        open(&self.path(name))
    }

    pub fn problems(&self) -> Vec<String> {
        problems_of(&self.path("backup"))
    }
}

pub fn problems_of(backup: &Path) -> Vec<String> {
    verify_backup(backup, &mut |_| ControlFlow::Continue(())).unwrap().problems
}

pub fn back_up(store: &Store, to: &Path) -> Result<BackupReport, StoreError> {
    store.backup(to, false, &mut |_| ControlFlow::Continue(()))
}

pub fn restore(backup: &Path, to: &Path) -> Result<BackupReport, StoreError> {
    restore_backup(backup, to, false, &mut |_| ControlFlow::Continue(()))
}

/// The segments of a backup, without their side files.
pub fn segments_of(backup: &Path) -> Vec<PathBuf> {
    if !backup.join("segments").exists() {
        return Vec::new();
    }
    segment_files(backup).into_iter().map(|path| backup.join("segments").join(path)).collect()
}
