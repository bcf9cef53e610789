//! Parses the primary key from the definition of a stored table, which is the only source of the name of the key and
//! of the order of its columns.

/// The name and the columns of `CONSTRAINT name PRIMARY KEY (column, …)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrimaryKey {
    pub name: String,
    pub columns: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    /// An unquoted word: a keyword, a number, a name in lower case.
    Word(String),
    /// A quoted name.
    Name(String),
    /// A string literal, whose content does not matter.
    Text,
    Mark(char),
}

/// Reads a CREATE TABLE as `system.tables` shows it: every constraint is an item of its own, and has a name.
pub fn primary_key(definition: &str) -> Option<PrimaryKey> {
    let tokens = tokens(definition);
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Mark('(') => depth += 1,
            Token::Mark(')') => depth = depth.saturating_sub(1),
            _ => {}
        }
        // A new item begins after the parenthesis that opens the list, or after a comma in it.
        if depth == 1
            && matches!(token, Token::Mark('(' | ','))
            && let Some(key) = tokens.get(at + 1..).and_then(key_item)
        {
            return Some(key);
        }
    }
    None
}

fn key_item(tokens: &[Token]) -> Option<PrimaryKey> {
    let is_word = |at: usize, word: &str| matches!(tokens.get(at), Some(Token::Word(text)) if text == word);
    // A column of that name would be quoted.
    if !(is_word(0, "CONSTRAINT") && is_word(2, "PRIMARY") && is_word(3, "KEY") && tokens.get(4) == Some(&Token::Mark('('))) {
        return None;
    }
    let columns = tokens.get(5..)?.iter().take_while(|token| **token != Token::Mark(')')).filter_map(spelled);
    Some(PrimaryKey { name: spelled(tokens.get(1)?)?, columns: columns.collect() })
}

fn spelled(token: &Token) -> Option<String> {
    match token {
        Token::Word(name) | Token::Name(name) => Some(name.clone()),
        Token::Text | Token::Mark(_) => None,
    }
}

fn tokens(sql: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let (token, length) = match first {
            '"' => {
                let length = quoted_length(rest, '"', false);
                let inside = &rest[1..length];
                let inside = inside.strip_suffix('"').unwrap_or(inside);
                (Some(Token::Name(inside.replace("\"\"", "\""))), length)
            }
            '\'' => (Some(Token::Text), quoted_length(rest, '\'', false)),
            '$' if dollar_tag(rest).is_some() => (Some(Token::Text), dollar_length(rest)),
            '/' if rest.starts_with("/*") => (None, rest.find("*/").map_or(rest.len(), |end| end + 2)),
            _ if is_part(first) => word(rest),
            _ if first.is_whitespace() => (None, first.len_utf8()),
            _ => (Some(Token::Mark(first)), first.len_utf8()),
        };
        tokens.extend(token);
        rest = &rest[length..];
    }
    tokens
}

fn is_part(char: char) -> bool {
    char.is_alphanumeric() || matches!(char, '_' | '$' | '@' | '#')
}

/// A word, or the string literal after the letter that is its prefix.
fn word(text: &str) -> (Option<Token>, usize) {
    let length = text.find(|char| !is_part(char)).unwrap_or(text.len());
    let (word, rest) = text.split_at(length);
    if rest.starts_with('\'') {
        let has_escapes = word.eq_ignore_ascii_case("e");
        return (Some(Token::Text), length + quoted_length(rest, '\'', has_escapes));
    }
    (Some(Token::Word(word.to_string())), length)
}

/// The length of a quoted token with its quotes. A doubled quote stands for one inside.
fn quoted_length(text: &str, quote: char, has_escapes: bool) -> usize {
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, char)) = chars.next() {
        if has_escapes && char == '\\' {
            chars.next();
        } else if char == quote && chars.next_if(|(_, next)| *next == quote).is_none() {
            return at + char.len_utf8();
        }
    }
    text.len()
}

/// The `$tag$` at the beginning.
fn dollar_tag(text: &str) -> Option<&str> {
    let end = text[1..].find('$')? + 2;
    let tag = &text[..end];
    tag[1..end - 1].chars().all(|char| char.is_alphanumeric() || char == '_').then_some(tag)
}

fn dollar_length(text: &str) -> usize {
    let tag = dollar_tag(text).unwrap_or_default();
    text[tag.len()..].find(tag).map_or(text.len(), |end| end + 2 * tag.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(definition: &str) -> Option<(String, Vec<String>)> {
        primary_key(definition).map(|key| (key.name, key.columns))
    }

    #[test]
    fn a_key_has_its_name_and_columns_in_order() {
        let constraint = key("CREATE TABLE t (\n  a INTEGER NOT NULL,\n  b DECIMAL(9,2),\n  CONSTRAINT t_pkey PRIMARY KEY (b, a)\n)");
        assert_eq!(constraint, Some(("t_pkey".into(), vec!["b".into(), "a".into()])));
    }

    #[test]
    fn names_with_quotes_and_parentheses_are_read() {
        let sql = "CREATE TABLE \"CONSTRAINT (\" (\n  \"b)\" INTEGER,\n  \"\"\"\" INTEGER,\n  \
                   CONSTRAINT \"my \"\"key\" PRIMARY KEY (\"\"\"\", \"b)\")\n)";
        assert_eq!(key(sql), Some(("my \"key".into(), vec!["\"".into(), "b)".into()])));
    }

    #[test]
    fn keys_in_literals_and_comments_are_ignored() {
        let fakes = [
            "CHECK (t <> ', CONSTRAINT x PRIMARY KEY (c)')",
            "CHECK (t <> E'it\\'s (, CONSTRAINT x PRIMARY KEY (c)')",
            "CHECK (t <> $q$ it's ), CONSTRAINT x PRIMARY KEY (c) $q$)",
            "CHECK (a$b <> 1 AND c$d <> 2)",
            "CHECK (f(1, CONSTRAINT x PRIMARY KEY (c)))",
            "/* a constraint of \"t\"), CONSTRAINT x PRIMARY KEY (c) */",
        ];
        for fake in fakes {
            assert_eq!(key(&format!("CREATE TABLE t (\n  c VARCHAR,\n  {fake}\n)")), None, "{fake}");
            let with_key = format!("CREATE TABLE t (\n  c VARCHAR,\n  {fake},\n  CONSTRAINT k PRIMARY KEY (c)\n)");
            assert_eq!(key(&with_key), Some(("k".into(), vec!["c".into()])), "{fake}");
        }
    }

    #[test]
    fn an_unterminated_literal_ends_the_definition() {
        for sql in ["CREATE TABLE t (\"a", "CREATE TABLE t ('a", "(E'\\", "($$", "(/*", "$", "", "(, CONSTRAINT"] {
            assert_eq!(key(sql), None, "{sql}");
        }
    }
}
