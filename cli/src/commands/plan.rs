//! `quiver plan`: the Substrait plan of a query.

use std::fs;
use std::io::{self, IsTerminal, Write};

use tokio::runtime::Handle;

use crate::args::{ConnectArgs, PlanArgs, PlanFormat, StoreArgs};
use crate::console::{Console, Settings};
use crate::errors::{CliError, Result, ScriptPosition};
use crate::session;

pub fn run(runtime: &Handle, store: StoreArgs, connect: ConnectArgs, args: PlanArgs) -> Result<()> {
    let format = format(&args)?;
    if format == PlanFormat::Binary && args.output.is_none() && io::stdout().is_terminal() {
        return Err(CliError::usage("a binary plan is nothing for a terminal", "add -o FILE, or --format json"));
    }
    let session = session::open_to_read(runtime, &store, &connect, "plan")?;
    let mut console = Console::new(session, runtime, Settings::new(false))?;
    let session = console.session();
    let planned = console.ask(async { Ok(session.plan_of(&args.sql).await) })?;
    let plan = planned.map_err(|error| {
        let place = ScriptPosition { file: None, line: 1 };
        CliError::Sql { error, sql: args.sql.clone(), place }
    })?;
    let shown = substrait_plans::format_plan(&plan, format.into()).map_err(CliError::message)?;
    match &args.output {
        Some(path) => fs::write(path, shown).map_err(|error| CliError::file(path.display(), error)),
        None => print(&shown, format),
    }
}

fn format(args: &PlanArgs) -> Result<PlanFormat> {
    if let Some(format) = args.format {
        return Ok(format);
    }
    let Some(path) = &args.output else { return Ok(PlanFormat::Json) };
    match path.extension().and_then(|suffix| suffix.to_str()) {
        Some("json") => Ok(PlanFormat::Json),
        Some("txt") => Ok(PlanFormat::Text),
        Some("plan" | "pb" | "bin" | "binpb") => Ok(PlanFormat::Binary),
        _ => Err(CliError::usage(
            format!("'{}' does not say which format to write", path.display()),
            "use a name that ends in .plan, .pb, .bin, .json or .txt, or --format",
        )),
    }
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
