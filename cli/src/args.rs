//! The command line. `connect` has the options about a server.

mod connect;
mod settings;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use engine::is_keyword;

pub use connect::ConnectArgs;

use crate::meta_command::nearest;
use crate::output::Format;
use crate::units;

/// The help section for options that few users need.
const ENGINE: &str = "Engine";

/// A SQL analytical engine that works where the data rests.
///
/// Without -c or -f, a shell on a terminal; from a pipe, the statements are read from it.
#[derive(Parser)]
#[command(name = "quiver", version, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    pub store: StoreArgs,
    #[command(flatten)]
    pub connect: ConnectArgs,
    #[command(flatten)]
    pub query: QueryArgs,
    #[command(subcommand)]
    pub command: Option<Command>,
}

#[derive(Args, Clone)]
pub struct StoreArgs {
    /// The store: a directory, made if it is missing. Commands need it; the shell and -c have a temporary one without it
    #[arg(long, value_name = "DIR", global = true)]
    pub store: Option<PathBuf>,
    /// Refuse to change anything; other processes may read at the same time
    #[arg(long, global = true, help_heading = ENGINE)]
    pub read_only: bool,
    /// Memory for all queries together, such as 4G [default: 70 % of RAM]
    #[arg(long, value_name = "SIZE", value_parser = engine::parse_size, global = true, help_heading = ENGINE)]
    pub memory_limit: Option<u64>,
    /// Memory for one query; over it the query spills to disk or fails
    #[arg(long, value_name = "SIZE", value_parser = engine::parse_size, global = true, help_heading = ENGINE)]
    pub query_memory_limit: Option<u64>,
    /// Threads that work on queries [default: one per core]
    #[arg(long, value_name = "N", value_parser = parse_threads, global = true, help_heading = ENGINE)]
    pub threads: Option<usize>,
    /// Where queries spill [default: inside the store]
    #[arg(long, value_name = "DIR", global = true, help_heading = ENGINE)]
    pub spill_dir: Option<PathBuf>,
    /// Bytes that background compaction writes per second, such as 50M [default: 100M]
    #[arg(long, value_name = "SIZE", value_parser = engine::parse_size, global = true, help_heading = ENGINE)]
    pub compaction_rate: Option<u64>,
    /// Do no maintenance in the background; compact tables only on OPTIMIZE TABLE
    #[arg(long, global = true, help_heading = ENGINE)]
    pub no_maintenance: bool,
}

#[derive(Args, Clone)]
pub struct QueryArgs {
    /// Work on files, which become tables of a temporary store, or on a store
    #[arg(value_name = "FILE")]
    pub paths: Vec<String>,
    /// Run these statements; may be given several times
    #[arg(short = 'c', long = "command", value_name = "SQL", allow_hyphen_values = true)]
    pub commands: Vec<String>,
    /// Run the statements of this file; - is standard input
    #[arg(short = 'f', long = "file", value_name = "FILE")]
    pub files: Vec<String>,
    /// How results are written [default: box on a terminal, else table]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub format: Option<Format>,
    /// Write results to this file; its suffix decides the format unless --format does
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// After each statement, print rows, time and bytes even when not on a terminal
    #[arg(long, overrides_with = "no_footer")]
    pub footer: bool,
    /// Never print that line
    #[arg(long)]
    pub no_footer: bool,
    /// No banner, no footer, no progress
    #[arg(short = 'q', long, global = true)]
    pub quiet: bool,
}

#[derive(Subcommand)]
pub enum Command {
    /// Load files into tables: Parquet, CSV, JSON lines, Arrow (CSV and JSON also .gz, .zst, .zip)
    Import(ImportArgs),
    /// Write a table or the result of a query to a file
    Export(ExportArgs),
    /// Show the Substrait plan of a query, or write it to a file for another engine
    Plan(PlanArgs),
    /// Run a Substrait plan, binary or as JSON
    RunPlan(RunPlanArgs),
    /// Show the mode, size, tables and segments of a store
    Info,
    /// Verify every checksum and catalog reference; exit status 1 when something is wrong
    Check(CheckArgs),
    /// Make or renew a backup of a store, also while another process writes to it; takes only what is new
    Backup(BackupArgs),
    /// Verify a backup and make a store of it
    Restore(RestoreArgs),
    /// Answer Flight SQL and Flight over the network, until SIGTERM or Ctrl-C
    Serve(ServeArgs),
    /// Who may log in to a server of the store: add, list and remove users, make tokens
    User(UserArgs),
}

