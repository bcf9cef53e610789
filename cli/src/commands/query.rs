//! `quiver` without a subcommand: statements from `-c` and `-f`, from a pipe, or typed; on a store, or on the tables of files.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal};
use std::path::Path;
use std::sync::Arc;

use engine::Engine;
use tokio::runtime::Handle;

use super::import::FileTables;
use crate::args::{ConnectArgs, QueryArgs, Source, StoreArgs};
use crate::console::{Console, Destination, Flow, Footer, Settings};
use crate::errors::{CliError, Result};
use crate::output::Format;
use crate::session::{self, LocalSession, StoreOrigin};
use crate::{shell, store};

const STDIN: &str = "stdin";

pub fn run(runtime: &Handle, mut store: StoreArgs, connect: ConnectArgs, mut query: QueryArgs, sources: Vec<Source>) -> Result<()> {
    let typed = sources.is_empty() && io::stdin().is_terminal() && io::stdout().is_terminal();
    let settings = settings(&query, typed);
    refuse_parquet_on_stdout(&query)?;
    if let [path] = query.paths.as_slice()
        && Engine::is_store(Path::new(path))
    {
        store.store = query.paths.pop().map(Into::into);
    }
    let mut console = match query.paths.is_empty() {
        true => {
            let is_new = store::is_new(&store);
            let session = session::open(runtime, &store, &connect)?;
            if is_new && !typed && !query.quiet {
                store::note_new(&store);
            }
            Console::new(session, runtime, settings)?
        }
        false => with_files(runtime, &store, std::mem::take(&mut query.paths), settings)?,
    };
    if let Some(path) = &query.output {
        console.destination = Destination::file(path)?;
    }
    if typed {
        return shell::run(&mut console);
    }
    if sources.is_empty() {
        return console.run_script(io::stdin().lock(), Some(STDIN)).map(drop);
    }
    for source in sources {
        if run_source(&mut console, source)? == Flow::Leave {
            break;
        }
    }
    Ok(())
}

/// A console on a temporary store that has the files as tables.
fn with_files(runtime: &Handle, store: &StoreArgs, paths: Vec<String>, settings: Settings) -> Result<Console> {
    let files = FileTables::plan(paths)?;
    let engine = store::open(store)?;
    let session = engine.session().map_err(CliError::engine)?;
    let quiet = settings.quiet;
    let mut console = Console::new(Arc::new(LocalSession::new(engine, StoreOrigin::Files(files.names()))?), runtime, settings)?;
    console.wait(files.load(session, quiet))?;
    Ok(console)
}

fn run_source(console: &mut Console, source: Source) -> Result<Flow> {
    match source {
        Source::Text(text) => console.run_script(text.as_bytes(), None),
        Source::File(path) if path == "-" => console.run_script(io::stdin().lock(), Some(STDIN)),
        Source::File(path) => {
            let file = open(&path).map_err(|error| CliError::file(&path, error))?;
            console.run_script(file, Some(&path))
        }
    }
}

/// A directory can be opened but not read, so it is refused before anything runs.
fn open(path: &str) -> io::Result<impl BufRead> {
    let file = File::open(path)?;
    match file.metadata()?.is_dir() {
        true => Err(io::ErrorKind::IsADirectory.into()),
        false => Ok(BufReader::new(file)),
    }
}

fn settings(query: &QueryArgs, typed: bool) -> Settings {
    let mut settings = Settings::new(typed);
    settings.format = query.format;
    settings.quiet = query.quiet;
    settings.footer = match (query.footer, query.no_footer || query.quiet) {
        (true, _) => Footer::On,
        (false, true) => Footer::Off,
        (false, false) => Footer::Auto,
    };
    settings
}

fn refuse_parquet_on_stdout(query: &QueryArgs) -> Result<()> {
    match (query.format, &query.output) {
        (Some(Format::Parquet), None) => Err(CliError::usage("Parquet can only be written to a file", "add -o FILE")),
        _ => Ok(()),
    }
}
