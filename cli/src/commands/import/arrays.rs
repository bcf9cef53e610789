//! Files of arrays: HDF5, NetCDF-4, FITS, Zarr. The Python package reads them, with the libraries of these formats; it is started as a
//! process of its own, which opens the store or connects to the server by itself.

use std::process::{Command, Stdio};

use clap::ValueEnum;
use flight_client::Login;

use crate::args::{ConnectArgs, ImportArgs, OnError, StoreArgs};
use crate::errors::{CliError, Result};
use crate::session::login;
use crate::store;

/// The ends of names, in lower case. `python/quiver/array_files/load.py` has the same list.
const ENDS: [&str; 11] = [".h5", ".hdf5", ".he5", ".nc", ".nc4", ".netcdf", ".fits", ".fit", ".fts", ".fits.gz", ".zarr"];

/// The interpreter, for who has several.
const PYTHON_VARIABLE: &str = "QUIVER_PYTHON";

pub fn is_array_file(path: &str) -> bool {
    let lower = path.to_lowercase();
    ENDS.iter().any(|end| lower.trim_end_matches('/').ends_with(end))
}

/// Files of rows have neither arrays nor attributes.
pub fn refuse_options(args: &ImportArgs) -> Result<()> {
    let given = [
        ("--metadata", args.metadata.is_some()),
        ("--exclude", !args.exclude.is_empty()),
        ("--exclude-attributes", !args.exclude_attributes.is_empty()),
    ];
    let Some(option) = first_given(&given) else { return Ok(()) };
    Err(CliError::with_hint(format!("{option} is for files of arrays, and these have rows"), format!("leave {option} out")))
}

/// Imports the files, each in one commit, or with its attributes in a second one.
pub fn import(store: &StoreArgs, connect: &ConnectArgs, args: &ImportArgs, quiet: bool) -> Result<()> {
    if let Some(table) = &args.table {
        let hint = "leave --table out: a file may have many arrays, and a group of its name gets them";
        return Err(CliError::with_hint(format!("files of arrays have no table {table}"), hint));
    }
    if let Some(other) = args.paths.iter().find(|path| !is_array_file(path)) {
        return Err(CliError::with_hint(format!("'{other}' is no file of arrays, and the others are"), "import them one after the other"));
    }
    if args.append {
        return Err(CliError::with_hint(
            "arrays of a file cannot be appended",
            "use --replace, or con.array(…).append of the Python package",
        ));
    }
    if let Some(option) = option_of_tables(args) {
        return Err(CliError::with_hint(format!("{option} is for files of rows, and these have arrays"), format!("leave {option} out")));
    }
    let python = std::env::var(PYTHON_VARIABLE).unwrap_or_else(|_| "python3".to_string());
    let mut command = Command::new(&python);
    command.args(["-m", "quiver.array_files"]).args(&args.paths).stdin(Stdio::null()).stdout(Stdio::inherit());
    // Modules of the working directory have no part in it.
    command.env("PYTHONSAFEPATH", "1").env_remove(login::PASSWORD_VARIABLE).env_remove(login::TOKEN_VARIABLE);
    match login::options(connect)? {
        Some(options) => connect_with(&mut command, connect, options.login),
        None => drop(command.arg("--store").arg(store::absolute(&store::named_store(store, "import")?)?)),
    }
    command.args(args.replace.then_some("--replace")).args(quiet.then_some("--quiet"));
    let metadata = args.metadata.and_then(|metadata| metadata.to_possible_value());
    command.args(metadata.map(|metadata| format!("--metadata={}", metadata.get_name())));
    command.args(args.exclude.iter().map(|pattern| format!("--exclude={pattern}")));
    command.args(args.exclude_attributes.iter().map(|pattern| format!("--exclude-attributes={pattern}")));
    let hint = format!("install the Python package quiver with h5py, astropy or zarr; {PYTHON_VARIABLE} names the interpreter that has it");
    let done = command.output().map_err(|error| CliError::with_hint(format!("{python} does not start: {error}"), &hint))?;
    let said = String::from_utf8_lossy(&done.stderr).trim().to_string();
    match done.status.code() {
        Some(0) => Ok(()),
        // The status of an error that the package has put into words.
        Some(2) if !said.is_empty() => Err(CliError::message(said)),
        _ => {
            let last = said.lines().last().unwrap_or_default();
            Err(CliError::with_hint(format!("{python} could not import the files ({}): {last}", done.status), hint))
        }
    }
}

fn option_of_tables(args: &ImportArgs) -> Option<&'static str> {
    let given = [
        ("--order-by", !args.order_by.is_empty()),
        ("--on-error", !matches!(args.on_error, OnError::Abort)),
        ("--format", args.format.is_some()),
        ("--delimiter", args.delimiter.is_some()),
        ("--header", args.header.is_some()),
        ("--quote", args.quote.is_some()),
        ("--escape", args.escape.is_some()),
        ("--comment", args.comment.is_some()),
        ("--skip", args.skip.is_some()),
        ("--date-format", !args.date_format.is_empty()),
        ("--decimal", args.decimal.is_some()),
        ("--encoding", args.encoding.is_some()),
        ("--type", !args.types.is_empty()),
        ("--null", !args.null.is_empty()),
    ];
    first_given(&given)
}

fn first_given(options: &[(&'static str, bool)]) -> Option<&'static str> {
    options.iter().find(|(_, is_given)| *is_given).map(|(option, _)| *option)
}

/// Secrets go through the environment, which other users cannot read.
fn connect_with(command: &mut Command, connect: &ConnectArgs, login: Login) {
    command.args(connect.connect.iter().flat_map(|uri| ["--connect", uri]));
    match login {
        Login::Nobody => {}
        Login::Token(token) => drop(command.env(login::TOKEN_VARIABLE, token)),
        Login::Password { user, password } => {
            command.args(["--user", &user]).env(login::PASSWORD_VARIABLE, password);
        }
    }
    let files = [("--tls-ca", &connect.tls_ca), ("--tls-cert", &connect.client_cert), ("--tls-key", &connect.client_key)];
    for (option, file) in files.into_iter().filter_map(|(option, file)| Some((option, file.as_ref()?))) {
        command.arg(option).arg(file);
    }
}
