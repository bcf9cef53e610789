//! The `quiver` command: presentation only. The `engine` crate runs the statements.
//!
//! - [`allocator`] — the allocator, and when a server returns memory
//! - [`args`] — the command line
//! - [`commands`] — one module per subcommand
//! - [`console`] — runs statements and meta commands, and shows their results
//! - [`session`] — sessions for statements: in this process or on a server
//! - [`shell`] — the interactive line editor; [`history`] — the location of its history
//! - [`meta_command`], [`dot_command`], [`lexer`], [`sql_help`] — the backslash and dot commands, tokens, and a line of syntax per statement
//! - [`output`] — one writer per result format
//! - [`processor`] — exits before `main` if the processor lacks instructions
//! - [`copy_command`], [`script`], [`error_mark`], [`table_name`], [`units`], [`variables`] — helpers without an engine, which are tested alone

mod allocator;
mod args;
mod commands;
mod console;
mod copy_command;
mod dot_command;
mod error_mark;
mod errors;
mod history;
mod interrupt;
mod lexer;
mod meta_command;
mod output;
#[cfg(all(target_arch = "x86_64", target_feature = "avx2"))]
mod processor;
mod script;
mod session;
mod shell;
mod sql_help;
mod store;
mod table_name;
mod threads;
mod units;
mod variables;

use std::process::ExitCode;

use args::{Cli, Command, Source};
use errors::Result;
use tokio::runtime::Handle;

fn main() -> ExitCode {
    allocator::keep_freed_memory();
    engine::import::silence_guarded_panics();
    let (cli, sources) = args::parse();
    match start(cli, sources) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            error.report();
            ExitCode::from(error.exit_status())
        }
    }
}

/// The file of a server may set its threads.
fn start(cli: Cli, sources: Vec<Source>) -> Result<()> {
    if let Some(command) = cli.command.as_ref().filter(|_| cli.connect.connect.is_some()) {
        commands::refuse_remote(command)?;
    }
    let (threads, quiet) = (cli.store.threads, cli.query.quiet);
    let Cli { store, connect, query, command } = cli;
    match command {
        Some(Command::Serve(serve)) => match commands::serve::configured(serve)? {
            Some(config) => threads::with_runtime(config.engine.threads, |runtime| commands::serve::run(runtime, config, quiet)),
            None => Ok(()),
        },
        command => threads::with_runtime(threads, |runtime| run(Cli { store, connect, query, command }, sources, runtime)),
    }
}

fn run(cli: Cli, sources: Vec<Source>, runtime: &Handle) -> Result<()> {
    let quiet = cli.query.quiet;
    match cli.command {
        None => commands::query::run(runtime, cli.store, cli.connect, cli.query, sources),
        Some(Command::Import(import)) => commands::import::run(runtime, cli.store, cli.connect, import, quiet),
        Some(Command::Export(export)) => commands::export::run(runtime, cli.store, cli.connect, export, quiet),
        Some(Command::Plan(plan)) => commands::plan::run(runtime, cli.store, cli.connect, plan),
        Some(Command::RunPlan(plan)) => commands::run_plan::run(runtime, cli.store, cli.connect, plan, quiet),
        Some(Command::Info) => commands::info::run(runtime, cli.store),
        Some(Command::Check(check)) => commands::check::run(cli.store, check, quiet),
        Some(Command::Backup(backup)) => commands::backup::run(runtime, cli.store, backup, quiet),
        Some(Command::Restore(restore)) => commands::restore::run(runtime, cli.store, restore, quiet),
        Some(Command::User(user)) => commands::user::run(runtime, cli.store, user.action, quiet),
        Some(Command::Serve(_)) => unreachable!("a server begins in `start`, before there are threads"),
    }
}
