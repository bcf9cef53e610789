//! `quiver` without a subcommand: statements from `-c` and `-f`, from a pipe, or typed.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal};

use tokio::runtime::Handle;

use crate::args::{ConnectArgs, QueryArgs, Source, StoreArgs};
use crate::console::{Console, Destination, Flow, Footer, Settings};
use crate::errors::{CliError, Result};
use crate::output::Format;
use crate::{session, shell};

const STDIN: &str = "stdin";

pub fn run(runtime: &Handle, store: StoreArgs, connect: ConnectArgs, query: QueryArgs, sources: Vec<Source>) -> Result<()> {
    let typed = sources.is_empty() && io::stdin().is_terminal() && io::stdout().is_terminal();
    let settings = settings(&query, typed);
    refuse_parquet_on_stdout(&query)?;
    let session = session::open(runtime, &store, &connect)?;
    let mut console = Console::new(session, runtime, settings)?;
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
