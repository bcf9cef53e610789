//! The options for working on a server instead of a store.

use std::path::PathBuf;

use clap::Args;

use super::{Cli, Command, StoreArgs};

/// The section of the help.
const SERVER: &str = "Server";

#[derive(Args, Clone)]
pub struct ConnectArgs {
    /// Work on a server instead of a store: grpc://[USER@]HOST[:PORT], or grpc+tls:// with TLS
    #[arg(long, value_name = "URI", global = true, help_heading = SERVER)]
    pub connect: Option<String>,
    /// The user to log in as. The shell asks for the password, unless QUIVER_PASSWORD or an option gives it
    #[arg(long, value_name = "NAME", global = true, help_heading = SERVER)]
    pub user: Option<String>,
    /// Read the password from the first line of standard input
    #[arg(long, global = true, help_heading = SERVER)]
    pub password_stdin: bool,
    /// Read the password from the first line of a file that nobody else may read
    #[arg(long, value_name = "FILE", global = true, help_heading = SERVER)]
    pub password_file: Option<PathBuf>,
    /// Read a bearer token, instead of a user and password, from the first line of such a file; QUIVER_TOKEN gives it too
    #[arg(long, value_name = "FILE", global = true, help_heading = SERVER)]
    pub token_file: Option<PathBuf>,
    /// Certificates (PEM) that the server's must be signed by [default: those of the system]
    #[arg(long, value_name = "FILE", global = true, help_heading = SERVER)]
    pub tls_ca: Option<PathBuf>,
    /// Certificate (PEM) to show to a server that asks for one
    #[arg(long, value_name = "FILE", global = true, help_heading = SERVER)]
    pub client_cert: Option<PathBuf>,
    /// The key (PEM) of that certificate
    #[arg(long, value_name = "FILE", global = true, help_heading = SERVER)]
    pub client_key: Option<PathBuf>,
}

/// Subcommands that work on the files of a store.
const LOCAL: [&str; 6] = ["info", "check", "backup", "restore", "user", "serve"];

/// Their help does not list the options that they refuse.
pub fn without_server(mut command: clap::Command) -> clap::Command {
    // Before `build`, the subcommands do not contain the global options.
    command.build();
    LOCAL.into_iter().fold(command, |command, name| command.mut_subcommand(name, hide_server))
}

fn hide_server(command: clap::Command) -> clap::Command {
    let nested: Vec<String> = command.get_subcommands().map(|nested| nested.get_name().to_string()).collect();
    let is_about_server = |arg: &clap::Arg| arg.get_help_heading() == Some(SERVER);
    let command = command.mut_args(|arg| if is_about_server(&arg) { arg.hide(true) } else { arg });
    nested.into_iter().fold(command, |command, name| command.mut_subcommand(name, hide_server))
}

impl ConnectArgs {
    /// The options about a connection, and whether they are given.
    fn about_server(&self) -> [(&'static str, bool); 7] {
        [
            ("--user", self.user.is_some()),
            ("--password-stdin", self.password_stdin),
            ("--password-file", self.password_file.is_some()),
            ("--token-file", self.token_file.is_some()),
            ("--tls-ca", self.tls_ca.is_some()),
            ("--client-cert", self.client_cert.is_some()),
            ("--client-key", self.client_key.is_some()),
        ]
    }

    /// An error about conflicting options. Clap only compares options on the same side of the subcommand.
    pub(super) fn conflict(&self, cli: &Cli) -> Option<String> {
        let first = |options: &[(&'static str, bool)]| options.iter().find(|(_, is_set)| *is_set).map(|(name, _)| *name);
        if self.connect.is_none() {
            // `quiver user` has an option of the same name for the password of the user.
            let is_own = |name: &&str| matches!(cli.command, Some(Command::User(_))) && *name == "--password-stdin";
            return first(&self.about_server())
                .filter(|name| !is_own(name))
                .map(|name| format!("{name} is about a server, and needs --connect URI"));
        }
        if let Some(name) = first(&cli.store.about_store()) {
            return Some(format!("{name} is about a store of this process, and --connect works on that of a server"));
        }
        let passwords = [("--password-stdin", self.password_stdin), ("--password-file", self.password_file.is_some())];
        let others = [("--user", self.user.is_some()), passwords[0], passwords[1]];
        match (self.token_file.is_some(), first(&others)) {
            (true, Some(name)) => return Some(format!("--token-file stands for user and password, so {name} has no place beside it")),
            _ if passwords.iter().all(|(_, is_set)| *is_set) => {
                return Some("--password-stdin and --password-file: take one of them".into());
            }
            _ => {}
        }
        (self.client_cert.is_some() != self.client_key.is_some()).then(|| "--client-cert and --client-key belong together".into())
    }
}

impl StoreArgs {
    fn about_store(&self) -> [(&'static str, bool); 8] {
        [
            ("--store", self.store.is_some()),
            ("--read-only", self.read_only),
            ("--memory-limit", self.memory_limit.is_some()),
            ("--query-memory-limit", self.query_memory_limit.is_some()),
            ("--threads", self.threads.is_some()),
            ("--spill-dir", self.spill_dir.is_some()),
            ("--compaction-rate", self.compaction_rate.is_some()),
            ("--no-maintenance", self.no_maintenance),
        ]
    }
}
