//! Suggests a correction at a syntax error: the parser reads a misspelled WHERE as the alias of the table before it, and stops at the next
//! word.

use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

use super::locate::PositionFinder;
use super::significant_tokens::{is_word, significant};
use crate::QuiverDialect;
use common::error::foreign_names::instead_of_feature;
use common::error::nearest;

const WORDS: [&str; 30] = [
    "SELECT", "FROM", "WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "OFFSET", "JOIN", "LEFT", "INNER", "UNION", "DISTINCT", "BETWEEN",
    "DESC", "INSERT", "INTO", "VALUES", "UPDATE", "DELETE", "CREATE", "TABLE", "VIEW", "DROP", "ALTER", "WITH", "EXPLAIN", "BEGIN",
    "COMMIT", "ROLLBACK",
];

/// No statement of another system begins with longer words.
const STATEMENT_BYTES: usize = 32;

/// Longer statements are not typed by hand.
const HINT_BYTES_MAX: usize = 64 << 10;

/// A hint for a syntax error at `position`.
pub fn syntax_hint(sql: &str, message: &str, position: Option<usize>) -> Option<String> {
    if message.starts_with("unterminated string literal") {
        return Some("a quote within a text is written twice: 'it''s'".to_string());
    }
    if let Some(hint) = instead_of_feature(sql.trim_start().get(..STATEMENT_BYTES).unwrap_or(sql.trim_start()).to_uppercase().as_str()) {
        return Some(hint.to_string());
    }
    let position = position.filter(|_| sql.len() <= HINT_BYTES_MAX)?;
    let tokens = Tokenizer::new(&QuiverDialect, sql).tokenize_with_location().ok()?;
    let words: Vec<_> = significant(&tokens).map(|(_, token)| token).collect();
    let mut places = PositionFinder::of(sql);
    let at = words.iter().position(|token| places.offset(token.span.start.line, token.span.start.column) == position)?;
    let next = words.get(at + 1).map(|token| &token.token);
    for clause in ["GROUP", "ORDER"] {
        if is_word(&words[at].token, clause) && !next.is_some_and(|next| is_word(next, "BY")) {
            return Some(format!("write {clause} BY"));
        }
    }
    let before = at.checked_sub(1).map(|before| &words[before].token);
    let meant = [Some(&words[at].token), before].into_iter().flatten().find_map(closest_keyword)?;
    Some(format!("did you mean {meant}?"))
}

/// The keyword of SQL that a token resembles; `None` if it is a keyword itself.
fn closest_keyword(token: &Token) -> Option<&'static str> {
    let Token::Word(word) = token else { return None };
    if word.quote_style.is_some() || word.keyword != Keyword::NoKeyword {
        return None;
    }
    let swapped = || WORDS.into_iter().find(|known| known.len() > 3 && letters(known) == letters(&word.value));
    nearest(&word.value, WORDS.into_iter()).or_else(swapped)
}

fn letters(word: &str) -> Vec<u8> {
    let mut letters = word.to_ascii_uppercase().into_bytes();
    letters.sort_unstable();
    letters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_misspelt_word_is_the_one_at_the_place_or_the_one_before_it() {
        let hint = |sql: &str, place: &str| syntax_hint(sql, "expected: end of statement", sql.rfind(place));
        for (sql, place, expected) in [
            ("SELECT * FORM t", "FORM", Some("did you mean FROM?")),
            ("SELECT a FORM t", "t", Some("did you mean FROM?")),
            ("SELECT 'é' FROM t WHRE b = 1", "b =", Some("did you mean WHERE?")),
            ("SELCT 1", "SELCT", Some("did you mean SELECT?")),
            ("SELECT b FROM t GROUP b", "GROUP b", Some("write GROUP BY")),
            ("SELECT a b c FROM t", "c FROM", None),
            ("SELECT 1 \"FORM\" t", "t", None),
        ] {
            assert_eq!(hint(sql, place).as_deref(), expected, "{sql}");
        }
        let (long, longer) = (format!("SELECT {}a FORM t", "1, ".repeat(20_000)), format!("SELECT {}a FORM t", "1, ".repeat(300_000)));
        assert_eq!(hint(&long, "t").as_deref(), Some("did you mean FROM?"));
        assert_eq!(hint(&longer, "t"), None, "nobody typed it");
        let open = syntax_hint("SELECT 'it's'", "unterminated string literal", None);
        assert_eq!(open.as_deref(), Some("a quote within a text is written twice: 'it''s'"));
    }
}
