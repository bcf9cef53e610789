//! Completion of paths.

use std::fs;

/// The paths that begin with `start`; those of directories end in `/`.
pub fn paths(start: &str) -> Vec<String> {
    let (directory, name) = start.split_at(start.rfind('/').map_or(0, |at| at + 1));
    let entries = fs::read_dir(if directory.is_empty() { "." } else { directory }).into_iter().flatten().flatten();
    let path = |entry: fs::DirEntry| {
        let file = entry.file_name().into_string().ok()?;
        // Hidden files are offered to those who type the dot.
        let fits = file.starts_with(name) && (name.starts_with('.') || !file.starts_with('.'));
        let end = if entry.path().is_dir() { "/" } else { "" };
        fits.then(|| format!("{directory}{file}{end}"))
    };
    let mut paths: Vec<String> = entries.filter_map(path).collect();
    paths.sort();
    paths
}
