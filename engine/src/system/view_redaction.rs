//! Redacts texts of views that name tables the user has no right to know.

use std::collections::HashSet;

use datafusion::common::TableReference;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

use sql::QuiverDialect;

/// Whether one of these names occurs anywhere in the text, even as a column name or in a string, because table functions take names as
/// strings. Hiding a view without need does less harm than revealing a name.
pub fn mentions_hidden_name(sql: &str, unseen: &HashSet<&str>) -> bool {
    if unseen.is_empty() {
        return false;
    }
    let Ok(tokens) = Tokenizer::new(&QuiverDialect, sql).tokenize() else { return true };
    let is_unseen = |text: &str| {
        unseen.contains(text) || unseen.contains(text.to_lowercase().as_str()) || unseen.contains(TableReference::parse_str(text).table())
    };
    tokens.iter().filter_map(text_of).any(is_unseen)
}

/// A word or a string, whatever its quotes.
fn text_of(token: &Token) -> Option<&str> {
    use Token::*;
    match token {
        Word(word) => Some(&word.value),
        DollarQuotedString(text) => Some(&text.value),
        QuoteDelimitedStringLiteral(text) | NationalQuoteDelimitedStringLiteral(text) => Some(&text.value),
        SingleQuotedString(text)
        | DoubleQuotedString(text)
        | TripleSingleQuotedString(text)
        | TripleDoubleQuotedString(text)
        | SingleQuotedByteStringLiteral(text)
        | DoubleQuotedByteStringLiteral(text)
        | NationalStringLiteral(text)
        | EscapedStringLiteral(text)
        | UnicodeStringLiteral(text)
        | SingleQuotedRawStringLiteral(text)
        | DoubleQuotedRawStringLiteral(text) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_however_it_is_written() {
        let unseen = HashSet::from(["secret", "Odd Name"]);
        for sql in [
            "SELECT * FROM sales.secret",
            "SELECT * FROM SECRET",
            "TABLE \"Odd Name\"",
            "SELECT * FROM kmeans('hr.secret', 'x')",
            "SELECT 'x",
        ] {
            assert!(mentions_hidden_name(sql, &unseen), "{sql}");
        }
        for text in [
            "$$hr.secret$$",
            "$x$hr.secret$x$",
            "E'hr.secret'",
            "E'hr.se\\x63ret'",
            "N'secret'",
            "U&'hr.secret'",
            "\"hr.secret\"",
            "'HR.SECRET'",
        ] {
            assert!(mentions_hidden_name(&format!("SELECT * FROM kmeans({text}, 'x')"), &unseen), "{text}");
        }
        for sql in ["SELECT * FROM secrets", "SELECT 'the secret'", "SELECT $$the secret$$", ""] {
            assert!(!mentions_hidden_name(sql, &unseen), "{sql}");
        }
        assert!(!mentions_hidden_name("SELECT 'x", &HashSet::new()));
    }
}
