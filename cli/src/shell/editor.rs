//! The line editor, put together.

use nu_ansi_term::{Color, Style};
use reedline::{
    ColumnarMenu, DefaultHinter, EditCommand, Emacs, FileBackedHistory, KeyCode, KeyModifiers, MenuBuilder, Reedline, ReedlineEvent,
    ReedlineMenu, default_emacs_keybindings,
};

use super::completer::SqlCompleter;
use super::highlighter::SqlHighlighter;
use super::validator::StatementValidator;
use crate::console::Console;
use crate::errors::{Result, uses_colors, warn};
use crate::history;

const HISTORY_ENTRIES_MAX: usize = 10_000;
const MENU: &str = "completion";

pub fn new(console: &Console) -> Result<Reedline> {
    let menu = ColumnarMenu::default().with_name(MENU).with_word_chars("_.\"").with_marker("> ");
    let hinter = DefaultHinter::default().with_style(Style::new().fg(Color::DarkGray));
    let editor = Reedline::create()
        .with_completer(Box::new(SqlCompleter::new(console.session(), console.runtime())))
        .with_menu(ReedlineMenu::EngineCompleter(Box::new(menu)))
        .with_partial_completions(true)
        .with_highlighter(Box::new(SqlHighlighter))
        .with_hinter(Box::new(hinter))
        .with_validator(Box::new(StatementValidator))
        .with_edit_mode(Box::new(keys()))
        .with_ansi_colors(uses_colors(&std::io::stdout()))
        .use_bracketed_paste(true)
        .with_break_signal(console.interrupts.editor_break())
        .with_buffer_editor(crate::console::editor(), history::scratch_file())
        // As in bash, a line that starts with a blank is not added to the history.
        .with_history_exclusion_prefix(Some(" ".to_string()));
    Ok(match history() {
        Some(history) => editor.with_history(Box::new(history)),
        None => editor,
    })
}

/// The shell works even if it cannot save the history.
fn history() -> Option<FileBackedHistory> {
    let path = history::path()?;
    match FileBackedHistory::with_file(HISTORY_ENTRIES_MAX, path.clone()) {
        Ok(history) => Some(history),
        Err(error) => {
            warn(format!("no history is kept: {}: {error}", path.display()));
            None
        }
    }
}

fn keys() -> Emacs {
    let mut keys = default_emacs_keybindings();
    let complete = ReedlineEvent::UntilFound(vec![ReedlineEvent::Menu(MENU.to_string()), ReedlineEvent::MenuNext]);
    keys.add_binding(KeyModifiers::NONE, KeyCode::Tab, complete);
    keys.add_binding(KeyModifiers::SHIFT, KeyCode::BackTab, ReedlineEvent::MenuPrevious);
    let new_line = ReedlineEvent::Edit(vec![EditCommand::InsertNewline]);
    keys.add_binding(KeyModifiers::ALT, KeyCode::Enter, new_line);
    Emacs::new(keys)
}
