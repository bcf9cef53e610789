//! The prompt.

use std::borrow::Cow;

use reedline::{Color, Prompt, PromptEditMode, PromptHistorySearch, PromptHistorySearchStatus};

pub struct QuiverPrompt;

impl Prompt for QuiverPrompt {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        "quiver".into()
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        "".into()
    }

    fn render_prompt_indicator(&self, _mode: PromptEditMode) -> Cow<'_, str> {
        "> ".into()
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        "   ...> ".into()
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        let state = match search.status {
            PromptHistorySearchStatus::Passing => "history",
            PromptHistorySearchStatus::Failing => "not in history",
        };
        format!(" ({state}: {}) ", search.term).into()
    }

    fn get_prompt_color(&self) -> Color {
        Color::Green
    }

    fn get_prompt_multiline_color(&self) -> nu_ansi_term::Color {
        nu_ansi_term::Color::Green
    }

    fn get_indicator_color(&self) -> Color {
        Color::Green
    }
}
