//! `quiver export`: a table or the result of a query into a file.

use std::path::Path;

use tokio::runtime::Handle;

use crate::args::{ConnectArgs, ExportArgs, FileFormat, StoreArgs};
use crate::console::{Console, Destination, Footer, Settings};
use crate::errors::{CliError, Result, ScriptPosition};
use crate::output::Format;
use crate::session;

pub fn run(runtime: &Handle, store: StoreArgs, connect: ConnectArgs, args: ExportArgs, quiet: bool) -> Result<()> {
    let (sql, file) = what_and_where(&args)?;
    let mut settings = Settings::new(false);
    settings.quiet = quiet;
    settings.footer = if quiet { Footer::Off } else { Footer::On };
    settings.format = Some(format(&args, &file)?);
    let session = session::open_to_read(runtime, &store, &connect, "export")?;
    let mut console = Console::new(session, runtime, settings)?;
    if file == "-" {
        console.settings.footer = Footer::Off;
    } else {
        console.destination = Destination::single(Path::new(&file))?;
    }
    console.run_statement(&sql, ScriptPosition { file: None, line: 1 })
}

fn what_and_where(args: &ExportArgs) -> Result<(String, String)> {
    match (&args.query, args.table_and_file.as_slice()) {
        (Some(query), [file]) => Ok((query.clone(), file.clone())),
        (None, [table, file]) => Ok((format!("SELECT * FROM {}", quote(table)), file.clone())),
        (Some(_), _) => Err(CliError::usage("a query and a table at once", "quiver export --query SQL FILE, or quiver export TABLE FILE")),
        (None, _) => Err(CliError::usage("the file is missing", "quiver export --store DIR TABLE FILE")),
    }
}

fn format(args: &ExportArgs, file: &str) -> Result<Format> {
    let named = args.format.map(|format| match format {
        FileFormat::Parquet => Format::Parquet,
        FileFormat::Csv => Format::Csv,
        FileFormat::Json => Format::Json,
        FileFormat::Arrow => Format::Arrow,
    });
    named.or_else(|| Format::of_file(Path::new(file))).ok_or_else(|| {
        CliError::usage(
            format!("'{file}' does not say which format to write"),
            "use a name that ends in .parquet, .csv, .json or .arrow, or --format",
        )
    })
}

/// A name that is a plain SQL identifier stays unquoted and case-insensitive; other names are quoted.
fn quote(table: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.' || c == '"';
    match table.chars().all(is_plain) {
        true => table.to_string(),
        false => format!("\"{}\"", table.replace('"', "\"\"")),
    }
}
