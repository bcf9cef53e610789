//! `quiver import`: files into tables, here or (`remote`) on a server; files of `arrays` become arrays.

mod arrays;
mod remote;

use std::future::Future;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::time::Duration;

use engine::import::{FileFormat, FileScan, ImportProgress, ImportSummary, LoadMode, LoadOptions, OnError, ReadOptions, type_named};
use engine::{Bytes, Session};
use flight_client::RemoteSession;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tokio::runtime::Handle;

use crate::args::{self, ConnectArgs, ImportArgs, StoreArgs};
use crate::errors::{CliError, Result, StatementError, note, warn};
use crate::interrupt::{Interrupts, Kind};
use crate::session::login;
use crate::{store, table_name, units};

/// The schema of a table whose name has none.
const DEFAULT_NAMESPACE: &str = "main";

pub fn run(runtime: &Handle, store: StoreArgs, connect: ConnectArgs, args: ImportArgs, quiet: bool) -> Result<()> {
    if args.paths.iter().any(|path| arrays::is_array_file(path)) {
        return arrays::import(&store, &connect, &args, quiet);
    }
    arrays::refuse_options(&args)?;
    let remote = login::options(&connect)?;
    if remote.is_none() {
        store::named_store(&store, "import")?;
    } else if !args.order_by.is_empty() {
        return Err(CliError::with_hint(
            "--order-by has no place over --connect",
            "make the table with CREATE TABLE … ORDER BY first, and import with --append",
        ));
    }
    let loads = plan(&args)?;
    let mut interrupts = Interrupts::listen(Kind::Batch).map_err(CliError::message)?;
    let place = match remote {
        Some(options) => {
            let connected = runtime.block_on(RemoteSession::connect(options));
            ImportTarget::Server(connected.map_err(StatementError::from)?)
        }
        None => {
            let is_new = store::is_new(&store);
            let session = store::open(&store)?.session().map_err(CliError::engine)?;
            if is_new && !quiet {
                store::note_new(&store);
            }
            ImportTarget::Store(session)
        }
    };
    let done = loads.into_iter().try_for_each(|(table, paths)| {
        let work = load(&place, &args, &table, &paths, quiet);
        let summary = runtime.block_on(async {
            tokio::select! {
                biased;
                stop = interrupts.next() => Err(CliError::Stopped(stop)),
                done = work => done,
            }
        })?;
        if !quiet {
            writeln!(io::stdout(), "{}", sentence(&table, &summary))?;
        }
        Ok(())
    });
    if let ImportTarget::Server(session) = &place {
        runtime.block_on(session.close());
    }
    done
}

/// The tables of `quiver FILE…`.
pub struct FileTables {
    args: ImportArgs,
    loads: Vec<(String, Vec<String>)>,
}

impl FileTables {
    pub fn plan(paths: Vec<String>) -> Result<FileTables> {
        let args = ImportArgs { paths, ..ImportArgs::default() };
        Ok(FileTables { loads: plan(&args)?, args })
    }

    pub fn names(&self) -> Vec<String> {
        self.loads.iter().map(|(table, _)| table.clone()).collect()
    }

    pub async fn load(self, session: Session, quiet: bool) -> Result<()> {
        let target = ImportTarget::Store(session);
        for (table, paths) in &self.loads {
            load(&target, &self.args, table, paths, quiet).await?;
        }
        Ok(())
    }
}

/// The target of the import.
enum ImportTarget {
    Store(Session),
    Server(RemoteSession),
}

/// One table of the import.
struct Load<'a> {
    args: &'a ImportArgs,
    namespace: &'a str,
    name: &'a str,
}

struct Imported {
    rows: u64,
    rows_skipped: u64,
    size_bytes: u64,
    /// The table's segments and size, which a server does not report.
    segments: Option<u64>,
    /// The columns by which the table is sorted; a server does not report them.
    order_by: Vec<String>,
    elapsed_ms: f64,
}

impl From<ImportSummary> for Imported {
    fn from(summary: ImportSummary) -> Imported {
        let ImportSummary { rows, rows_skipped, size_bytes, segments, order_by, elapsed_ms } = summary;
        Imported { rows, rows_skipped, size_bytes, segments: Some(segments), order_by, elapsed_ms }
    }
}

/// Assigns paths to tables. Without `--table`, every path names its own.
fn plan(args: &ImportArgs) -> Result<Vec<(String, Vec<String>)>> {
    if let Some(table) = &args.table {
        return Ok(vec![(table.clone(), args.paths.clone())]);
    }
    let mut loads: Vec<(String, Vec<String>)> = Vec::new();
    for path in &args.paths {
        let table = table_name::of_path(path).ok_or_else(|| {
            let text = format!("'{path}' gives no name for a table");
            CliError::with_hint(text, "say it with --table NAME")
        })?;
        if loads.iter().any(|(name, _)| *name == table) {
            return Err(CliError::with_hint(
                format!("two of the files would become the table {table}"),
                format!("--table {table} loads all of them into it"),
            ));
        }
        loads.push((table, vec![path.clone()]));
    }
    Ok(loads)
}

