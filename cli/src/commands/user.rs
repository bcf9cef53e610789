//! `quiver user`: the users of a store, and tokens for programs. Each action is an SQL statement, which
//! also works through a running server.

use std::io::{self, BufRead, Write};
use std::sync::Arc;

use engine::{Engine, ErrorKind};
use tokio::runtime::Handle;

use crate::args::{StoreArgs, UserAction};
use crate::console::{Console, Footer, Settings};
use crate::errors::{CliError, Result, ScriptPosition};
use crate::session::{LocalSession, StoreOrigin};
use crate::store;

pub fn run(runtime: &Handle, store: StoreArgs, action: UserAction, quiet: bool) -> Result<()> {
    // Checked before the store is opened, because opening creates a missing store.
    let password = match &action {
        UserAction::Add { name, password_stdin, .. } | UserAction::Password { name, password_stdin } => {
            new_password(name, *password_stdin)?
        }
        _ => String::new(),
    };
    let engine = open(&store, &action)?;
    match action {
        UserAction::Add { name, admin, .. } => {
            let admin = if admin { " ADMIN" } else { "" };
            execute(runtime, &engine, &format!("CREATE USER {} PASSWORD {}{admin}", quoted(&name), literal(&password)))?;
            say(quiet, format!("user {name} may log in"))
        }
        UserAction::List => list(runtime, engine),
        UserAction::Remove { name } => {
            execute(runtime, &engine, &format!("DROP USER {}", quoted(&name)))?;
            say(quiet, format!("user {name} is gone"))
        }
        UserAction::Password { name, .. } => {
            execute(runtime, &engine, &format!("ALTER USER {} PASSWORD {}", quoted(&name), literal(&password)))?;
            say(quiet, format!("user {name} has a new password; tokens from before are not good any more"))
        }
        UserAction::Token { name, expires } => {
            let token = flight_server::token_for(&engine, &name, expires).map_err(CliError::message)?;
            Ok(writeln!(io::stdout(), "{token}")?)
        }
    }
}

/// Opens for writing, except to list users. A process that has the store open can run these actions itself.
fn open(store: &StoreArgs, action: &UserAction) -> Result<Engine> {
    let path = store::absolute(&store::named_store(store, "user")?)?;
    let read_only = store.read_only || matches!(action, UserAction::List);
    let options = store::options(store, read_only);
    Engine::open(&path, options).map_err(|error| match error.kind() {
        ErrorKind::Unavailable => CliError::with_hint(error, instead(action)),
        _ => CliError::engine(error),
    })
}

/// The alternative through a server that has the store open.
fn instead(action: &UserAction) -> &'static str {
    match action {
        UserAction::Add { .. } => "through a server that runs: CREATE USER name PASSWORD '…' [ADMIN]",
        UserAction::List => "through a server that runs: SELECT * FROM system.users",
        UserAction::Remove { .. } => "through a server that runs: DROP USER name",
        UserAction::Password { .. } => "through a server that runs: ALTER USER name PASSWORD '…'",
        UserAction::Token { .. } => "make the token when no server has the store open; a login gives one for some hours",
    }
}

fn execute(runtime: &Handle, engine: &Engine, sql: &str) -> Result<()> {
    let done = runtime.block_on(async {
        let session = engine.session()?;
        session.execute(sql).await?.collect().await
    });
    done.map(|_| ()).map_err(CliError::engine)
}

fn list(runtime: &Handle, engine: Engine) -> Result<()> {
    let mut settings = Settings::new(false);
    settings.footer = Footer::Off;
    let mut console = Console::new(Arc::new(LocalSession::new(engine, StoreOrigin::Existing)?), runtime, settings)?;
    let sql = "SELECT user_name, is_admin, roles, created_at FROM system.users ORDER BY user_name";
    console.run_statement(sql, ScriptPosition { file: None, line: 1 })
}

/// Reads the password from standard input, or asks for it twice.
fn new_password(name: &str, from_stdin: bool) -> Result<String> {
    if from_stdin {
        let mut line = String::new();
        io::stdin().lock().read_line(&mut line).map_err(|error| CliError::message(format!("cannot read the password: {error}")))?;
        return checked(line.trim_end_matches(['\r', '\n']).to_string());
    }
    let ask = |prompt: String| {
        rpassword::prompt_password(prompt).map_err(|error| {
            CliError::with_hint(
                format!("cannot ask for the password: {error}"),
                "without a terminal, give it on standard input: --password-stdin",
            )
        })
    };
    let password = ask(format!("password of {name}: "))?;
    match ask("the same again: ".to_string())? == password {
        true => checked(password),
        false => Err(CliError::message("the two passwords are not the same; nothing was changed")),
    }
}

fn checked(password: String) -> Result<String> {
    match password.is_empty() {
        true => Err(CliError::message("a password must not be empty; nothing was changed")),
        false => Ok(password),
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn say(quiet: bool, line: String) -> Result<()> {
    if quiet { Ok(()) } else { Ok(writeln!(io::stdout(), "{line}")?) }
}
