//! `quiver serve`: the store over Flight SQL.

use std::io::{self, Write};

use flight_server::config::{Config, ConfigError, SettingSource, variable};
use flight_server::{Certificates, Server};
use tokio::runtime::Handle;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::allocator;
use crate::args::ServeArgs;
use crate::errors::{CliError, Result, warn};
use crate::store;

/// The configuration of the server; `None` if it was only printed.
pub fn configured(serve: ServeArgs) -> Result<Option<Config>> {
    let in_environment = || std::env::var_os(variable("config")).filter(|path| !path.is_empty()).map(Into::into);
    let source = SettingSource {
        flags: serve.flags,
        variables: std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))).collect(),
        file: serve.config.or_else(in_environment),
    };
    let config = Config::load(&source).map_err(refused)?;
    for (name, near) in source.doubtful_variables() {
        warn(format!("the environment has {name}, which is no setting; did you mean {near}?"));
    }
    if serve.print_config {
        let mut out = io::stdout().lock();
        return out.write_all(config.printed().as_bytes()).map(|()| None).map_err(CliError::message);
    }
    Ok(Some(config))
}

/// A wrong value of a flag is wrong usage of the command line; one of a file or a variable is not.
fn refused(error: ConfigError) -> CliError {
    match &error {
        ConfigError::Value { place, .. } if place.starts_with("--") => CliError::usage(&error, "docs/server.md lists all settings"),
        _ => CliError::message(error),
    }
}

pub fn run(runtime: &Handle, config: Config, quiet: bool) -> Result<()> {
    let Some(path) = config.store else {
        return Err(CliError::usage("quiver serve needs a store", "quiver serve --store DIR …"));
    };
    if !flight_server::log_to_stderr(&config.log) {
        let text = format!("'{}' is no level of logging", config.log.level);
        return Err(CliError::with_hint(text, "use error, warn, info, debug or trace"));
    }
    // Install the handlers first, so that a signal while the store is opened is not lost.
    let mut signals = runtime.block_on(async { Signals::listen(config.server.tls.is_on()) }).map_err(CliError::message)?;
    let engine = store::open_with(&path, config.engine)?;
    allocator::purge_above(engine.memory_limit_bytes()).map_err(CliError::message)?;
    let options = config.server;
    let drain = options.drain;
    let all_done = runtime.block_on(async {
        let server = Server::bind(&engine, options).await.map_err(CliError::message)?;
        say(quiet, format!("listening on {} with the store {}", server.uri(), path.display()))?;
        if let Some(address) = server.http_address() {
            say(quiet, format!("health and metrics on http://{address}/health and /metrics"))?;
        }
        let certificates = server.certificates();
        let leave = async {
            signals.leave(certificates, quiet).await;
            let _ = say(quiet, format!("draining: running calls have {} s to end", drain.as_secs()));
        };
        Ok::<_, CliError>(server.serve(leave).await)
    })?;
    if !all_done {
        warn("some calls were still running and were cut off");
    }
    Ok(())
}

/// Flushes, so that a program that waits for the address gets it through a pipe too.
fn say(quiet: bool, line: String) -> Result<()> {
    if quiet {
        return Ok(());
    }
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

/// SIGTERM and SIGINT (Ctrl-C) end a server; SIGHUP makes it reload its certificates.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
    /// Not handled without certificates: then it ends the program, or does nothing under nohup.
    hangup: Option<Signal>,
}

impl Signals {
    fn listen(has_certificates: bool) -> io::Result<Signals> {
        let hangup = has_certificates.then(|| signal(SignalKind::hangup())).transpose()?;
        Ok(Signals { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())?, hangup })
    }

    /// Waits until the server must shut down.
    async fn leave(&mut self, certificates: Option<Certificates>, quiet: bool) {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return,
                _ = self.interrupt.recv() => return,
                () = heard(&mut self.hangup) => {}
            }
            // An error is logged, and the server keeps its certificates.
            if certificates.as_ref().is_some_and(|certificates| certificates.reload().is_ok()) {
                let _ = say(quiet, "the certificates were read again: new connections use them".to_string());
            }
        }
    }
}

async fn heard(signal: &mut Option<Signal>) {
    match signal {
        Some(signal) => {
            signal.recv().await;
        }
        None => std::future::pending().await,
    }
}
