//! The directories in which statements may read and write files.

use std::env::split_paths;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// By default all directories.
#[derive(Debug, Clone, Default)]
pub struct FileDirectories(Option<Arc<[PathBuf]>>);

impl FileDirectories {
    /// `list` names directories with colons between them; one that does not exist has no files.
    pub fn of(list: Option<&Path>) -> FileDirectories {
        FileDirectories(list.map(|list| split_paths(list).filter_map(|directory| directory.canonicalize().ok()).collect()))
    }

    /// Whether the file, which may not exist yet, is in one of them. A link counts as what it leads to.
    pub fn have(&self, path: &Path) -> bool {
        let Some(directories) = &self.0 else { return true };
        real_path(path).is_some_and(|path| directories.iter().any(|directory| path.starts_with(directory)))
    }
}

fn real_path(path: &Path) -> Option<PathBuf> {
    match path.canonicalize() {
        Ok(real) => Some(real),
        // It would be made where the link leads to.
        Err(_) if path.is_symlink() => None,
        Err(_) => {
            let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
            Some(parent.canonicalize().ok()?.join(path.file_name()?))
        }
    }
}
