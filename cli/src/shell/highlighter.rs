//! Colours for SQL as it is typed.

use engine::is_keyword;
use nu_ansi_term::{Color, Style};
use reedline::{Highlighter, StyledText};

use crate::lexer::{self, Kind};

pub struct SqlHighlighter;

impl Highlighter for SqlHighlighter {
    fn highlight(&self, line: &str, _cursor: usize) -> StyledText {
        let mut styled = StyledText::new();
        for token in lexer::tokens(line) {
            let text = &line[token.start..token.end];
            styled.push((style(token.kind, text), text.to_string()));
        }
        styled
    }
}

/// The sixteen colours of the terminal's own palette: readable on light and on dark.
fn style(kind: Kind, text: &str) -> Style {
    match kind {
        Kind::Word if is_keyword(text) => Color::Blue.bold(),
        Kind::Text => Color::Green.normal(),
        Kind::Number => Color::Cyan.normal(),
        Kind::Comment => Style::new().dimmed(),
        Kind::QuotedName => Color::Yellow.normal(),
        Kind::Command => Color::Purple.normal(),
        Kind::Word | Kind::Symbol | Kind::Blank => Style::new(),
    }
}
