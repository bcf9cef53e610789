//! `\e`: the last statement in the user's editor.

use std::fs::{self, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::Command;

use super::{Console, Flow};
use crate::errors::{CliError, Result};
use crate::history;

impl Console {
    pub(super) fn edit_last(&mut self) -> Result<Flow> {
        // Without a terminal, an editor would wait for ever.
        if !io::stdin().is_terminal() || !self.settings.stdout_is_terminal {
            return Err(CliError::with_hint(
                "\\e opens an editor, and there is no terminal for it",
                "give the statement with -c, or a file with -f",
            ));
        }
        let path = history::scratch_file();
        let (text, _) = self.last().unwrap_or_default();
        let edited = edit(&path, &text);
        let _ = fs::remove_file(&path);
        let edited = edited.map_err(|error| CliError::file(path.display(), error))?;
        self.say(edited.trim_end())?;
        self.run_script(edited.as_bytes(), None)
    }
}

fn edit(path: &Path, text: &str) -> io::Result<String> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    // Never write through a file or link that another user has put there.
    let _ = fs::remove_file(path);
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    writeln!(file, "{text}{}", if text.is_empty() { "" } else { ";" })?;
    drop(file);
    let status = editor().arg(path).status()?;
    if !status.success() {
        return Err(io::Error::other(format!("the editor ended with {status}")));
    }
    fs::read_to_string(path)
}

/// `$EDITOR` may contain options, so a shell parses it.
pub fn editor() -> Command {
    let named = ["VISUAL", "EDITOR"].iter().find_map(|name| std::env::var(name).ok());
    let editor = named.filter(|editor| !editor.trim().is_empty()).unwrap_or_else(|| "vi".to_string());
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("{editor} \"$1\"")).arg("editor");
    command
}