async fn load(place: &ImportTarget, args: &ImportArgs, table: &str, paths: &[String], quiet: bool) -> Result<Imported> {
    let scan = FileScan::open(paths, read_options(args)?).map_err(CliError::message)?;
    if !quiet {
        scan.guesses().into_iter().for_each(note);
    }
    let bar = progress_bar(table, scan.total_bytes(), quiet);
    let progress = scan.progress();
    let (namespace, name) = table.split_once('.').unwrap_or((DEFAULT_NAMESPACE, table));
    let work = async {
        match place {
            ImportTarget::Store(session) => {
                session.import(options(args, namespace, name), scan).await.map(Imported::from).map_err(CliError::engine)
            }
            ImportTarget::Server(session) => remote::load(session, &Load { args, namespace, name }, scan).await,
        }
    };
    let done = watch(work, &bar, &progress).await;
    bar.finish_and_clear();
    let summary = done?;
    if !quiet && matches!(args.order_by.as_slice(), [auto] if auto.eq_ignore_ascii_case("auto")) {
        note(match summary.order_by.first() {
            Some(column) => format!("{table} is sorted by \"{column}\""),
            None if args.append => format!("{table} has no order"),
            None => format!("{table} is not sorted: no column has dates or timestamps"),
        });
    }
    for reason in progress.skip_reasons() {
        warn(format!("skipped: {reason}"));
    }
    Ok(summary)
}

fn options(args: &ImportArgs, namespace: &str, name: &str) -> LoadOptions {
    LoadOptions {
        namespace: namespace.to_string(),
        table: name.to_string(),
        order_by: args.order_by.clone(),
        mode: match (args.append, args.replace) {
            (true, _) => LoadMode::Append,
            (_, true) => LoadMode::Replace,
            _ => LoadMode::Create,
        },
    }
}

async fn watch<T>(work: impl Future<Output = T>, bar: &ProgressBar, progress: &Arc<ImportProgress>) -> T {
    tokio::pin!(work);
    let mut ticks = tokio::time::interval(Duration::from_millis(100));
    loop {
        tokio::select! {
            biased;
            done = &mut work => return done,
            _ = ticks.tick() => {
                bar.set_position(progress.bytes_read());
                let rows = progress.rows_read();
                bar.set_message(units::counted(rows, "row"));
            }
        }
    }
}

fn read_options(args: &ImportArgs) -> Result<ReadOptions> {
    let mut options = ReadOptions {
        format: args.format.map(file_format),
        on_error: match args.on_error {
            args::OnError::Abort => OnError::Abort,
            args::OnError::Skip => OnError::Skip,
        },
        ..ReadOptions::default()
    };
    options.csv.header = args.header;
    let texts = [
        ("delimiter", &args.delimiter),
        ("quote", &args.quote),
        ("escape", &args.escape),
        ("comment", &args.comment),
        ("skip", &args.skip),
        ("decimal", &args.decimal),
        ("encoding", &args.encoding),
    ];
    let single = texts.into_iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
    let several = [("date_format", &args.date_format), ("null", &args.null)];
    let several = several.into_iter().flat_map(|(name, values)| values.iter().map(move |value| (name, value)));
    for (name, value) in single.chain(several) {
        options.set(name, value).map_err(CliError::engine)?;
    }
    for text in &args.types {
        let (column, name) = text.rsplit_once('=').ok_or_else(|| {
            CliError::with_hint(format!("--type {text} has no type"), "write the column and its type: --type zip=VARCHAR")
        })?;
        options.types.push((column.to_string(), type_named(name).map_err(CliError::engine)?));
    }
    Ok(options)
}

pub fn file_format(format: args::FileFormat) -> FileFormat {
    match format {
        args::FileFormat::Parquet => FileFormat::Parquet,
        args::FileFormat::Csv => FileFormat::Csv,
        args::FileFormat::Json => FileFormat::Json,
        args::FileFormat::Arrow => FileFormat::Arrow,
    }
}

fn progress_bar(table: &str, total_bytes: u64, quiet: bool) -> ProgressBar {
    let target = match io::stderr().is_terminal() && !quiet {
        true => ProgressDrawTarget::stderr(),
        false => ProgressDrawTarget::hidden(),
    };
    let bar = ProgressBar::with_draw_target(Some(total_bytes), target);
    let template = "{prefix} {bar:30} {decimal_bytes}/{decimal_total_bytes} {decimal_bytes_per_sec}, {msg}, {eta} left";
    let style = ProgressStyle::with_template(template);
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_prefix(table.to_string());
    bar
}

/// `flights: 336,776 rows, 24.1 MB in 1 segment, 0.840 s (400,924 rows/s)`
fn sentence(table: &str, summary: &Imported) -> String {
    let per_second = summary.rows as f64 * 1000.0 / summary.elapsed_ms.max(0.001);
    let skipped = match summary.rows_skipped {
        0 => String::new(),
        rows => format!(", {} skipped", units::counted(rows, "row")),
    };
    let segments = summary.segments.map_or_else(String::new, |segments| format!(" in {}", units::counted(segments, "segment")));
    format!(
        "{table}: {}{skipped}, {}{segments}, {} ({} rows/s)",
        units::counted(summary.rows, "row"),
        Bytes(summary.size_bytes),
        units::duration(summary.elapsed_ms),
        units::count(per_second as u64),
    )
}
