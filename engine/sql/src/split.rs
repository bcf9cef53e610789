//! Splits a script into its statements.

use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

use super::locate::PositionFinder;
use super::significant_tokens::is_word;
use crate::QuiverDialect;

/// One statement of a script, without its semicolon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatementText<'a> {
    pub text: &'a str,
    /// The byte offset of `text` in the script.
    pub offset: usize,
    /// Whether it ended with a semicolon.
    pub complete: bool,
}

/// Respects quotes, comments and dollar quotes, and the statements of a procedure between BEGIN and END. Text with an unclosed quote is one
/// incomplete statement. Pieces with comments alone are dropped.
pub fn split_statements(sql: &str) -> Vec<StatementText<'_>> {
    let dialect = QuiverDialect;
    let mut tokens = Vec::new();
    // After an error the tokens before it remain.
    let failed = Tokenizer::new(&dialect, sql).tokenize_with_location_into_buf(&mut tokens).is_err();
    let mut statements = Vec::new();
    let (mut start, mut empty) = (0, true);
    let mut block = Block::default();
    let mut push = |start: usize, end: usize, complete: bool| {
        let text = &sql[start..end];
        let leading = text.len() - text.trim_start().len();
        statements.push(StatementText { text: text.trim(), offset: start + leading, complete });
    };
    let mut places = PositionFinder::of(sql);
    for token in &tokens {
        match &token.token {
            Token::SemiColon if block.is_open => block.next_statement(),
            Token::SemiColon => {
                block = Block::default();
                let end = places.offset(token.span.start.line, token.span.start.column);
                // The tokenizer gives wrong positions inside of comments for MySQL.
                if end < start || !sql.get(end..).is_some_and(|rest| rest.starts_with(';')) {
                    continue;
                }
                if !empty {
                    push(start, end, true);
                }
                (start, empty) = (end + 1, true);
            }
            Token::Whitespace(_) | Token::EOF => {}
            other => {
                empty = false;
                block.take(other);
            }
        }
    }
    if !empty || (failed && !sql[start..].trim().is_empty()) {
        push(start, sql.len(), false);
    }
    statements
}

/// Whether the statements of a procedure are being read: from BEGIN of a `CREATE [OR REPLACE] PROCEDURE` to an END behind a semicolon.
#[derive(Default)]
struct Block {
    words: usize,
    is_create: bool,
    is_procedure: bool,
    is_open: bool,
    /// Whether a statement of the procedure begins here.
    at_start: bool,
    is_behind_period: bool,
}

impl Block {
    /// A semicolon in it.
    fn next_statement(&mut self) {
        self.at_start = true;
    }

    fn take(&mut self, token: &Token) {
        self.words += 1;
        match self.words {
            1 => self.is_create = is_word(token, "CREATE"),
            2 | 4 if self.is_create && is_word(token, "PROCEDURE") => self.is_procedure = true,
            _ if !self.is_procedure || self.is_behind_period => {}
            _ if is_word(token, "BEGIN") && !self.is_open => (self.is_open, self.at_start) = (true, true),
            _ if self.is_open && self.at_start && is_word(token, "END") => (self.is_open, self.is_procedure) = (false, false),
            _ => self.at_start = false,
        }
        self.is_behind_period = *token == Token::Period;
    }
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
    fn the_statements_of_a_procedure_are_one_statement() {
        let procedure = "create or replace procedure p(a int) begin insert into t select case when a > 0 then a end; delete from t; end";
        assert_eq!(texts(&format!("select 1; {procedure}; select 2")), ["select 1", procedure, "select 2"]);
        assert_eq!(texts("begin; create procedure p() begin select 1;"), ["begin", "create procedure p() begin select 1;"]);
        assert_eq!(texts("drop procedure p; begin; select 1; end; select 2").len(), 5);
        assert_eq!(texts("select v.procedure, v.begin from v; select 2").len(), 2);
        let with_end = "create procedure q(end bigint) begin select t.end, t.case from t end; delete from u where a < end; end";
        assert_eq!(texts(&format!("{with_end}; select 2")), [with_end, "select 2"]);
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

    /// Searching each from the beginning of its line took minutes.
    #[test]
    fn many_statements_of_one_line_are_split() {
        assert_eq!(texts(&"select 1; ".repeat(50_000)).len(), 50_000);
    }

    /// The tokenizer counts positions in such a comment from its beginning; this cut a character in two.
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
