//! The shown part of a statement's text: its beginning, without passwords.

use std::fmt;

use sql::redact::{HIDDEN, redact_statement};

/// Only this much of a text is kept.
const KEPT_BYTES_MAX: usize = 10_000;
/// This much of a longer text is enough to recognise the statement.
const SHOWN_CHARS_MAX: usize = 2_000;

/// Passwords are redacted only when the text is shown. Most texts are never shown, and finding that there is no password
/// takes a part of the time of a small insert.
pub struct Text {
    beginning: String,
    is_cut: bool,
}

impl Text {
    pub fn of(sql: &str) -> Text {
        let beginning = &sql[..sql.floor_char_boundary(KEPT_BYTES_MAX)];
        Text { beginning: beginning.to_string(), is_cut: beginning.len() < sql.len() }
    }

    /// Truncated, and without passwords.
    pub fn shown(&self) -> String {
        // Few texts are long, and the number of bytes rules most of them out.
        let end = match self.beginning.len() {
            ..=SHOWN_CHARS_MAX => None,
            _ => self.beginning.char_indices().nth(SHOWN_CHARS_MAX),
        };
        self.redacted_until(end.map_or(self.beginning.len(), |(end, _)| end))
    }

    /// The kept part, unredacted: only for positions in it, never to be shown.
    pub fn beginning(&self) -> &str {
        &self.beginning
    }

    /// The kept part, without passwords.
    pub fn stored_text(&self) -> String {
        self.redacted_until(self.beginning.len())
    }

    /// A truncated text says so at its end.
    fn redacted_until(&self, end: usize) -> String {
        let mut shown = redact_statement(&self.beginning[..end]).into_owned();
        if self.is_cut || end < self.beginning.len() {
            shown.push('…');
        }
        shown
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown())
    }
}

/// Printing a struct around it must not put a password into the log.
impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Whether the shown text contains a redaction.
pub fn hides_something(shown: &str) -> bool {
    shown.contains(HIDDEN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_and_a_cut_password_is_not_shown() {
        let shown = Text::of(&format!("SELECT '{}'", "ü".repeat(10_000))).shown();
        assert_eq!(shown.chars().count(), SHOWN_CHARS_MAX + 1);
        assert!(shown.ends_with('…'));
        let long = Text::of(&format!("ALTER USER ann PASSWORD '{}'", "x".repeat(10_000))).shown();
        assert_eq!(long, "ALTER USER ann PASSWORD ***…");
        assert!(hides_something(&long));
        let long = Text::of(&format!("ALTER USER ann PASSWORD '{}'", "x".repeat(20_000)));
        assert_eq!(
            (long.stored_text().as_str(), format!("{long:?}").as_str()),
            ("ALTER USER ann PASSWORD ***…", "ALTER USER ann PASSWORD ***…")
        );
        assert_eq!(Text::of("SELECT 'ü'").shown(), "SELECT 'ü'");
    }

    #[test]
    fn more_is_kept_than_is_shown_and_what_is_cut_says_so() {
        let whole = format!("SELECT '{}'", "x".repeat(KEPT_BYTES_MAX - 9));
        assert_eq!(Text::of(&whole).stored_text(), whole);
        let longer = Text::of(&format!("{whole};")).stored_text();
        assert_eq!(longer, format!("{whole}…"));
        // A character is never split.
        let text = Text::of(&format!("x{}", "ü".repeat(KEPT_BYTES_MAX))).stored_text();
        assert_eq!(text, format!("x{}…", "ü".repeat(KEPT_BYTES_MAX / 2 - 1)));
    }
}
