//! Each aggregate function that the engine lists is called in some file, so that a new one is not forgotten.

use std::path::PathBuf;

use arrow::array::AsArray;
use engine::{Engine, EngineOptions};

const LISTED: &str =
    "SELECT DISTINCT CAST(routine_name AS VARCHAR) FROM information_schema.routines WHERE function_type = 'AGGREGATE' ORDER BY 1";

/// The names that stand in none of the files.
pub fn in_no_file(files: &[PathBuf]) -> Vec<String> {
    let read = |path| std::fs::read_to_string(path).expect("a readable file").to_lowercase();
    let text: String = files.iter().map(read).collect();
    let names = listed();
    assert!(names.len() > 40, "the engine lists its aggregate functions, and these are {names:?}");
    names.into_iter().filter(|name| !calls(&text, name)).collect()
}

/// Whether `name (` stands there, not as the end of a longer name.
fn calls(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let is_whole = !before.is_some_and(|char| char.is_alphanumeric() || char == '_');
        is_whole && text[at + name.len()..].trim_start_matches(' ').starts_with('(')
    })
}

fn listed() -> Vec<String> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let engine = Engine::open(&directory.path().join("store"), EngineOptions::default()).expect("a store");
    let session = engine.session().expect("a session");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a tokio runtime");
    let batches = runtime.block_on(async {
        let output = session.execute(LISTED).await.expect("a query");
        output.collect().await.expect("rows").0
    });
    let names = |batch: &engine::RecordBatch| {
        let names = batch.column(0).as_string_view();
        names.iter().flatten().map(str::to_lowercase).collect::<Vec<_>>()
    };
    batches.iter().flat_map(names).collect()
}