#[derive(Args)]
pub struct CheckArgs {
    /// Also validate every value against its type, which checksums do not check: for a store from an untrusted source
    #[arg(long)]
    pub validate: bool,
    /// Accept the loss of rows in damaged logs, instead of an error for every read of their table
    #[arg(long)]
    pub accept_loss: bool,
}

#[derive(Args)]
pub struct ServeArgs {
    /// Settings in a TOML file; docs/server.md lists them [env: QUIVER_CONFIG]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Print all settings with their sources, and exit
    #[arg(long)]
    pub print_config: bool,
    /// The flags of the settings.
    #[arg(skip)]
    pub flags: Vec<(&'static str, String)>,
}

#[derive(Args)]
pub struct UserArgs {
    #[command(subcommand)]
    pub action: UserAction,
}

#[derive(Subcommand)]
pub enum UserAction {
    /// Make a user; the password is asked for twice
    Add {
        name: String,
        /// Allow the user everything, including making other users
        #[arg(long)]
        admin: bool,
        /// Read the password from the first line of standard input
        #[arg(long)]
        password_stdin: bool,
    },
    /// List the users
    List,
    /// Remove a user with all of its privileges
    Remove { name: String },
    /// Change a password, which ends all tokens of the user
    Password {
        name: String,
        /// Read the password from the first line of standard input
        #[arg(long)]
        password_stdin: bool,
    },
    /// Print a token with which a program logs in as the user: Authorization: Bearer TOKEN
    Token {
        name: String,
        /// How long the token is valid, such as 12h or 365d
        #[arg(long, value_name = "TIME", value_parser = units::parse_duration, default_value = "30d")]
        expires: Duration,
    },
}

#[derive(Args)]
pub struct BackupArgs {
    /// Where the backup is, or is to be: a directory of its own, outside of the store
    #[arg(long, value_name = "BACKUP")]
    pub to: PathBuf,
    /// Copy every file, also where a hard link is possible: links share the medium with the store
    #[arg(long)]
    pub copy: bool,
}

#[derive(Args)]
#[command(override_usage = "quiver restore --from <BACKUP> --store <DIR>\n       \
                            quiver restore --from <BACKUP> --verify-only")]
pub struct RestoreArgs {
    /// The backup; the store is made at --store, which must be missing or empty
    #[arg(long, value_name = "BACKUP")]
    pub from: PathBuf,
    /// Only verify the whole backup; exit status 1 when something is wrong
    #[arg(long)]
    pub verify_only: bool,
    /// Copy every file, also where a hard link is possible: links share the medium with the backup
    #[arg(long, conflicts_with = "verify_only")]
    pub copy: bool,
}

#[derive(Args, Default)]
pub struct ImportArgs {
    /// Files, globs or directories. Without --table, each becomes a table of its own name; HDF5, NetCDF-4, FITS and Zarr become arrays
    #[arg(value_name = "FILE|GLOB|DIR", required = true)]
    pub paths: Vec<String>,
    /// Load everything into this table
    #[arg(long, value_name = "NAME")]
    pub table: Option<String>,
    /// Keep the table sorted by these columns, which lets queries skip what they do not need; auto is the first column of dates or timestamps
    #[arg(long, value_name = "COLS", value_delimiter = ',')]
    pub order_by: Vec<String>,
    /// What to do with a row that cannot be read
    #[arg(long, value_enum, default_value_t = OnError::Abort)]
    pub on_error: OnError,
    /// Format of the files [default: by their suffix and content]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub format: Option<FileFormat>,
    /// CSV: the delimiter; tab or \t is the tab character
    #[arg(long, value_name = "SIGN")]
    pub delimiter: Option<String>,
    /// CSV: whether the first line holds the names [default: find out]
    #[arg(long, value_name = "BOOL")]
    pub header: Option<bool>,
    /// CSV: the quote [default: find out]
    #[arg(long, value_name = "SIGN")]
    pub quote: Option<String>,
    /// CSV: the sign before a quote in a text [default: find out]
    #[arg(long, value_name = "SIGN")]
    pub escape: Option<String>,
    /// CSV: the sign that begins a line which is no row [default: find out]
    #[arg(long, value_name = "SIGN")]
    pub comment: Option<String>,
    /// CSV: how many lines are above the table [default: find out]
    #[arg(long, value_name = "LINES")]
    pub skip: Option<String>,
    /// CSV: how dates or timestamps are written, as %d/%m/%Y; may be given several times
    #[arg(long, value_name = "PATTERN")]
    pub date_format: Vec<String>,
    /// CSV: the sign before the fraction of a number, a point or a comma [default: .]
    #[arg(long, value_name = "SIGN")]
    pub decimal: Option<String>,
    /// CSV: utf-8, utf-16, latin-1 or windows-1252 [default: utf-8]
    #[arg(long, value_name = "NAME")]
    pub encoding: Option<String>,
    /// The type of a column instead of the inferred one, as zip=VARCHAR; may be given several times
    #[arg(long = "type", value_name = "COLUMN=TYPE")]
    pub types: Vec<String>,
    /// CSV: a word that stands for NULL; may be given several times
    #[arg(long, value_name = "TOKEN")]
    pub null: Vec<String>,
    /// Arrays: when the attributes of the files become tags [default: sync]
    #[arg(long, value_enum, value_name = "WHEN")]
    pub metadata: Option<Metadata>,
    /// Arrays: leave out those whose paths match, as 'run/*'; may be given several times
    #[arg(long, value_name = "PATTERN")]
    pub exclude: Vec<String>,
    /// Arrays: leave out attributes whose names match, as 'hist*'; may be given several times
    #[arg(long, value_name = "PATTERN")]
    pub exclude_attributes: Vec<String>,
    /// Add to a table that exists
    #[arg(long, conflicts_with = "replace")]
    pub append: bool,
    /// Replace a table that exists
    #[arg(long)]
    pub replace: bool,
}

#[derive(Args)]
#[command(override_usage = "quiver export --store <DIR> <TABLE> <FILE>\n       \
                            quiver export --store <DIR> --query <SQL> <FILE>\n       \
                            quiver export --connect <URI> …")]
pub struct ExportArgs {
    /// The table, unless --query is given, and the file; - is standard output
    #[arg(value_name = "TABLE FILE", num_args = 1..=2, required = true)]
    pub table_and_file: Vec<String>,
    /// Write the result of this query
    #[arg(long, value_name = "SQL")]
    pub query: Option<String>,
    /// Format of the file [default: by its suffix]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub format: Option<FileFormat>,
}

#[derive(Args)]
#[command(override_usage = "quiver plan --store <DIR> -c <SQL> [-o <FILE>]\n       \
                            quiver plan --connect <URI> …")]
pub struct PlanArgs {
    /// The query
    #[arg(short = 'c', long = "command", value_name = "SQL", allow_hyphen_values = true)]
    pub sql: String,
    /// How the plan is written [default: by the suffix of -o: .json, .txt, or .plan, .pb, .bin; without -o json]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub format: Option<PlanFormat>,
    /// Write it to this file
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Args)]
#[command(override_usage = "quiver run-plan --store <DIR> <FILE>\n       \
                            quiver run-plan --connect <URI> <FILE>")]
