//! Removes from a backup what its head does not name: files of the previous backup, and of one that was
//! not finished.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use super::layout::{HEAD_FILE_NEW, UNFINISHED, segment_stem, segments_dir, state_number};
use crate::catalog::TableId;
use crate::files;
use crate::segment::SealedSegment;

/// The segments of a backup.
#[derive(Debug, Default)]
pub struct BackupSegments(HashSet<(TableId, String)>);

impl BackupSegments {
    pub fn of(segments: &[(TableId, SealedSegment)]) -> BackupSegments {
        BackupSegments(segments.iter().map(|(table, sealed)| (*table, segment_stem(sealed))).collect())
    }
}

/// Removes only files with the names of a backup. What cannot be removed now goes with the next backup.
pub fn sweep(backup: &Path, state: Option<u64>, named: &BackupSegments) {
    sweep_states(backup, state);
    for (name, dir) in entries(&segments_dir(backup)) {
        let Ok(table) = name.parse::<TableId>() else { continue };
        for (file, path) in entries(&dir) {
            let stem = file.split('.').next().unwrap_or_default().to_string();
            let is_ours = file.ends_with(".arrow") && (stem.starts_with(UNFINISHED) || stem.contains('-'));
            if is_ours && !named.0.contains(&(table, stem)) {
                files::remove(&path);
            }
        }
        // It succeeds if the directory is empty.
        let _ = fs::remove_dir(&dir);
    }
    let _ = fs::remove_dir(segments_dir(backup));
    files::remove(&backup.join(HEAD_FILE_NEW));
}

/// Removes the catalogs and logs of all other backups.
pub fn sweep_states(backup: &Path, state: Option<u64>) {
    for (name, dir) in entries(backup) {
        if state_number(&name).is_some_and(|number| Some(number) != state)
            && let Err(error) = fs::remove_dir_all(&dir)
        {
            tracing::warn!(path = %dir.display(), %error, "could not remove files that no backup needs any more");
        }
    }
}

fn entries(dir: &Path) -> Vec<(String, std::path::PathBuf)> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    entries.flatten().filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path()))).collect()
}
