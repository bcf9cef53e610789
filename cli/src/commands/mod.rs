//! The subcommands. Each checks its arguments, calls the engine and reports the outcome.

pub mod backup;
pub mod check;
pub mod export;
pub mod import;
pub mod info;
pub mod plan;
pub mod query;
pub mod restore;
pub mod run_plan;
pub mod serve;
pub mod user;

use crate::args::Command;
use crate::errors::{CliError, Result};

/// Refuses subcommands that work on the files of a store, and names an alternative on a server.
pub fn refuse_remote(command: &Command) -> Result<()> {
    let (name, instead) = match command {
        Command::Export(_) | Command::Import(_) | Command::Plan(_) | Command::RunPlan(_) => return Ok(()),
        Command::Info => ("info", "ask the server: quiver --connect URI -c '\\conninfo' -c '\\dt'"),
        Command::Check(_) => ("check", "run it with --store DIR on the server's machine, when no server has the store open"),
        Command::Backup(_) => ("backup", "BACKUP TO 'directory' makes one on the server's machine"),
        Command::Restore(_) => ("restore", "run it with --store DIR on the server's machine"),
        Command::User(_) => ("user", "CREATE USER, ALTER USER and DROP USER do the same in SQL"),
        Command::Serve(_) => ("serve", "it is the other end: quiver serve --store DIR"),
    };
    Err(CliError::usage(format!("quiver {name} works on the files of a store, and not over --connect"), instead))
}
