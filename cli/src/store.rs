//! Opens the store that the command line names.

use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};

use engine::{Engine, EngineOptions, MaintenanceOptions};
use flight_client::{Credentials, remote_tables};

use crate::args::StoreArgs;
use crate::errors::{CliError, Result, note};

/// The store for statements: created if it is missing, and temporary if none is named.
pub fn open(args: &StoreArgs) -> Result<Engine> {
    let options = options(args, args.read_only);
    match &args.store {
        Some(path) => Engine::open(&absolute(path)?, options).map_err(CliError::engine),
        None if args.read_only => Err(CliError::usage("--read-only needs a store to read", "add --store DIR")),
        None => Engine::open_temporary(options).map_err(CliError::engine),
    }
}

/// Whether [`open`] would make the store.
pub fn is_new(args: &StoreArgs) -> bool {
    !args.read_only && args.store.as_ref().is_some_and(|path| !Engine::is_store(path))
}

/// The name of a store that was made may be misspelt. A program that makes stores is not told.
pub fn note_new(args: &StoreArgs) {
    if let Some(path) = args.store.as_ref().filter(|_| io::stderr().is_terminal()) {
        note(format!("{} is a new store", path.display()));
    }
}

/// The store of a server.
pub fn open_with(path: &Path, options: EngineOptions) -> Result<Engine> {
    Engine::open(&absolute(path)?, options).map_err(CliError::engine)
}

/// The store for a subcommand that only reads it. It must exist.
pub fn open_to_read(args: &StoreArgs, command: &str) -> Result<Engine> {
    let path = named_store(args, command)?;
    Engine::open(&absolute(&path)?, options(args, true)).map_err(CliError::engine)
}

/// The store, accepting the permanent loss of damaged rows.
pub fn open_to_accept_loss(args: &StoreArgs, command: &str) -> Result<Engine> {
    if args.read_only {
        return Err(CliError::usage(format!("quiver {command} --accept-loss changes the store"), "leave --read-only out".to_string()));
    }
    let path = absolute(&named_store(args, command)?)?;
    let maintenance = MaintenanceOptions { enabled: false, ..MaintenanceOptions::default() };
    let options = EngineOptions { accept_loss: true, maintenance, ..options(args, false) };
    Engine::open(&path, options).map_err(CliError::engine)
}

/// The directory for a subcommand that does not work on a temporary store.
pub fn named_store(args: &StoreArgs, command: &str) -> Result<PathBuf> {
    args.store.clone().ok_or_else(|| CliError::usage(format!("quiver {command} needs a store"), format!("quiver {command} --store DIR …")))
}

/// `\cd` must not move the store.
pub fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(|error| CliError::file(path.display(), error))
}

pub fn options(args: &StoreArgs, read_only: bool) -> EngineOptions {
    let mut maintenance = MaintenanceOptions { enabled: !args.no_maintenance, ..MaintenanceOptions::default() };
    maintenance.rate_bytes_per_s = args.compaction_rate.or(maintenance.rate_bytes_per_s);
    EngineOptions {
        read_only,
        memory_limit_bytes: args.memory_limit,
        query_memory_limit_bytes: args.query_memory_limit,
        spill_dir: args.spill_dir.clone(),
        threads: args.threads,
        maintenance,
        // Who runs the shell may run any program anyway.
        python: Some(std::env::var_os("QUIVER_PYTHON").unwrap_or_else(|| "python3".into()).into()),
        python_imports: "*".into(),
        remote_tables: Some(remote_tables(Credentials::of_environment())),
        ..EngineOptions::default()
    }
}
