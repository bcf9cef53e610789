//! Runs statements and meta commands, and shows their results. The shell, scripts and pipes all
//! end here.

mod copy;
mod destination;
mod edit;
mod footer;
mod listing;
mod meta;
mod progress;
mod settings;
mod split_batches;
mod statement;
mod watch;

use std::future::Future;
use std::io::{BufRead, BufWriter, StdoutLock};
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;

use crate::dot_command;
use crate::errors::{CliError, Result, ScriptPosition, StatementError};
use crate::interrupt::{Interrupts, Kind};
use crate::meta_command::Meta;
use crate::script::{Item, Script, StatementText};
use crate::session::Session;
use crate::variables::Variables;

pub use destination::Destination;
pub use edit::editor;
pub use progress::Progress;
pub use settings::{Footer, Settings};

pub struct Console {
    pub settings: Settings,
    pub destination: Destination,
    pub interrupts: Interrupts,
    last_statement: Option<(String, ScriptPosition)>,
    variables: Variables,
    /// The depth of included files, because a file may include itself.
    include_depth: usize,
    session: Arc<dyn Session>,
    runtime: Handle,
}

/// How to go on after a statement or command.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    Continue,
    Leave,
}

impl Console {
    pub fn new(session: Arc<dyn Session>, runtime: &Handle, settings: Settings) -> Result<Self> {
        let kind = match settings.interactive {
            true => Kind::Shell,
            false => Kind::Batch,
        };
        let interrupts = Interrupts::listen(kind).map_err(CliError::message)?;
        Ok(Console {
            settings,
            destination: Destination::Screen,
            interrupts,
            last_statement: None,
            variables: Variables::default(),
            include_depth: 0,
            session,
            runtime: runtime.clone(),
        })
    }

    pub fn session(&self) -> Arc<dyn Session> {
        Arc::clone(&self.session)
    }

    pub fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// Waits for an answer of the session, which Ctrl-C interrupts.
    pub fn ask<T>(&mut self, question: impl Future<Output = std::result::Result<T, StatementError>>) -> Result<T> {
        self.wait(async { question.await.map_err(CliError::from) })
    }

    /// Waits for work that Ctrl-C interrupts.
    pub fn wait<T>(&mut self, work: impl Future<Output = Result<T>>) -> Result<T> {
        self.forget_interrupts();
        let Console { interrupts, runtime, .. } = self;
        runtime.block_on(async {
            tokio::select! {
                biased;
                stop = interrupts.next() => Err(CliError::Stopped(stop)),
                done = work => done,
            }
        })
    }

    /// A Ctrl-C at a pager or another program was not meant for what comes next.
    fn forget_interrupts(&mut self) {
        if self.settings.interactive {
            self.interrupts.forget();
        }
    }

    /// Runs everything in `input` and stops at the first error. `file` is its name in errors.
    pub fn run_script(&mut self, input: impl BufRead, file: Option<&str>) -> Result<Flow> {
        self.run_items(&mut Script::new(input, split), file)
    }

    /// The same for a script that the caller has opened.
    pub fn run_items(&mut self, script: &mut Script<impl BufRead>, file: Option<&str>) -> Result<Flow> {
        loop {
            let item = script.next_item().map_err(|error| match file {
                Some(file) => CliError::file(file, error),
                None => CliError::message(error),
            })?;
            let flow = match item {
                None => return Ok(Flow::Continue),
                Some(Item::Meta { text, line }) => self.run_command(script, &text, file).map_err(|error| match error {
                    CliError::Message { text, hint } if file.is_some() => {
                        CliError::Message { text: format!("{}:{line}: {text}", file.unwrap_or_default()), hint }
                    }
                    other => other,
                })?,
                Some(Item::Statement { sql, line }) => {
                    let place = ScriptPosition { file: file.map(str::to_string), line };
                    self.run_statement(&sql, place)?;
                    Flow::Continue
                }
            };
            if flow == Flow::Leave {
                return Ok(flow);
            }
        }
    }

    /// Runs a meta command. Some are about the statement before it that has no `;`, as in `SELECT 1 \g`.
    fn run_command(&mut self, script: &mut Script<impl BufRead>, text: &str, file: Option<&str>) -> Result<Flow> {
        let meta = dot_command::parse(text).map_err(CliError::message)?;
        let unfinished = match meta {
            Meta::Again { .. } | Meta::Watch { .. } | Meta::Edit | Meta::Reset => script.take_unfinished(),
            Meta::Print => script.unfinished(),
            _ => None,
        };
        if let Some((sql, line)) = unfinished.filter(|_| meta != Meta::Reset) {
            self.last_statement = Some((sql, ScriptPosition { file: file.map(str::to_string), line }));
        }
        self.run_meta(meta)
    }
}

/// The time limit for ending the session, so that an unresponsive server does not block the exit.
const LEAVE_MAX: Duration = Duration::from_secs(1);

impl Drop for Console {
    fn drop(&mut self) {
        let closing = self.session.close();
        let _ = self.runtime.block_on(async { tokio::time::timeout(LEAVE_MAX, closing).await });
    }
}

/// What a person types.
pub fn interactive_script(text: &str) -> Script<&[u8]> {
    Script::interactive(text.as_bytes(), split)
}

/// Splits statements with the engine's lexer. The `;` is not part of the statement.
fn split(text: &str) -> Vec<StatementText> {
    let parts = engine::Session::split_statements(text).into_iter().map(|statement| {
        let sql = statement.text.strip_suffix(';').unwrap_or(statement.text);
        let end = statement.offset + sql.len();
        StatementText { start: statement.offset, end, complete: statement.complete }
    });
    parts.collect()
}

/// Standard output with a larger buffer, to save system calls.
fn stdout() -> BufWriter<StdoutLock<'static>> {
    BufWriter::with_capacity(64 << 10, std::io::stdout().lock())
}
