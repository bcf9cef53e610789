//! The interactive shell: reads lines, passes them to the console, shows errors and goes on.

mod completer;
mod editor;
mod highlighter;
mod paths;
mod prompt;
mod validator;

use reedline::{EditCommand, Reedline, Signal};

use crate::console::{self, Console, Flow};
use crate::errors::{CliError, Result, note, warn};
use crate::interrupt::StopRequest;
use crate::meta_command::Meta;
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
        match run_line(console, &mut editor, &text) {
            Ok(Flow::Continue) => {}
            Ok(Flow::Leave) => return Ok(()),
            Err(error) if ends_shell(&error) => return Err(error),
            Err(error) => error.report(),
        }
    }
}

fn run_line(console: &mut Console, editor: &mut Reedline, text: &str) -> Result<Flow> {
    if let Some(command) = plain_word_command(text.trim()) {
        return console.run_meta(command);
    }
    let mut script = console::interactive_script(text);
    let mut flow = console.run_items(&mut script, None);
    if let Err(error) = &flow
        && !ends_shell(error)
        && matches!(script.next_item(), Ok(Some(_)))
    {
        error.report();
        note("what follows it was not run");
        flow = Ok(Flow::Continue);
    }
    // After a command such as `\x`, the statement before it is typed on.
    if let Some((sql, _)) = script.take_unfinished() {
        editor.run_edit_commands(&[EditCommand::InsertString(format!("{sql}\n"))]);
    }
    flow
}

/// Words that newcomers type, and that are not SQL.
fn plain_word_command(text: &str) -> Option<Meta> {
    match text.trim_end_matches(';').trim_end().to_ascii_lowercase().as_str() {
        "exit" | "quit" => Some(Meta::Quit),
        "help" => Some(Meta::Help),
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
