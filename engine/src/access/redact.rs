//! The texts of statements for people other than who wrote them: without passwords.

use std::borrow::Cow;

use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

use crate::sql::is_word;

/// Stands where a password stood.
pub const HIDDEN: &str = "***";

/// The statement as logs, audit and system tables may show it.
pub fn redacted(sql: &str) -> Cow<'_, str> {
    // Most statements have none of these words anywhere.
    if !mentions(sql, &["password", "user", "role"]) {
        return Cow::Borrowed(sql);
    }
    let Ok(tokens) = Tokenizer::new(&GenericDialect {}, sql).tokenize() else { return Cow::Owned(beginning(sql)) };
    let tokens: Vec<Token> = tokens.into_iter().collect();
    let words: Vec<usize> = (0..tokens.len()).filter(|at| !matches!(tokens[*at], Token::Whitespace(_))).collect();
    match (0..words.len()).find(|at| begins(&tokens, &words[*at..])) {
        Some(start) => Cow::Owned(without_secrets(&tokens, words[start])),
        None => Cow::Borrowed(sql),
    }
}

/// Whether the statement is one that can have a password in it. `words` are its tokens without spaces.
pub fn is_about_passwords<'a>(words: impl Iterator<Item = &'a Token>) -> bool {
    let words: Vec<&Token> = words.collect();
    words.windows(2).any(|pair| makes_user(pair[0], pair[1]))
}

/// Whether one of the words, which are in lower case, is in the text.
fn mentions(sql: &str, words: &[&str]) -> bool {
    let begins = |rest: &[u8], word: &str| rest.get(..word.len()).is_some_and(|part| part.eq_ignore_ascii_case(word.as_bytes()));
    let bytes = sql.as_bytes();
    let is_here = |at: usize| words.iter().any(|word| begins(&bytes[at..], word));
    // Their first letters are few: most places are passed over at once.
    let is_first = |byte: u8| words.iter().any(|word| word.as_bytes().first() == Some(&byte.to_ascii_lowercase()));
    (0..bytes.len()).any(|at| is_first(bytes[at]) && is_here(at))
}

/// At words that a password may follow.
fn begins(tokens: &[Token], words: &[usize]) -> bool {
    let (Some(first), second) = (words.first().map(|at| &tokens[*at]), words.get(1).map(|at| &tokens[*at])) else { return false };
    second.is_some_and(|second| makes_user(first, second))
        || (is_word(first, "PASSWORD") && second.is_some_and(|second| matches!(second, Token::SingleQuotedString(_))))
}

fn makes_user(first: &Token, second: &Token) -> bool {
    (is_word(first, "CREATE") || is_word(first, "ALTER")) && (is_word(second, "USER") || is_word(second, "ROLE"))
}

/// From `start` on only words that no password is, and what stands before a word for one.
fn without_secrets(tokens: &[Token], start: usize) -> String {
    const SHOWN: [&str; 14] = [
        "CREATE", "ALTER", "USER", "ROLE", "IF", "NOT", "EXISTS", "WITH", "ADMIN", "PASSWORD", "ENCRYPTED", "SET", "TO", "AS",
    ];
    let mut text: String = tokens[..start].iter().map(ToString::to_string).collect();
    let mut has_name = false;
    for token in &tokens[start..] {
        let is_shown = matches!(token, Token::Whitespace(_) | Token::SemiColon | Token::Eq | Token::EOF)
            || SHOWN.iter().any(|word| is_word(token, word))
            // The first other word is the name.
            || (matches!(token, Token::Word(_)) && !std::mem::replace(&mut has_name, true));
        match is_shown {
            true => text.push_str(&token.to_string()),
            false => text.push_str(HIDDEN),
        }
        if is_word(token, "PASSWORD") {
            has_name = true;
        }
    }
    text
}

/// Of what cannot be taken apart, such as a text that does not end: the words before the first quote.
fn beginning(sql: &str) -> String {
    let end = sql.find(['\'', '"', '$', '`']).unwrap_or(sql.len());
    format!("{}{HIDDEN}", &sql[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_is_left_however_it_is_written() {
        for sql in [
            "CREATE USER bob PASSWORD 'secret'",
            "create user if not exists bob with password 'secret' admin;",
            "ALTER USER bob PASSWORD 'secret'",
            "ALTER USER bob PASSWORD secret",
            "ALTER USER bob PASSWRD 'secret'",
            "CREATE USER bob 'secret'",
            "CREATE USER bob PASSWORD \"secret\"",
            "CREATE USER bob PASSWORD 'secret",
            "CREATE /* a user */ USER bob PASSWORD E'secret'",
            "EXPLAIN CREATE USER bob PASSWORD 'secret'",
            "SELECT 1; ALTER USER bob PASSWORD 'secret'",
            "ALTER ROLE bob WITH ENCRYPTED PASSWORD 'secret'",
            "CREATE USER PASSWORD secret",
        ] {
            let shown = redacted(sql);
            assert!(!shown.contains("secret"), "{shown}");
            assert!(shown.contains("***"), "{shown}");
        }
    }

    #[test]
    fn words_are_found_anywhere_in_any_case() {
        for sql in ["user", "xUsEr", "a PASSWORD", "ROLEs", "ü role"] {
            assert!(mentions(sql, &["password", "user", "role"]), "{sql}");
        }
        for sql in ["", "use", "passwor d", "rol", "INSERT INTO t VALUES (1, 'purpose')"] {
            assert!(!mentions(sql, &["password", "user", "role"]), "{sql}");
        }
    }

    #[test]
    fn the_name_is_left() {
        assert_eq!(redacted("CREATE USER bob WITH PASSWORD 'secret' ADMIN"), "CREATE USER bob WITH PASSWORD *** ADMIN");
        assert_eq!(redacted("SELECT 'password' FROM users"), "SELECT 'password' FROM users");
    }
}
