//! Words that begin a clause in one context and are names in all others: `SELECT size, cluster, explain FROM …`. The parser decides by the
//! word alone in contexts where PostgreSQL and DuckDB consider the words around it.

use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use super::significant_tokens::{is_word, significant};

/// Marks those that are names as quoted. Their spelling stays the same.
pub fn quote_non_reserved_keywords(tokens: &mut [TokenWithSpan]) {
    if !tokens.iter().any(|token| clause_of(&token.token).is_some()) {
        return;
    }
    let words: Vec<usize> = significant(tokens).map(|(index, _)| index).collect();
    for at in 0..words.len() {
        let Some(clause) = clause_of(&tokens[words[at]].token) else { continue };
        let near = TokenContext { tokens: &*tokens, words: &words, at };
        if near.is_name(clause)
            && let Token::Word(word) = &mut tokens[words[at]].token
        {
            word.keyword = Keyword::NoKeyword;
        }
    }
}

/// What a word can begin. That determines its context.
#[derive(Clone, Copy)]
enum ClauseWord {
    /// `CLUSTER BY`
    By,
    /// A statement, or a part of one that follows no comma: `EXPLAIN`, `CREATE VIEW`, `* EXCLUDE`.
    Statement,
    /// `SELECT TOP 5`
    Top,
    /// `MINUS SELECT`, `VALUES (1)`
    Rows,
    /// `FROM t, LATERAL f(t.x)`
    Lateral,
    /// `CREATE TABLE t (…, KEY (a))`
    Index,
    /// `GROUP BY CUBE (a, b)`
    Grouping,
    /// `a OPERATOR(+) b`, `MATCH (a) AGAINST ('b')`
    Infix,
    /// `current_user` without parentheses.
    Value,
}

const SOFT_WORDS: [(&str, ClauseWord); 21] = [
    ("CLUSTER", ClauseWord::By),
    ("DISTRIBUTE", ClauseWord::By),
    ("SORT", ClauseWord::By),
    ("ANALYZE", ClauseWord::Statement),
    ("EXCLUDE", ClauseWord::Statement),
    ("EXPLAIN", ClauseWord::Statement),
    ("VIEW", ClauseWord::Statement),
    ("TOP", ClauseWord::Top),
    ("MINUS", ClauseWord::Rows),
    ("VALUES", ClauseWord::Rows),
    ("LATERAL", ClauseWord::Lateral),
    ("INDEX", ClauseWord::Index),
    ("KEY", ClauseWord::Index),
    ("FULLTEXT", ClauseWord::Index),
    ("SPATIAL", ClauseWord::Index),
    ("CUBE", ClauseWord::Grouping),
    ("ROLLUP", ClauseWord::Grouping),
    ("MATCH", ClauseWord::Infix),
    ("OPERATOR", ClauseWord::Infix),
    ("CURRENT_USER", ClauseWord::Value),
    ("SESSION_USER", ClauseWord::Value),
];

fn clause_of(token: &Token) -> Option<ClauseWord> {
    SOFT_WORDS.iter().find(|(word, _)| is_word(token, word)).map(|(_, clause)| *clause)
}

/// A word and the tokens around it, without whitespace and comments.
struct TokenContext<'a> {
    tokens: &'a [TokenWithSpan],
    words: &'a [usize],
    at: usize,
}

impl TokenContext<'_> {
    fn is_name(&self, clause: ClauseWord) -> bool {
        let (before, next) = (self.before(), self.behind(1));
        let follows_comma = before == Some(&Token::Comma);
        match clause {
            ClauseWord::By => follows_comma && !is_one(next, &["BY"]) || self.is_alias(),
            ClauseWord::Statement => follows_comma || self.is_alias(),
            ClauseWord::Top => {
                let counts = matches!(next, Some(Token::Number(..) | Token::LParen | Token::Placeholder(_)));
                follows_comma || is_one(before, &["SELECT", "DISTINCT", "ALL"]) && !counts || self.is_alias()
            }
            ClauseWord::Rows => {
                follows_comma && next != Some(&Token::LParen) && !is_one(next, &["SELECT", "VALUES", "WITH", "ALL", "DISTINCT"])
            }
            ClauseWord::Lateral => follows_comma && next != Some(&Token::LParen) && !self.calls_function(),
            ClauseWord::Index => {
                (follows_comma || before == Some(&Token::LParen)) && matches!(next, Some(Token::Word(_))) && !self.lists_columns()
            }
            ClauseWord::Grouping => next != Some(&Token::LParen) && !is_one(before, &["WITH"]),
            ClauseWord::Infix => self.is_alias(),
            // The name of an ordinary function.
            ClauseWord::Value => next == Some(&Token::LParen),
        }
    }

    /// `SELECT a view FROM t`: after an expression, and at the end of its item.
    fn is_alias(&self) -> bool {
        let ends_expression = match self.before() {
            Some(Token::Word(word)) => {
                let is_value = is_one(self.before(), &["END", "NULL", "TRUE", "FALSE"]);
                is_value || word.quote_style.is_some() || word.keyword == Keyword::NoKeyword
            }
            Some(token) => {
                matches!(token, Token::Number(..) | Token::SingleQuotedString(_) | Token::RParen | Token::RBracket | Token::Placeholder(_))
            }
            None => false,
        };
        let ends_item = match self.behind(1) {
            None | Some(Token::Comma | Token::RParen | Token::SemiColon) => true,
            next => is_one(next, &["FROM", "WHERE", "ORDER", "GROUP", "LIMIT", "JOIN", "ON"]),
        };
        ends_expression && ends_item
    }

    /// `LATERAL f(…)`, and not `lateral IN (…)` or `lateral FROM (…)`.
    fn calls_function(&self) -> bool {
        let Some(Token::Word(function)) = self.behind(1) else { return false };
        let is_name = function.quote_style.is_some() || function.keyword == Keyword::NoKeyword;
        match self.behind(2) {
            Some(Token::Period) => true,
            Some(Token::LParen) => is_name || is_one(self.behind(1), &["UNNEST", "RANGE", "TABLE", "FLATTEN", "JSON_TABLE", "XMLTABLE"]),
            _ => false,
        }
    }

    /// `INDEX i (a, b DESC)`, `INDEX i USING BTREE (a)`, and not `index VARCHAR(3)`, `index MAP(INT, INT)` or `index STRUCT(a INT)`.
    fn lists_columns(&self) -> bool {
        if is_one(self.behind(1), &["KEY", "INDEX", "USING"]) || is_one(self.behind(2), &["USING"]) {
            return true;
        }
        let of_types = is_one(self.behind(1), &["ARRAY", "MAP", "TENSOR"]);
        let lists = self.behind(2) == Some(&Token::LParen) && matches!(self.behind(3), Some(Token::Word(_)));
        let ends = matches!(self.behind(4), Some(Token::Comma | Token::RParen | Token::LParen)) || is_one(self.behind(4), &["ASC", "DESC"]);
        lists && !of_types && ends
    }

    fn before(&self) -> Option<&Token> {
        self.token(self.at.checked_sub(1)?)
    }

    fn behind(&self, distance: usize) -> Option<&Token> {
        self.token(self.at + distance)
    }

    fn token(&self, at: usize) -> Option<&Token> {
        self.words.get(at).map(|index| &self.tokens[*index].token)
    }
}

