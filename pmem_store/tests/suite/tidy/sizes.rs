//! Files and functions are small enough to be understood.

use super::code;
use super::settle;
use super::tree;

/// Most stay under 400.
const FILE_LINES_MAX: usize = 700;
/// `lib.rs` and `mod.rs` read as a table of contents.
const CONTENTS_LINES_MAX: usize = 120;
const FUNCTION_LINES_MAX: usize = 100;

/// Longer files, with their reasons.
const LONG_FILES: [(&str, &str); 3] = [
    ("pmem_store/src/region/mod.rs", "the Region trait and its kinds are what the folder is about"),
    ("cli/src/console/mod.rs", "the console, whose methods are in the files beside it"),
    ("pmem_store/src/region/simulated/mod.rs", "a region of its own with one folder-private part"),
];

#[test]
fn files_are_short() {
    let mut problems = Vec::new();
    for file in tree::rust_files() {
        let lines = file.text.lines().count();
        let is_contents = matches!(file.name(), "mod.rs" | "lib.rs");
        let max = if is_contents { CONTENTS_LINES_MAX } else { FILE_LINES_MAX };
        if lines > max && !LONG_FILES.iter().any(|(path, _)| *path == file.path) {
            problems.push(format!("{}: {lines} lines, at most {max}", file.path));
        }
    }
    for (path, _) in LONG_FILES.iter().filter(|(path, _)| !tree::root().join(path).exists()) {
        problems.push(format!("{path} is gone: take it off the list LONG_FILES"));
    }
    settle(problems, "Find the seam and make two files of it. If there is none, say why in LONG_FILES.");
}

#[test]
fn functions_fit_on_a_screen() {
    let mut problems = Vec::new();
    for file in tree::rust_files() {
        let long = code::functions(&file.code()).into_iter().filter(|function| function.lines > FUNCTION_LINES_MAX);
        problems.extend(long.map(|long| format!("{}:{}: {} has {} lines", file.path, long.line, long.name, long.lines)));
    }
    settle(problems, "Give the steps names: functions of at most 100 lines.");
}
