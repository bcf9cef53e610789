//! The location of the shell's history.

use std::path::PathBuf;

/// `$XDG_STATE_HOME/quiver`, else `~/.local/state/quiver`. `None` without a home.
fn state_directory() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")));
    Some(state?.join("quiver"))
}

pub fn path() -> Option<PathBuf> {
    Some(state_directory()?.join("history"))
}

/// A file of this process, for text that goes through an editor.
pub fn scratch_file() -> PathBuf {
    let directory = state_directory().unwrap_or_else(std::env::temp_dir);
    directory.join(format!("edit-{}.sql", std::process::id()))
}

/// The whole history, oldest first. reedline writes line ends inside an entry as `<\n>`.
pub fn read() -> Option<String> {
    let text = std::fs::read_to_string(path()?).ok()?;
    Some(text.replace("<\\n>", "\n"))
}
