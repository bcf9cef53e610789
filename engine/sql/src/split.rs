//! A script as its statements.

use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

use super::locate::PositionFinder;
use crate::QuiverDialect;

/// One statement of a script, without its semicolon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatementText<'a> {
    pub text: &'a str,
    /// Of `text` in the script, in bytes.
    pub offset: usize,
    /// It ended with a semicolon.
    pub complete: bool,
}

/// Quotes, comments and dollar quotes are respected. What cannot be split, because a quote is
/// never closed, is one incomplete statement. A piece with comments alone is none.
pub fn split_statements(sql: &str) -> Vec<StatementText<'_>> {
    let dialect = QuiverDialect;
    let mut tokens = Vec::new();
    // An error leaves the tokens before it.
    let failed = Tokenizer::new(&dialect, sql).tokenize_with_location_into_buf(&mut tokens).is_err();
    let mut statements = Vec::new();
    let (mut start, mut empty) = (0, true);
    let mut push = |start: usize, end: usize, complete: bool| {
        let text = &sql[start..end];
        let leading = text.len() - text.trim_start().len();
        statements.push(StatementText { text: text.trim(), offset: start + leading, complete });
    };
    let mut places = PositionFinder::of(sql);
    for token in &tokens {
        match &token.token {
            Token::SemiColon => {
                let end = places.offset(token.span.start.line, token.span.start.column);
                // Of what stands in a comment for MySQL alone, the tokenizer says places that are not its own.
                if end < start || !sql.get(end..).is_some_and(|rest| rest.starts_with(';')) {
                    continue;
                }
                if !empty {
                    push(start, end, true);
                }
                (start, empty) = (end + 1, true);
            }
            Token::Whitespace(_) | Token::EOF => {}
            _ => empty = false,
        }
    }
    if !empty || (failed && !sql[start..].trim().is_empty()) {
        push(start, sql.len(), false);
    }
    statements
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(sql: &str) -> Vec<&str> {
        split_statements(sql).into_iter().map(|statement| statement.text).collect()
    }

    #[test]
    fn semicolons_in_quotes_and_comments_do_not_split() {
        assert_eq!(
            texts("select ';' ; select \"a;b\" -- ; no\n; /* ; */ select 1"),
            ["select ';'", "select \"a;b\" -- ; no", "/* ; */ select 1",]
        );
    }

    #[test]
    fn an_unclosed_quote_is_one_incomplete_statement() {
        let statements = split_statements("select 1; select 'abc; select 2");
        assert_eq!(statements.len(), 2);
        assert!(statements[0].complete);
        assert_eq!((statements[1].text, statements[1].complete), ("select 'abc; select 2", false));
    }

    #[test]
    fn offsets_count_bytes() {
        let sql = "select 'é';\n  select 2;";
        let statements = split_statements(sql);
        assert_eq!(&sql[statements[1].offset..][..8], "select 2");
    }

    /// Each from the beginning of its line took minutes.
    #[test]
    fn many_statements_of_one_line_are_split() {
        assert_eq!(texts(&"select 1; ".repeat(50_000)).len(), 50_000);
    }

    /// Places in such a comment are counted from where it begins: this cut a letter in two.
    #[test]
    fn semicolons_in_comments_for_mysql_do_not_split() {
        assert_eq!(texts("/*!ééé;*/ select 1"), ["/*!ééé;*/ select 1"]);
        assert_eq!(texts("select 1 /*!a;b*/; select 2"), ["select 1 /*!a;b*/", "select 2"]);
    }

    #[test]
    fn comments_alone_are_no_statement() {
        assert!(texts(" -- nothing\n ; /* here */ ;").is_empty());
    }
}
