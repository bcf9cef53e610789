//! What is shown of a statement's text: its beginning, and no passwords.

use crate::access::{HIDDEN, redacted};

/// Of a longer text the beginning says which statement it is.
const SHOWN_CHARS_MAX: usize = 2_000;

/// Passwords are looked for when somebody wants to see the text: most are never looked at, and finding that there is none
/// takes a part of the time of a small insert.
#[derive(Debug)]
pub struct Text {
    beginning: String,
    is_cut: bool,
}

impl Text {
    pub fn of(sql: &str) -> Text {
        // Few are long, and the number of bytes says which are not.
        let end = match sql.len() {
            ..=SHOWN_CHARS_MAX => sql.len(),
            _ => sql.char_indices().nth(SHOWN_CHARS_MAX).map_or(sql.len(), |(end, _)| end),
        };
        Text { beginning: sql[..end].to_string(), is_cut: end < sql.len() }
    }

    /// Cut, and without passwords.
    pub fn shown(&self) -> String {
        let mut shown = redacted(&self.beginning).into_owned();
        if self.is_cut {
            shown.push('…');
        }
        shown
    }
}

/// Of a text as it is shown.
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
        assert_eq!(Text::of("SELECT 'ü'").shown(), "SELECT 'ü'");
    }
}
