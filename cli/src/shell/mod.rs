//! The interactive shell: reads lines, passes them to the console, shows errors and goes on.

mod completer;
mod editor;
mod highlighter;
mod keywords;
mod prompt;
mod validator;

use reedline::Signal;

use crate::console::{Console, Flow};
use crate::errors::{CliError, Result, warn};
use crate::interrupt::StopRequest;
use prompt::QuiverPrompt;

/// Runs until the user leaves. It shows errors of statements and goes on.
pub fn run(console: &mut Console) -> Result<()> {
    if !console.settings.quiet {
        let banner = banner(console)?;
        console.say(&banner)?;
    }
    let mut editor = editor::new(console)?;
    loop {
        let signal = editor.read_line(&QuiverPrompt);
        if let Err(error) = editor.sync_history() {
            warn(format!("the history cannot be saved: {error}"));
        }
        let text = match signal {
            Ok(Signal::Success(text)) => text,
            Ok(Signal::CtrlC) => continue,
            Ok(Signal::CtrlD) => return Ok(()),
            Ok(_) => match console.interrupts.must_leave() {
                Some(stop) => return Err(CliError::Stopped(stop)),
                None => continue,
            },
            Err(error) => {
                return Err(CliError::message(format!("cannot read the terminal: {error}")));
            }
        };
        match run_line(console, &text) {
            Ok(Flow::Continue) => {}
            Ok(Flow::Leave) => return Ok(()),
            Err(error) if ends_shell(&error) => return Err(error),
            Err(error) => error.report(),
        }
    }
}

fn run_line(console: &mut Console, text: &str) -> Result<Flow> {
    match plain_word_command(text.trim()) {
        Some(command) => console.run_meta(command),
        None => console.run_script(text.as_bytes(), None),
    }
}

/// Words that newcomers type, and that are not SQL.
fn plain_word_command(text: &str) -> Option<&'static str> {
    match text.trim_end_matches(';').trim_end().to_ascii_lowercase().as_str() {
        "exit" | "quit" => Some("\\q"),
        "help" => Some("\\?"),
        _ => None,
    }
}

fn ends_shell(error: &CliError) -> bool {
    match error {
        CliError::OutputClosed => true,
        CliError::Stopped(stop) => *stop != StopRequest::Interrupt,
        CliError::Sql { .. } | CliError::Message { .. } | CliError::Usage { .. } => false,
    }
}

fn banner(console: &mut Console) -> Result<String> {
    let session = console.session();
    let title = console.ask(session.title())?;
    Ok(format!("quiver {}: {title}\nEnd statements with ; — \\? shows help, \\q leaves.", env!("CARGO_PKG_VERSION")))
}
