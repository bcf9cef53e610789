//! `quiver plan`: the Substrait plan of a query.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

use tokio::runtime::Handle;

use crate::args::{ConnectArgs, PlanArgs, PlanFormat, StoreArgs};
use crate::console::{Console, Settings};
use crate::errors::{CliError, Place, Result};
use crate::session;

pub fn run(runtime: &Handle, store: StoreArgs, connect: ConnectArgs, args: PlanArgs) -> Result<()> {
    let format = format(&args);
    if format == PlanFormat::Binary && args.output.is_none() && io::stdout().is_terminal() {
        return Err(CliError::with_hint("a binary plan is nothing for a terminal", "add -o FILE, or --format json"));
    }
    let session = session::open_to_read(runtime, &store, &connect, "plan")?;
    let mut console = Console::new(session, runtime, Settings::new(false))?;
    let session = console.session();
    let planned = console.ask(async { Ok(session.plan_of(&args.sql).await) })?;
    let plan = planned.map_err(|error| {
        let place = Place { file: None, line: 1 };
        CliError::Sql { error, sql: args.sql.clone(), place }
    })?;
    let shown = substrait_plans::shown(&plan, format.into()).map_err(CliError::message)?;
    match &args.output {
        Some(path) => fs::write(path, shown).map_err(|error| CliError::file(path.display(), error)),
        None => print(&shown, format),
    }
}

fn format(args: &PlanArgs) -> PlanFormat {
    let by_suffix = |path: &Path| match path.extension().and_then(|suffix| suffix.to_str()) {
        Some("json") => PlanFormat::Json,
        Some("txt") => PlanFormat::Text,
        _ => PlanFormat::Binary,
    };
    let unsaid = || args.output.as_deref().map_or(PlanFormat::Json, by_suffix);
    args.format.unwrap_or_else(unsaid)
}

fn print(shown: &[u8], format: PlanFormat) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(shown)?;
    if format != PlanFormat::Binary && !shown.ends_with(b"\n") {
        out.write_all(b"\n")?;
    }
    Ok(out.flush()?)
}

impl From<PlanFormat> for substrait_plans::PlanFormat {
    fn from(format: PlanFormat) -> Self {
        match format {
            PlanFormat::Json => substrait_plans::PlanFormat::Json,
            PlanFormat::Text => substrait_plans::PlanFormat::Text,
            PlanFormat::Binary => substrait_plans::PlanFormat::Binary,
        }
    }
}