pub struct RunPlanArgs {
    /// The plan; - is standard input
    #[arg(value_name = "FILE")]
    pub file: String,
    /// How the result is written [default: box on a terminal, else table]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub format: Option<Format>,
    /// Write the result to this file; its suffix decides the format unless --format does
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PlanFormat {
    /// As protobuf writes messages in JSON
    Json,
    /// A line for each step, for people
    Text,
    /// What engines send each other
    Binary,
}

#[derive(Clone, Copy, Default, ValueEnum)]
pub enum OnError {
    #[default]
    Abort,
    Skip,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Metadata {
    /// In the commit of the arrays
    Sync,
    /// After the arrays, in a commit of their own
    Async,
    /// Not at all
    None,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum FileFormat {
    Parquet,
    Csv,
    Json,
    Arrow,
}

/// One `-c` or `-f`.
pub enum Source {
    Text(String),
    File(String),
}

/// Parses the command line, or ends the process with usage and exit status 2.
pub fn parse() -> (Cli, Vec<Source>) {
    let matches = connect::without_server(settings::with_flags(Cli::command())).get_matches();
    let mut cli = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    if let Some(Command::Serve(serve)) = &mut cli.command {
        serve.flags = settings::settings_of_matches(&matches);
    }
    if let Some(statement) = cli.query.paths.iter().find(|path| is_statement(path)) {
        let message = format!("there is no file '{statement}'; a statement is given with -c");
        Cli::command().error(ErrorKind::InvalidSubcommand, message).exit();
    }
    if let Some(word) = cli.query.paths.iter().find(|path| is_no_file(path)) {
        Cli::command().error(ErrorKind::InvalidSubcommand, unknown(word)).exit();
    }
    if let Some(conflict) = cli.connect.conflict(&cli).or_else(|| conflict_of_files(&cli)) {
        Cli::command().error(ErrorKind::ArgumentConflict, conflict).exit();
    }
    let sources = sources(&matches);
    (cli, sources)
}

fn conflict_of_files(cli: &Cli) -> Option<String> {
    let file = cli.query.paths.first()?;
    if cli.command.is_some() {
        return Some(format!("'{file}' stands before a subcommand: give the files behind it"));
    }
    if cli.store.store.is_some() {
        return Some(format!("'{file}' becomes a table of a temporary store: quiver import --store DIR FILE loads it into another one"));
    }
    let remote = "quiver import --connect URI FILE loads it into a server";
    cli.connect.connect.as_ref().map(|_| format!("'{file}' becomes a table of a temporary store: {remote}"))
}

fn is_statement(path: &str) -> bool {
    // `Order *.csv` is a pattern of files.
    let is_pattern = path.contains(['*', '?', '[']) && path.contains('.');
    !is_pattern && path.split_once(char::is_whitespace).is_some_and(|(first, _)| is_keyword(first)) && !Path::new(path).exists()
}

/// A plain word that is no file is rather a misspelt subcommand, or a store, which DuckDB opens so.
fn is_no_file(path: &str) -> bool {
    let is_word = !path.contains(['.', '/', '*', '?', '[']) || path.ends_with(".db") || path.ends_with(".duckdb");
    is_word && !Path::new(path).exists()
}

fn unknown(word: &str) -> String {
    let command = Cli::command();
    let near = nearest(word, command.get_subcommands().map(clap::Command::get_name));
    let hint = near.map_or_else(|| format!("; quiver --store {word} makes a store"), |near| format!("; did you mean {near}?"));
    format!("there is no subcommand and no file '{word}'{hint}")
}

/// `-c` and `-f` in their order on the command line, which clap keeps only in its raw matches.
fn sources(matches: &ArgMatches) -> Vec<Source> {
    let indexed_values = |id: &str| -> Vec<(usize, String)> {
        let values = matches.get_many::<String>(id).into_iter().flatten().cloned();
        let indices = matches.indices_of(id).into_iter().flatten();
        indices.zip(values).collect()
    };
    let texts = indexed_values("commands").into_iter().map(|(at, text)| (at, Source::Text(text)));
    let files = indexed_values("files").into_iter().map(|(at, file)| (at, Source::File(file)));
    let mut all: Vec<(usize, Source)> = texts.chain(files).collect();
    all.sort_by_key(|(at, _)| *at);
    all.into_iter().map(|(_, source)| source).collect()
}

fn parse_threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(threads @ 1..=1024) => Ok(threads),
        _ => Err("expected a number from 1 to 1024".to_string()),
    }
}
