//! Which crate may use which, and the knowledge that is confined to one file.

use super::code::{line_of, words};
use super::settle;
use super::tree::{self, File};

/// The engine uses no network, and knows nothing of the bytes of a segment.
const NOT_OF_THE_ENGINE: &[&str] =
    &["redb", "libc", "memmap2", "twox-hash", "datafusion-substrait", "substrait", "prost", "tonic", "hyper", "arrow-flight"];

/// Crates that speak Flight get rows from the engine, and know neither how they are computed nor how they are stored.
const NOT_OF_FLIGHT: &[&str] = &["datafusion", "substrait", "sqlparser", "redb", "libc", "memmap2"];

/// All crates, lowest first: our own crates that each may depend on, and the words that it must not use.
const CRATES: [(&str, &[&str], &[&str]); 19] = [
    ("pmem_store/object_tier", &[], &["arrow", "datafusion", "redb", "libc", "memmap2"]),
    (
        "pmem_store",
        &["object_tier"],
        &["object_store", "futures", "datafusion", "sqlparser", "substrait", "tokio", "tonic", "hyper", "arrow-flight"],
    ),
    ("engine/common", &["pmem_store"], NOT_OF_THE_ENGINE),
    ("engine/sql", &["common"], NOT_OF_THE_ENGINE),
    ("engine/semantics", &["pmem_store", "common"], NOT_OF_THE_ENGINE),
    ("engine/kernels", &["pmem_store", "common", "semantics"], NOT_OF_THE_ENGINE),
    ("engine/files", &["common", "semantics"], NOT_OF_THE_ENGINE),
    ("engine/arrays", &["common", "kernels"], NOT_OF_THE_ENGINE),
    ("engine/wasm", &["common"], NOT_OF_THE_ENGINE),
    // It starts processes, and passes descriptors on to them.
    ("engine/python", &["common", "kernels"], &["redb", "prost", "tonic", "hyper", "arrow-flight"]),
    (
        "engine/table",
        &["pmem_store", "common", "sql", "semantics", "kernels", "files", "arrays", "wasm_functions", "python_functions"],
        NOT_OF_THE_ENGINE,
    ),
    (
        "engine",
        &["pmem_store", "common", "sql", "semantics", "kernels", "files", "arrays", "wasm_functions", "python_functions", "table"],
        NOT_OF_THE_ENGINE,
    ),
    ("substrait_plans", &["engine"], &["redb", "libc", "memmap2", "arrow-ipc", "tonic", "hyper", "arrow-flight"]),
    ("flight_server/wire", &["engine"], &["datafusion", "substrait", "sqlparser", "redb", "libc", "memmap2", "tokio", "hyper"]),
    ("flight_server/client", &["engine", "substrait_plans", "flight_wire"], NOT_OF_FLIGHT),
    ("flight_server", &["engine", "substrait_plans", "flight_wire"], NOT_OF_FLIGHT),
    (
        "cli",
        &["engine", "substrait_plans", "flight_client", "flight_server"],
        &["datafusion", "substrait", "sqlparser", "redb", "memmap2", "arrow-ipc", "tonic", "hyper", "arrow-flight"],
    ),
    (
        "python",
        &["engine", "substrait_plans", "flight_client"],
        &["datafusion", "substrait", "sqlparser", "redb", "libc", "memmap2", "arrow-ipc", "tonic", "hyper", "arrow-flight"],
    ),
    ("sqllogictests", &["engine"], &["datafusion", "redb"]),
];

