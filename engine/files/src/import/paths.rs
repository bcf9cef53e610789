//! Turns what the user typed into a list of files.
//!
//! A name that exists is that file, even when it contains `*` or `[`; otherwise a name with glob
//! characters is a pattern (`**` crosses directories). A directory is read recursively, in the
//! order of names, without names that begin with `.` or `_`; symbolic links in it are followed for files only
//! (a link to a directory could be a loop).

use std::fs;
use std::path::{Path, PathBuf};

use common::error::import::ImportError;
use common::file_directories::FileDirectories;

/// A file to read, and whether the user named it (or a pattern did) or it was found in a directory:
/// the former must be readable, the latter may be something else, like a README.
#[derive(Debug, PartialEq, Eq)]
pub struct Candidate {
    pub path: PathBuf,
    pub root: Option<PathBuf>,
}

pub fn expand(paths: &[String], directories: &FileDirectories) -> Result<Vec<Candidate>, ImportError> {
    if paths.is_empty() {
        return Err(ImportError::NoPaths);
    }
    // This comes first, so that nobody learns which files there are elsewhere.
    check_paths(paths, directories)?;
    let mut candidates = Vec::new();
    for path in paths {
        expand_one(path, &mut candidates)?;
    }
    // A link in a directory may lead out of it.
    candidates.iter().try_for_each(|candidate| check_path(&candidate.path, directories))?;
    Ok(candidates)
}

/// An error if a path leads out of the directories; of a pattern, its part before what is unknown.
pub fn check_paths(paths: &[String], directories: &FileDirectories) -> Result<(), ImportError> {
    paths.iter().try_for_each(|path| {
        let path = path.strip_prefix("file://").unwrap_or(path);
        let Some(sign) = path.find(['*', '?', '[']) else { return check_path(Path::new(path), directories) };
        let (fixed, pattern) = path.split_at(path[..sign].rfind('/').map_or(0, |slash| slash + 1));
        // What it finds, or does not find, would tell the names of files elsewhere.
        if pattern.split('/').any(may_lead_up) && !directories.have(Path::new("/")) {
            return Err(ImportError::Elsewhere { path: path.into() });
        }
        check_path(Path::new(if fixed.is_empty() { "." } else { fixed }), directories)
    })
}

/// The same for a path that is no pattern, whatever its signs.
pub fn check_path(path: &Path, directories: &FileDirectories) -> Result<(), ImportError> {
    if directories.have(path) { Ok(()) } else { Err(ImportError::Elsewhere { path: path.to_owned() }) }
}

/// Whether a part of a pattern stands for the directory above: `..`, or `.*`.
fn may_lead_up(part: &str) -> bool {
    glob::Pattern::new(part).is_ok_and(|part| part.matches_with("..", match_options()))
}

fn match_options() -> glob::MatchOptions {
    // As in a shell: `*` does not match a leading dot.
    glob::MatchOptions { require_literal_leading_dot: true, ..Default::default() }
}

fn expand_one(text: &str, candidates: &mut Vec<Candidate>) -> Result<(), ImportError> {
    if let Some((scheme, _)) = text.split_once("://")
        && scheme.chars().all(|c| c.is_ascii_alphanumeric())
    {
        if scheme != "file" {
            return Err(ImportError::Remote { url: text.to_owned() });
        }
        return add(Path::new(&text["file://".len()..]), candidates);
    }
    let path = Path::new(text);
    let is_pattern = text.contains(['*', '?', '[']);
    match fs::metadata(path) {
        Ok(_) => add(path, candidates),
        Err(error) if is_pattern && error.kind() == std::io::ErrorKind::NotFound => expand_glob(text, candidates),
        Err(error) => Err(ImportError::from_io(path, error)),
    }
}

fn expand_glob(pattern: &str, candidates: &mut Vec<Candidate>) -> Result<(), ImportError> {
    let entries = glob::glob_with(pattern, match_options())
        .map_err(|error| ImportError::BadPattern { pattern: pattern.to_owned(), reason: error.msg.to_owned() })?;
    let before = candidates.len();
    let mut directories = 0;
    for entry in entries {
        let path = entry.map_err(|error| {
            let path = error.path().to_owned();
            ImportError::from_io(&path, error.into())
        })?;
        if path.is_dir() {
            directories += 1;
        } else {
            add(&path, candidates)?;
        }
    }
    if candidates.len() == before && directories == 0 {
        return Err(ImportError::NoMatch { pattern: pattern.to_owned() });
    }
    if candidates.len() == before {
        // Only directories match: `data/*` over data/2023/, data/2024/.
        for entry in glob::glob_with(pattern, match_options()).into_iter().flatten().flatten() {
            add(&entry, candidates)?;
        }
    }
    Ok(())
}

fn add(path: &Path, candidates: &mut Vec<Candidate>) -> Result<(), ImportError> {
    let metadata = fs::metadata(path).map_err(|error| ImportError::from_io(path, error))?;
    if metadata.is_dir() {
        return walk(path, path, candidates);
    }
    if !metadata.is_file() {
        return Err(ImportError::NotAFile { path: path.to_owned(), what: "a pipe or a device" });
    }
    candidates.push(Candidate { path: path.to_owned(), root: None });
    Ok(())
}

fn walk(root: &Path, dir: &Path, candidates: &mut Vec<Candidate>) -> Result<(), ImportError> {
    let failed = |error| ImportError::from_io(dir, error);
    let mut entries = fs::read_dir(dir).map_err(failed)?.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    entries.sort_by_key(|entry| entry.file_name());
    for entry in entries {
        if is_hidden(&entry.file_name().to_string_lossy()) {
            continue;
        }
        let kind = entry.file_type().map_err(failed)?;
        let path = entry.path();
        if kind.is_dir() {
            walk(root, &path, candidates)?;
        } else if kind.is_file() || path.is_file() {
            candidates.push(Candidate { path, root: Some(root.to_owned()) });
        }
    }
    Ok(())
}

/// The names that writers of data directories use for other files (`_SUCCESS`, `.crc`).
pub fn is_hidden(name: &str) -> bool {
    name.starts_with(['.', '_'])
}
