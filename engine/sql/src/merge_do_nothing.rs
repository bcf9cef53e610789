//! `WHEN … THEN DO NOTHING` of MERGE, which the parser does not know, becomes an action that it knows.

use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use super::significant_tokens::{is_word, significant};
use crate::QuiverDialect;

/// The column that a DO NOTHING action assigns to.
pub const NOTHING: &str = "__quiver_nothing";

/// Replaces each DO NOTHING of a MERGE by an UPDATE or INSERT of [`NOTHING`].
pub fn rewrite_do_nothing(tokens: &mut Vec<TokenWithSpan>) {
    while let Some((from, to, inserts)) = find(tokens) {
        let words = match inserts {
            true => format!("INSERT (\"{NOTHING}\") VALUES (NULL)"),
            false => format!("UPDATE SET \"{NOTHING}\" = NULL"),
        };
        let span = tokens[from].span;
        let Ok(words) = Tokenizer::new(&QuiverDialect, &words).tokenize() else { return };
        tokens.splice(from..=to, words.into_iter().map(|token| TokenWithSpan::new(token, span)));
    }
}

/// The first and last token of a DO NOTHING, and whether an INSERT is allowed there.
fn find(tokens: &[TokenWithSpan]) -> Option<(usize, usize, bool)> {
    let words: Vec<(usize, &Token)> = significant(tokens).map(|(index, token)| (index, &token.token)).collect();
    let word = |at: usize, keyword: &str| words.get(at).is_some_and(|(_, token)| is_word(token, keyword));
    let then = (0..words.len()).find(|at| word(*at, "THEN") && word(at + 1, "DO") && word(at + 2, "NOTHING"))?;
    let is_when = |at: &usize| word(*at, "WHEN") && (word(at + 1, "MATCHED") || (word(at + 1, "NOT") && word(at + 2, "MATCHED")));
    let when = (0..then).rev().find(is_when)?;
    let by_source = word(when + 3, "BY") && word(when + 4, "SOURCE");
    Some((words[then + 1].0, words[then + 2].0, word(when + 1, "NOT") && !by_source))
}

#[cfg(test)]
mod tests {
    use super::super::tokens::tokenize;
    use super::*;

    fn named(sql: &str) -> String {
        let mut tokens = tokenize(sql, &QuiverDialect).unwrap();
        rewrite_do_nothing(&mut tokens);
        let text: String = tokens.iter().map(|token| token.token.to_string()).collect();
        text.replace("EOF", "")
    }

    #[test]
    fn do_nothing_becomes_what_its_clause_may_do() {
        let sql = "MERGE INTO t USING s ON true WHEN MATCHED AND CASE WHEN a THEN b END THEN DO NOTHING WHEN NOT MATCHED THEN do nothing \
                   WHEN NOT MATCHED BY SOURCE THEN DO NOTHING";
        let named = named(sql);
        assert_eq!(named.matches("THEN UPDATE SET \"__quiver_nothing\" = NULL").count(), 2, "{named}");
        assert_eq!(named.matches("THEN INSERT (\"__quiver_nothing\") VALUES (NULL)").count(), 1, "{named}");
    }

    #[test]
    fn other_statements_stay() {
        let sql = "INSERT INTO t VALUES (1) ON CONFLICT (a) DO NOTHING";
        assert_eq!(named(sql), sql);
    }
}
