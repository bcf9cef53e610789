//! Runs `slt/*.slt` against a real engine in a temporary store, one store per file.
//!
//! Every file runs twice: whole, on a fresh store with more partitions than cores, and then,
//! after the store has been closed and opened again, the queries behind its last statement once
//! more on one thread. What the second run sees is what was committed, not what a session held.
//!
//! Then every file runs in a second mode, in which each query is also run with its tables on another node, and has to
//! give the same rows: `pushed.rs`.
//!
//! At the end of a run of all files it fails for each aggregate function of the engine that no file calls: `aggregates.rs`.
//!
//!     cargo test --release --workspace --test conformance                  # all files
//!     cargo test --release --workspace --test conformance -- joins prune   # names with these words
//!     cargo test --release --workspace --test conformance -- --list

#[path = "conformance/aggregates.rs"]
mod aggregates;
#[path = "conformance/database.rs"]
mod database;
#[path = "conformance/file.rs"]
mod file;
#[path = "conformance/node.rs"]
mod node;
#[path = "conformance/pushed.rs"]
mod pushed;
#[path = "conformance/values.rs"]
mod values;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use file::FileResult;
use pushed::Tallies;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().filter(|argument| !argument.starts_with('-')).map(String::as_str).collect();
    let files = chosen_files(&words);
    if arguments.iter().any(|argument| argument == "--list") {
        files.iter().for_each(|file| println!("{}: test", name(file)));
        return ExitCode::SUCCESS;
    }
    if files.is_empty() {
        eprintln!("no file in slt/ matches {words:?}");
        return ExitCode::FAILURE;
    }
    let tally = Tallies::default();
    let again = |path: &Path| file::run_pushed(path, &tally);
    let modes: [&dyn Fn(&Path) -> FileResult; 2] = [&file::run, &again];
    let (mut passed, mut failed) = (0, 0);
    for mode in modes {
        for file in &files {
            let result = run_and_print(file, mode);
            passed += result.passed();
            failed += result.failed();
        }
    }
    if words.is_empty() {
        let missing = aggregates::in_no_file(&files);
        missing.iter().for_each(|name| println!("the aggregate function {name} stands in no file"));
        passed += usize::from(missing.is_empty());
        failed += missing.len();
    }
    print!("{}", tally.lock().unwrap());
    println!("sqllogictests: {passed} passed, {failed} failed");
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn chosen_files(words: &[&str]) -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("slt");
    let entries = std::fs::read_dir(&directory).unwrap_or_else(|error| panic!("cannot read {}: {error}", directory.display()));
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a readable directory entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "slt"))
        .filter(|path| words.is_empty() || words.iter().any(|word| name(path).contains(word)))
        .collect();
    files.sort();
    files
}

fn run_and_print(path: &Path, run: &dyn Fn(&Path) -> FileResult) -> FileResult {
    let start = Instant::now();
    let result = run(path);
    println!(
        "{:<24} {:>4} records, {:>4} again after reopening, {:>3} failed, {:>6.0} ms",
        name(path),
        result.records,
        result.repeated,
        result.failed(),
        start.elapsed().as_secs_f64() * 1000.0,
    );
    for failure in result.failures.values() {
        println!("  {}", failure.trim_end().replace('\n', "\n  "));
    }
    result
}

fn name(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}
