//! Splits SQL into tokens, for highlighting while it is typed and to find the commands in it. It never fails: half a statement is
//! the normal case here. The engine decides what a statement means and where it ends.
//! Pure: tested in `tests/suite`.

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Word,
    QuotedName,
    Number,
    Text,
    Comment,
    Symbol,
    /// A `\` command, until the end of its line.
    Command,
    Blank,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    pub kind: Kind,
    pub start: usize,
    pub end: usize,
    /// False for a quote or comment that is not closed at the end of the text.
    pub closed: bool,
}

/// The tokens of `sql`, which cover the whole text.
pub fn tokens(sql: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut start = 0;
    while start < sql.len() {
        let (kind, length, closed) = next(&sql[start..]);
        let end = start + length;
        tokens.push(Token { kind, start, end, closed });
        start = end;
    }
    tokens
}

/// Kind, length in bytes and closedness of the token at the start of `rest`, which is not empty.
fn next(rest: &str) -> (Kind, usize, bool) {
    let Some(first) = rest.chars().next() else {
        return (Kind::Blank, 0, true);
    };
    match first {
        c if c.is_whitespace() => (Kind::Blank, run(rest, char::is_whitespace), true),
        '-' if rest.starts_with("--") => {
            let length = rest.find('\n').map_or(rest.len(), |at| at + 1);
            (Kind::Comment, length, true)
        }
        '/' if rest.starts_with("/*") => block_comment(rest),
        '\'' => quoted(rest, '\'', Kind::Text),
        '"' => quoted(rest, '"', Kind::QuotedName),
        '`' => quoted(rest, '`', Kind::QuotedName),
        'e' | 'E' if rest[1..].starts_with('\'') => escaped_text(rest),
        '\\' => (Kind::Command, run(rest, |c| c != '\n'), true),
        '$' => dollar_quoted(rest).unwrap_or((Kind::Symbol, 1, true)),
        c if c.is_ascii_digit() => (Kind::Number, number(rest), true),
        c if is_word(c) => (Kind::Word, run(rest, is_word), true),
        c => (Kind::Symbol, c.len_utf8(), true),
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn run(rest: &str, belongs: impl Fn(char) -> bool) -> usize {
    rest.find(|c| !belongs(c)).unwrap_or(rest.len())
}

/// `1`, `1.5`, `1e-3`, `0xff`
fn number(rest: &str) -> usize {
    let mut end = run(rest, |c| c.is_ascii_alphanumeric() || c == '.' || c == '_');
    let signed_exponent = rest[..end].ends_with(['e', 'E']) && rest[end..].starts_with(['-', '+']);
    if signed_exponent && !rest.starts_with("0x") {
        end += 1 + run(&rest[end + 1..], |c| c.is_ascii_digit());
    }
    end
}

/// A doubled quote stands for itself.
fn quoted(rest: &str, quote: char, kind: Kind) -> (Kind, usize, bool) {
    let mut at = 1;
    while let Some(offset) = rest[at..].find(quote) {
        at += offset + 1;
        if !rest[at..].starts_with(quote) {
            return (kind, at, true);
        }
        at += 1;
    }
    (kind, rest.len(), false)
}

/// `E'…'`, where a backslash makes the next character part of the text.
fn escaped_text(rest: &str) -> (Kind, usize, bool) {
    let mut at = 2;
    while let Some(offset) = rest[at..].find(['\'', '\\']) {
        at += offset + 1;
        if rest[..at].ends_with('\\') {
            at += rest[at..].chars().next().map_or(0, char::len_utf8);
        } else if rest[at..].starts_with('\'') {
            at += 1;
        } else {
            return (Kind::Text, at, true);
        }
    }
    (Kind::Text, rest.len(), false)
}

/// Block comments nest, as in the SQL standard.
fn block_comment(rest: &str) -> (Kind, usize, bool) {
    let (mut at, mut depth) = (2, 1);
    while depth > 0 {
        let Some(offset) = rest[at..].find(['*', '/']) else {
            return (Kind::Comment, rest.len(), false);
        };
        at += offset;
        if rest[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
        } else if rest[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else {
            at += 1;
        }
    }
    (Kind::Comment, at, true)
}

/// `$$ … $$` or `$tag$ … $tag$`; `$1` is a parameter and not a quote.
fn dollar_quoted(rest: &str) -> Option<(Kind, usize, bool)> {
    let tag_end = 1 + run(&rest[1..], is_word);
    let starts_with_digit = rest[1..].starts_with(|c: char| c.is_ascii_digit());
    if starts_with_digit || !rest[tag_end..].starts_with('$') {
        return None;
    }
    let tag = &rest[..=tag_end];
    let closing = rest[tag.len()..].find(tag);
    let length = closing.map_or(rest.len(), |at| tag.len() + at + tag.len());
    Some((Kind::Text, length, closing.is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(sql: &str) -> Vec<(Kind, &str)> {
        let tokens = tokens(sql);
        let solid = tokens.iter().filter(|token| token.kind != Kind::Blank);
        solid.map(|token| (token.kind, &sql[token.start..token.end])).collect()
    }

    #[test]
    fn a_statement_is_split_into_words_numbers_and_texts() {
        assert_eq!(
            kinds("SELECT \"a b\", 1.5e-3 -- x\nFROM t WHERE s='it''s'"),
            [
                (Kind::Word, "SELECT"),
                (Kind::QuotedName, "\"a b\""),
                (Kind::Symbol, ","),
                (Kind::Number, "1.5e-3"),
                (Kind::Comment, "-- x\n"),
                (Kind::Word, "FROM"),
                (Kind::Word, "t"),
                (Kind::Word, "WHERE"),
                (Kind::Word, "s"),
                (Kind::Symbol, "="),
                (Kind::Text, "'it''s'"),
            ]
        );
    }

    #[test]
    fn tokens_cover_every_byte_of_any_text() {
        for sql in ["", "'", "\"ä", "/* /* */", "$a$ x", "$1 $", "é€\u{0}", "1e+", "--", "/*/", "\\x\n", "E'\\ä", "e'\\"] {
            let tokens = tokens(sql);
            let mut at = 0;
            for token in &tokens {
                assert_eq!(token.start, at, "{sql}");
                assert!(token.end > token.start, "{sql}");
                at = token.end;
            }
            assert_eq!(at, sql.len(), "{sql}");
        }
    }

    #[test]
    fn a_command_reaches_to_the_end_of_its_line() {
        assert_eq!(kinds("select 1 \\echo it's\n;")[2..], [(Kind::Command, "\\echo it's"), (Kind::Symbol, ";")]);
        for quoted in ["'\\x'", "\"\\x\"", "-- \\x", "/* \\x */", "$$ \\x $$", "E'it\\'s \\x'"] {
            assert!(tokens(quoted).iter().all(|token| token.kind != Kind::Command), "{quoted}");
        }
    }

    #[test]
    fn an_unclosed_quote_or_comment_is_recognized() {
        for open in ["'a", "E'a\\'", "\"a", "/* /* x */", "$$ a", "$t$ $$", "'a''"] {
            assert!(!tokens(open).last().unwrap().closed, "{open}");
        }
        for closed in ["'a'", "/* /* x */ */", "$t$ $$ $t$", "-- x"] {
            assert!(tokens(closed).last().unwrap().closed, "{closed}");
        }
    }
}