fn is_one(token: Option<&Token>, words: &[&str]) -> bool {
    token.is_some_and(|token| words.iter().any(|word| is_word(token, word)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::QuiverDialect;
    use datafusion::sql::sqlparser::tokenizer::Tokenizer;

    /// The non-reserved words of the statement that are names.
    fn names(sql: &str) -> Vec<String> {
        let mut tokens = Tokenizer::new(&QuiverDialect, sql).tokenize_with_location().unwrap();
        quote_non_reserved_keywords(&mut tokens);
        let word = |token: &TokenWithSpan| match &token.token {
            Token::Word(word) if word.keyword == Keyword::NoKeyword && clause_of(&token.token).is_some() => Some(word.value.clone()),
            _ => None,
        };
        tokens.iter().filter_map(word).collect()
    }

    #[test]
    fn a_word_is_a_name_where_its_clause_cannot_begin() {
        for (sql, expected) in [
            ("SELECT 1, explain, Minus, analyze, lateral FROM k", &["explain", "Minus", "analyze", "lateral"] as &[&str]),
            ("SELECT 1, lateral.x, values FROM lateral", &["lateral", "values"]),
            ("SELECT a view, b cluster FROM k", &["view", "cluster"]),
            ("SELECT CASE WHEN a THEN 1 END view, NULL top, true sort FROM k", &["view", "top", "sort"]),
            ("SELECT a FROM k sort ORDER BY a", &["sort"]),
            ("SELECT 1, lateral FROM (SELECT 5 AS a)", &["lateral"]),
            ("SELECT 1, lateral IN (1, 5) FROM k, lateral WHERE (y = 2)", &["lateral", "lateral"]),
            ("SELECT 1 FROM k, lateral JOIN (SELECT 1) AS q ON true", &["lateral"]),
            ("SELECT top, top + 1 FROM k GROUP BY cube, rollup", &["top", "top", "cube", "rollup"]),
            ("CREATE TABLE k (key INT, index varchar(3), spatial MAP(INT, INT))", &["key", "index", "spatial"]),
        ] {
            assert_eq!(names(sql), expected, "{sql}");
        }
    }

    #[test]
    fn words_of_clauses_keep_their_meaning() {
        for sql in [
            "EXPLAIN ANALYZE SELECT 1",
            "SELECT a, MINUS SELECT b FROM k",
            "SELECT a FROM k MINUS SELECT b FROM k",
            "SELECT * FROM k, LATERAL (SELECT 1)",
            "SELECT * FROM k, LATERAL unnest(k.a)",
            "SELECT * FROM k, LATERAL f(k.a), LATERAL range(1, k.a), LATERAL \"from\"(1)",
            "SELECT TOP 5 a FROM k",
            "SELECT a FROM k GROUP BY CUBE (a), ROLLUP (b)",
            "SELECT a FROM k GROUP BY a WITH ROLLUP",
            "SELECT a, b FROM k CLUSTER BY a",
            "INSERT INTO k VALUES (1)",
            "CREATE TABLE k (a INT, KEY (a), INDEX i (a), PRIMARY KEY (a))",
            "CREATE TABLE k (a INT, INDEX i (a DESC), INDEX i USING BTREE (a), FULLTEXT KEY j (a), KEY b (a(10)), INDEX USING HASH (a))",
            "CREATE VIEW v AS SELECT 1",
            "SELECT * EXCLUDE (a) FROM k",
            "SELECT \"cluster\", \"explain\" FROM k",
        ] {
            let quoted = if sql.contains('"') { 0 } else { names(sql).len() };
            assert_eq!(quoted, 0, "{sql}: {:?}", names(sql));
        }
    }
}
