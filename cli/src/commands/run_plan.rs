//! `quiver run-plan`: runs a Substrait plan.

use std::fs::File;
use std::io::{self, Read};

use tokio::runtime::Handle;

use crate::args::{ConnectArgs, RunPlanArgs, StoreArgs};
use crate::console::{Console, Destination, Settings};
use crate::errors::{CliError, Result};
use crate::output::Format;
use crate::session;

/// The limit for a file. JSON takes several times the bytes of a binary plan, and no plan is longer than this.
const FILE_BYTES_MAX: u64 = 256 << 20;

pub fn run(runtime: &Handle, store: StoreArgs, connect: ConnectArgs, args: RunPlanArgs, quiet: bool) -> Result<()> {
    if args.format == Some(Format::Parquet) && args.output.is_none() {
        return Err(CliError::usage("Parquet can only be written to a file", "add -o FILE"));
    }
    // Read first, so that the store is not opened for an unreadable plan.
    let plan = substrait_plans::read(&content(&args.file)?).map_err(|error| CliError::message(format!("{}: {error}", args.file)))?;
    let mut settings = Settings::new(false);
    settings.format = args.format;
    settings.quiet = quiet;
    let session = session::open_to_read(runtime, &store, &connect, "run-plan FILE")?;
    let mut console = Console::new(session, runtime, settings)?;
    if let Some(path) = &args.output {
        console.destination = Destination::single(path)?;
    }
    console.run_plan(&plan)
}

fn content(name: &str) -> Result<Vec<u8>> {
    let read = |input: &mut dyn Read| {
        let mut bytes = Vec::new();
        input.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map(|_| bytes)
    };
    let bytes = match name {
        "-" => read(&mut io::stdin().lock()),
        name => File::open(name).and_then(|mut file| read(&mut file)),
    };
    let bytes = bytes.map_err(|error| CliError::file(name, error))?;
    match bytes.len() as u64 > FILE_BYTES_MAX {
        true => Err(CliError::message(format!("{name} has more than {} MiB, and no plan has", FILE_BYTES_MAX >> 20))),
        false => Ok(bytes),
    }
}
