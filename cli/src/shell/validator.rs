//! Decides whether Enter runs the text or starts another line.

use engine::Session;
use reedline::{ValidationResult, Validator};

use crate::lexer;

pub struct StatementValidator;

impl Validator for StatementValidator {
    fn validate(&self, text: &str) -> ValidationResult {
        if is_finished(text) { ValidationResult::Complete } else { ValidationResult::Incomplete }
    }
}

fn is_finished(text: &str) -> bool {
    let trimmed = text.trim();
    if trimmed.starts_with('\\') || super::plain_word_command(trimmed).is_some() {
        return true;
    }
    if lexer::is_blank(text) {
        return true;
    }
    let open_at_end = lexer::tokens(text).last().is_some_and(|token| !token.closed);
    let parts = Session::split_statements(text);
    !open_at_end && parts.last().is_some_and(|part| part.complete)
}