#[test]
fn a_crate_uses_only_the_crates_below_it() {
    let mut problems = Vec::new();
    let packages: Vec<String> = tree::crates().iter().map(|name| package(&tree::read(&format!("{name}/Cargo.toml")))).collect();
    for name in tree::crates() {
        let Some((_, ours, never)) = CRATES.iter().find(|(other, ..)| *other == name) else {
            problems.push(format!("{name}: not in the table CRATES of this test"));
            continue;
        };
        let manifest = tree::read(&format!("{name}/Cargo.toml"));
        for dependency in dependencies(&manifest) {
            let is_ours = packages.iter().any(|package| package == dependency);
            let is_foreign = never.iter().any(|word| dependency == *word || dependency.starts_with(&format!("{word}-")));
            if (is_ours && !ours.contains(&dependency)) || is_foreign {
                problems.push(format!("{name}/Cargo.toml depends on {dependency}"));
            }
        }
    }
    settle(problems, "The layers are in ARCHITECTURE.md, \"Layers\". Ask the crate below for what you need instead.");
}

/// The package name, which other crates depend on; the name of the folder may be shorter.
fn package(manifest: &str) -> String {
    let name = manifest.lines().find_map(|line| line.strip_prefix("name = "));
    name.unwrap_or_default().trim_matches('"').to_string()
}

/// The names under [dependencies]; dev-dependencies are not restricted.
fn dependencies(manifest: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut inside = false;
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            inside = line.ends_with("dependencies]") && line != "[dev-dependencies]";
        } else if inside && !line.starts_with('#') {
            names.extend(line.split_once(['=', '.']).map(|(name, _)| name.trim()));
        }
    }
    names
}

#[test]
fn only_the_catalog_knows_redb() {
    let problems = uses("redb", &["pmem_store/src/catalog/"]);
    settle(problems, "Only pmem_store/src/catalog/ may name redb. Add a method to CatalogReader or CatalogWriter.");
}

#[test]
fn only_one_crate_knows_seccomp() {
    let problems = uses("seccompiler", &["engine/python/src/"]);
    settle(problems, "Only engine/python may name seccompiler. Add a method to PythonFunction.");
}

#[test]
fn only_one_crate_knows_wasmtime() {
    let problems = uses("wasmtime", &["engine/wasm/src/"]);
    settle(problems, "Only engine/wasm may name wasmtime. Add a method to Modules or CompiledModule.");
}

#[test]
fn only_one_file_knows_libpmem() {
    const FFI: &str = "pmem_store/src/region/libpmem_ffi.rs";
    let mut problems = Vec::new();
    for word in ["dlopen", "dlsym"] {
        problems.extend(uses(word, &[FFI]));
    }
    // C also calls signal handlers, and code that runs before main.
    problems.extend(uses("extern", &[FFI, "pmem_store/src/fault.rs", "cli/src/processor.rs"]));
    problems.extend(uses("libpmem_ffi", &["pmem_store/src/region/"]));
    settle(problems, "Declarations of C functions belong to region/libpmem_ffi.rs; the rest of the store uses Region.");
}

#[test]
fn only_the_lowest_files_call_the_system() {
    // Before main, std may not be used, because it is compiled for the processor that is being checked.
    let lowest = [
        "pmem_store/src/region/",
        "pmem_store/src/fault.rs",
        "pmem_store/src/lock.rs",
        "pmem_store/src/priority.rs",
        "engine/python/src/pass_files.rs",
        "engine/python/src/seccomp.rs",
        "cli/src/processor.rs",
    ];
    let problems = uses("libc", &lowest);
    settle(
        problems,
        "libc is for regions, the fault guard, the lock, the processes of functions and the check of the processor. Elsewhere use std.",
    );
}

#[test]
fn only_the_store_knows_the_bytes_of_a_segment() {
    // Import and export read and write foreign Arrow files.
    let allowed = [
        "pmem_store/src/segment/",
        "pmem_store/src/log/",
        "pmem_store/src/catalog/",
        "engine/files/src/",
        // These are messages of Flight, and not files of ours either.
        "flight_server/src/stream/",
        "flight_server/wire/src/",
    ];
    let problems = uses("arrow_ipc", &allowed);
    settle(
        problems,
        "Only pmem_store's segment/, log/ and catalog/, engine/files, flight_server's stream/ and flight_server/wire may name arrow_ipc.",
    );
}

