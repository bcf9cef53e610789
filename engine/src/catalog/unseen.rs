//! Texts of views, which name tables that who asks may not know of.

use std::collections::HashSet;

use datafusion::common::TableReference;
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

/// Whether one of these names is anywhere in the text: also as that of a column, or in a text, as table functions have them. A view
/// that is hidden for nothing is of less harm than a name that is told.
pub fn names_unseen(sql: &str, unseen: &HashSet<&str>) -> bool {
    if unseen.is_empty() {
        return false;
    }
    let Ok(tokens) = Tokenizer::new(&GenericDialect {}, sql).tokenize() else { return true };
    tokens.iter().any(|token| match token {
        Token::Word(word) => unseen.contains(word.value.as_str()) || unseen.contains(word.value.to_lowercase().as_str()),
        Token::SingleQuotedString(text) => unseen.contains(text.as_str()) || unseen.contains(TableReference::parse_str(text).table()),
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_however_it_is_written() {
        let unseen = HashSet::from(["secret", "Odd Name"]);
        for sql in ["SELECT * FROM sales.secret", "SELECT * FROM SECRET", "TABLE \"Odd Name\"", "SELECT * FROM kmeans('hr.secret', 'x')", "SELECT 'x"] {
            assert!(names_unseen(sql, &unseen), "{sql}");
        }
        for sql in ["SELECT * FROM secrets", "SELECT 'the secret'", ""] {
            assert!(!names_unseen(sql, &unseen), "{sql}");
        }
        assert!(!names_unseen("SELECT 'x", &HashSet::new()));
    }
}
