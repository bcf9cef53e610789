//! Decides whether Enter runs the text or starts another line.

use reedline::{ValidationResult, Validator};

use crate::console;
use crate::script::Item;

pub struct StatementValidator;

impl Validator for StatementValidator {
    fn validate(&self, text: &str) -> ValidationResult {
        if is_finished(text) { ValidationResult::Complete } else { ValidationResult::Incomplete }
    }
}

fn is_finished(text: &str) -> bool {
    if super::plain_word_command(text.trim()).is_some() {
        return true;
    }
    let mut script = console::interactive_script(text);
    let mut last = None;
    while let Ok(Some(item)) = script.next_item() {
        last = Some(item);
    }
    let last_line = text.trim_end().lines().count();
    script.is_blank() || matches!(last, Some(Item::Meta { line, .. }) if line == last_line)
}
