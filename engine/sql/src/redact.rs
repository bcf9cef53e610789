//! Redacts passwords in the texts of statements before others see them.

use std::borrow::Cow;

use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

use crate::QuiverDialect;
use crate::significant_tokens::is_word;

/// Replaces a password.
pub const HIDDEN: &str = "***";

/// No statement about users is longer than this.
const TEXT_BYTES_MAX: usize = 1 << 20;

/// The statement as it may appear in logs, the audit and system tables.
pub fn redact_statement(sql: &str) -> Cow<'_, str> {
    // Most statements contain none of these words.
    if !mentions(sql, &["password", "user", "role", "identified"]) {
        return Cow::Borrowed(sql);
    }
    // Tokens take many times the memory of their text.
    if sql.len() > TEXT_BYTES_MAX {
        return Cow::Owned(beginning(sql));
    }
    let Ok(tokens) = Tokenizer::new(&QuiverDialect, sql).tokenize() else { return Cow::Owned(beginning(sql)) };
    let words: Vec<usize> = (0..tokens.len()).filter(|at| !matches!(tokens[*at], Token::Whitespace(_))).collect();
    let mut hidden = vec![false; tokens.len()];
    hide_literals(&tokens, &words, &mut hidden);
    if let Some(pair) = words.windows(2).find(|pair| makes_user(&tokens[pair[0]], &tokens[pair[1]])) {
        hide_all_but_words(&tokens[pair[0]..], &mut hidden[pair[0]..]);
    }
    if !hidden.contains(&true) {
        return Cow::Borrowed(sql);
    }
    let shown = tokens.iter().zip(hidden).map(|(token, is_hidden)| if is_hidden { HIDDEN.to_string() } else { token.to_string() });
    Cow::Owned(shown.collect())
}

/// Whether the statement may contain a password. `words` are its tokens without whitespace.
pub fn is_about_passwords<'a>(words: impl Iterator<Item = &'a Token>) -> bool {
    let words: Vec<&Token> = words.collect();
    words.windows(2).any(|pair| makes_user(pair[0], pair[1]))
}

/// Whether the text contains one of the words, which are in lower case.
fn mentions(sql: &str, words: &[&str]) -> bool {
    let begins = |rest: &[u8], word: &str| rest.get(..word.len()).is_some_and(|part| part.eq_ignore_ascii_case(word.as_bytes()));
    let bytes = sql.as_bytes();
    let is_here = |at: usize| words.iter().any(|word| begins(&bytes[at..], word));
    // Few letters begin one of the words, so most positions are skipped quickly.
    let is_first = |byte: u8| words.iter().any(|word| word.as_bytes().first() == Some(&byte.to_ascii_lowercase()));
    (0..bytes.len()).any(|at| is_first(bytes[at]) && is_here(at))
}

/// Redacts literals after the word PASSWORD in any statement and with any quotes: a mistyped statement still contains a password.
fn hide_literals(tokens: &[Token], words: &[usize], hidden: &mut [bool]) {
    let is_one = |at: &usize, keywords: &[&str]| keywords.iter().any(|keyword| is_word(&tokens[*at], keyword));
    for at in 0..words.len() {
        if !is_one(&words[at], &["PASSWORD", "IDENTIFIED"]) {
            continue;
        }
        let mut rest = &words[at + 1..];
        loop {
            rest = match rest {
                // SET PASSWORD FOR bob = 'text'
                [first, _, others @ ..] if is_one(first, &["FOR"]) => others,
                [first, others @ ..] if is_one(first, &["BY", "TO", "AS", "IS"]) || is_between(&tokens[*first]) => others,
                [first, others @ ..] if is_literal(&tokens[*first]) => {
                    hidden[*first] = true;
                    others
                }
                _ => break,
            };
        }
    }
}

/// Tokens that may come between the word and its literal.
fn is_between(token: &Token) -> bool {
    matches!(token, Token::Eq | Token::DoubleEq | Token::Assignment | Token::Colon | Token::RArrow | Token::Arrow | Token::LParen)
}

fn is_literal(token: &Token) -> bool {
    use Token::*;
    match token {
        Word(word) => word.quote_style.is_some(),
        Number(..)
        | SingleQuotedString(_)
        | DoubleQuotedString(_)
        | TripleSingleQuotedString(_)
        | TripleDoubleQuotedString(_)
        | DollarQuotedString(_)
        | SingleQuotedByteStringLiteral(_)
        | DoubleQuotedByteStringLiteral(_)
        | NationalStringLiteral(_)
        | EscapedStringLiteral(_)
        | UnicodeStringLiteral(_)
        | HexStringLiteral(_)
        | SingleQuotedRawStringLiteral(_)
        | DoubleQuotedRawStringLiteral(_)
        | QuoteDelimitedStringLiteral(_)
        | NationalQuoteDelimitedStringLiteral(_) => true,
        _ => false,
    }
}

fn makes_user(first: &Token, second: &Token) -> bool {
    (is_word(first, "CREATE") || is_word(first, "ALTER")) && (is_word(second, "USER") || is_word(second, "ROLE"))
}

/// For a statement about a user, shows only the words that cannot be a password, and the name before the word PASSWORD.
fn hide_all_but_words(tokens: &[Token], hidden: &mut [bool]) {
    const SHOWN: [&str; 14] =
        ["CREATE", "ALTER", "USER", "ROLE", "IF", "NOT", "EXISTS", "WITH", "ADMIN", "PASSWORD", "ENCRYPTED", "SET", "TO", "AS"];
    let mut has_name = false;
    for (token, hidden) in tokens.iter().zip(hidden) {
        let is_shown = matches!(token, Token::Whitespace(_) | Token::SemiColon | Token::Eq | Token::EOF)
            || SHOWN.iter().any(|word| is_word(token, word))
            // The first other word is the name.
            || (matches!(token, Token::Word(_)) && !std::mem::replace(&mut has_name, true));
        *hidden |= !is_shown;
        has_name |= is_word(token, "PASSWORD");
    }
}

/// For a text that cannot be tokenized, such as an unterminated string: shows the words before the first quote.
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
            "create usr bob password E'secret'",
            "creat user bob password $$secret$$",
            "create usr bob password $x$secret$x$",
            "create usr bob with password N'secret' admin",
            "create usr bob password U&'secret'",
            "create usr bob password \"secret\"",
            "create usr bob password 'not' 'secret'",
            "SET password = 'secret'",
            "set password='secret'",
            "SET PASSWORD FOR bob = 'secret'",
            "SET PASSWORD TO /* it is */ 'secret'",
            "SELECT * FROM users WHERE password = ('secret')",
            "create usr bob identified by 'secret'",
            "create usr bob password 'not'; alter user bob password 'secret'",
        ] {
            let shown = redact_statement(sql);
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
        assert_eq!(redact_statement("CREATE USER bob WITH PASSWORD 'secret' ADMIN"), "CREATE USER bob WITH PASSWORD *** ADMIN");
        for sql in
            ["SELECT 'password' FROM users", "SELECT password, 'x' FROM users WHERE a = 'y'", "INSERT INTO users (password) SELECT 'x'"]
        {
            assert_eq!(redact_statement(sql), sql);
        }
        assert_eq!(redact_statement("SET password = 'secret', 'x'"), "SET password = ***, 'x'");
    }
}
