//! `quiver serve`: the store over Flight SQL.

use std::io::{self, Write};

use flight_server::Server;
use flight_server::config::{Config, Given, variable};
use tokio::runtime::Handle;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::args::ServeArgs;
use crate::errors::{CliError, Result, warn};
use crate::store;

/// What the server is set to; None where that was only to be printed.
pub fn configured(serve: ServeArgs) -> Result<Option<Config>> {
    let in_environment = || std::env::var_os(variable("config")).filter(|path| !path.is_empty()).map(Into::into);
    let given = Given {
        flags: serve.flags,
        variables: std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))).collect(),
        file: serve.config.or_else(in_environment),
    };
    let config = Config::load(&given).map_err(CliError::message)?;
    for (name, near) in given.doubtful_variables() {
        warn(&format!("the environment has {name}, which is no setting; did you mean {near}?"));
    }
    if serve.print_config {
        let mut out = io::stdout().lock();
        return out.write_all(config.printed().as_bytes()).map(|()| None).map_err(CliError::message);
    }
    Ok(Some(config))
}

pub fn run(runtime: &Handle, config: Config, quiet: bool) -> Result<()> {
    let Some(path) = config.store else {
        return Err(CliError::with_hint("quiver serve needs a store", "quiver serve --store DIR …"));
    };
    if !flight_server::log_to_stderr(&config.log) {
        let text = format!("'{}' is no level of logging", config.log.level);
        return Err(CliError::with_hint(text, "use error, warn, info, debug or trace"));
    }
    // Signals are heard from the beginning: one that comes while the store is opened is not lost.
    let mut signals = runtime.block_on(async { Signals::listen() }).map_err(CliError::message)?;
    let engine = store::open_with(&path, config.engine)?;
    let options = config.server;
    let drain = options.drain;
    let all_done = runtime.block_on(async {
        let server = Server::bind(&engine, options).await.map_err(CliError::message)?;
        say(quiet, format!("listening on {} with the store {}", server.uri(), path.display()))?;
        if let Some(address) = server.http_address() {
            say(quiet, format!("health and metrics on http://{address}/health and /metrics"))?;
        }
        let leave = async {
            signals.next().await;
            let _ = say(quiet, format!("draining: running calls have {} s to end", drain.as_secs()));
        };
        server.serve(leave).await.map_err(CliError::message)
    })?;
    if !all_done {
        warn("some calls were still running and were cut off");
    }
    Ok(())
}

/// At once, so that whoever waits for the address gets it through a pipe too.
fn say(quiet: bool, line: String) -> Result<()> {
    if quiet {
        return Ok(());
    }
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

/// SIGTERM, and SIGINT as Ctrl-C sends it.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn listen() -> io::Result<Signals> {
        Ok(Signals { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