#[test]
fn only_the_crates_of_flight_know_the_protocol() {
    let mut problems = Vec::new();
    for word in ["arrow_flight", "tonic"] {
        problems.extend(uses(word, &["flight_server/"]));
    }
    // Plans are protobuf too.
    problems.extend(uses("prost", &["flight_server/", "substrait_plans/src/"]));
    settle(
        problems,
        "Only the crates in flight_server/ may name arrow_flight and tonic, and with substrait_plans prost. Other crates ask the engine, or start the server.",
    );
}

#[test]
fn only_one_crate_knows_the_messages_of_substrait() {
    let mut problems = Vec::new();
    for word in ["datafusion_substrait", "substrait_explain"] {
        problems.extend(uses(word, &["substrait_plans/src/"]));
    }
    settle(problems, "Only substrait_plans may name datafusion_substrait and substrait_explain. Other crates hand it bytes.");
}

/// The places where code of a source file uses `word`, unless the file's path begins with one of `allowed`.
fn uses(word: &str, allowed: &[&str]) -> Vec<String> {
    let may = |file: &File| allowed.iter().any(|start| file.path.starts_with(start));
    let mut problems = Vec::new();
    for file in tree::rust_files().iter().filter(|file| file.is_source() && !may(file)) {
        let code = file.code();
        problems.extend(words(&code, word).map(|at| format!("{}:{} names {word}", file.path, line_of(&code, at))));
    }
    problems
}

#[test]
fn there_is_one_profile_but_what_is_shipped_and_one_registry() {
    let mut problems = Vec::new();
    for line in tree::read("Cargo.toml").lines().filter(|line| line.starts_with("[profile.")) {
        if !["[profile.release]", "[profile.dist]"].contains(&line) && !line.starts_with("[profile.release.package.") {
            problems.push(format!("Cargo.toml: {line}: another profile compiles every dependency again"));
        }
    }
    let registry = concat!("source = \"registry+https://github.com/rust-lang/crates", ".io-index\"");
    for line in tree::read("Cargo.lock").lines().filter(|line| line.starts_with("source = ") && *line != registry) {
        problems.push(format!("Cargo.lock: {line}: everybody must be able to fetch it"));
    }
    settle(problems, "Building is described in ARCHITECTURE.md, \"Building and testing\".");
}

#[test]
fn a_crate_has_one_test_binary_with_every_test_file_in_it() {
    let mut problems = Vec::new();
    for name in tree::crates() {
        let tests = format!("{name}/tests");
        let (mut roots, folders): (Vec<_>, Vec<_>) = tree::names_in(&tests).into_iter().partition(|entry| entry.ends_with(".rs"));
        roots.extend(folders.iter().filter(|folder| !tree::names_in(&format!("{tests}/{folder}")).is_empty()).filter_map(|folder| {
            let has_main = tree::root().join(&tests).join(folder).join("main.rs").exists();
            has_main.then(|| format!("{folder}/main.rs"))
        }));
        if roots.len() > 1 {
            problems.push(format!("{tests} makes several binaries: {}", roots.join(", ")));
        }
        let suite = tree::names_in(&format!("{tests}/suite"));
        if suite.is_empty() {
            continue;
        }
        if !suite.contains(&"main.rs".to_string()) {
            problems.push(format!("{tests}/suite has no main.rs, so nothing in it runs"));
            continue;
        }
        let main = tree::read(&format!("{tests}/suite/main.rs"));
        for file in suite.iter().filter_map(|file| file.strip_suffix(".rs")).filter(|file| *file != "main") {
            if !main.lines().any(|line| line.trim() == format!("mod {file};")) {
                problems.push(format!("{tests}/suite/{file}.rs is not a module of main.rs, so nothing in it runs"));
            }
        }
    }
    settle(
        problems,
        "Linking the engine takes longer than most tests: one binary per crate, tests/suite/main.rs, with a `mod` for each file.",
    );
}
