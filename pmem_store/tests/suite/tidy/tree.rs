//! The files of the repository.

use std::fs;
use std::path::{Path, PathBuf};

use super::code;

/// Generated or foreign directories.
const SKIPPED: [&str; 7] = [".git", "target", "bin", "demo-store", "__pycache__", ".venv", "results"];
/// A crate for modules in WebAssembly. The engine never links it, and what it breaks is a module.
const FOR_MODULES: &str = "engine/wasm/rust";
const TEXT_SUFFIXES: [&str; 12] = ["rs", "toml", "lock", "md", "py", "sh", "sql", "slt", "txt", "json", "yml", "cfg"];

pub struct File {
    /// Relative to the repository's root, with `/`.
    pub path: String,
    pub text: String,
}

impl File {
    pub fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Whether it is a part of a crate but not of its tests.
    pub fn is_source(&self) -> bool {
        let is_test = self.path.ends_with("/tests.rs") || self.path.contains("/src/tests/");
        self.is_rust() && self.path.contains("/src/") && !is_test
    }

    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    /// The Rust code without comments and strings; line numbers do not change.
    pub fn code(&self) -> String {
        code::blanked(&self.text)
    }
}

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// Every text file, by path.
pub fn files() -> Vec<File> {
    let mut files = Vec::new();
    collect(&root(), "", &mut files);
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

pub fn rust_files() -> Vec<File> {
    files().into_iter().filter(File::is_rust).collect()
}

pub fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The folders of the workspace's members.
pub fn crates() -> Vec<String> {
    let manifest = read("Cargo.toml");
    let members = manifest.split("members = [").nth(1).and_then(|rest| rest.split(']').next()).expect("the workspace has members");
    members.split('"').skip(1).step_by(2).map(str::to_string).collect()
}

/// Sorted; folders too.
pub fn names_in(dir: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(root().join(dir)) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| !SKIPPED.contains(&name.as_str()));
    names.sort();
    names
}

fn collect(dir: &Path, prefix: &str, files: &mut Vec<File>) {
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        let (full, path) = (entry.path(), format!("{prefix}{name}"));
        // The target of a symbolic link is elsewhere, or listed already.
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        // A store of a user has data, not sources.
        let is_skipped = || SKIPPED.contains(&name.as_str()) || path == FOR_MODULES || full.join("catalog.redb").exists();
        if kind.is_dir() && !is_skipped() {
            collect(&full, &format!("{path}/"), files);
        } else if kind.is_file()
            && is_text(&full)
            && let Ok(text) = fs::read_to_string(&full)
        {
            files.push(File { path, text });
        }
    }
}

fn is_text(path: &Path) -> bool {
    match path.extension() {
        Some(suffix) => TEXT_SUFFIXES.iter().any(|other| suffix.eq_ignore_ascii_case(other)),
        // Makefile, LICENSE, .ci/run, .gitignore
        None => true,
    }
}
