//! Limits chains of operators: `1 + 2 + 3 + …` is a tree with one level for each operator, and planning takes quadratic time in its depth.
//! Beyond the limits it would take minutes.

use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use super::significant_tokens::{is_word, significant};
use common::error::EngineError;

/// `+ - * / % ||`, casts and subscripts in one expression.
const ARITHMETIC_MAX: usize = 2_000;
/// Comparisons, powers, bitwise and zone operators in one expression. Long chains of them are unusual, and their types are computed level
/// by level.
const NOT_ARITHMETIC_MAX: usize = 200;
/// AND and OR in one condition, including those of joins.
const LOGICAL_MAX: usize = 5_000;
/// UNION, EXCEPT and INTERSECT in one query.
const QUERIES_MAX: usize = 2_000;

const TYPE_LEVELS_MAX: usize = 100;

/// The operators since the last comma at one level of parentheses.
#[derive(Default, Clone, Copy)]
struct OperatorChain {
    arithmetic: usize,
    not_arithmetic: usize,
    logical: usize,
    queries: usize,
}

pub fn check_operator_limits(tokens: &[TokenWithSpan]) -> Result<(), EngineError> {
    check_types(tokens)?;
    let mut levels = vec![OperatorChain::default()];
    let (mut all, mut longest) = (OperatorChain::default(), OperatorChain::default());
    // The FROM of DISTINCT FROM and the AND of BETWEEN are parts of comparisons.
    let (mut after_distinct, mut betweens) = (false, 0usize);
    for (_, token) in significant(tokens) {
        let depth = levels.len();
        let Some(level) = levels.last_mut() else { break };
        let before = *level;
        let is_part = std::mem::replace(&mut after_distinct, is_word(&token.token, "DISTINCT")) && is_word(&token.token, "FROM");
        betweens += usize::from(is_word(&token.token, "BETWEEN"));
        let ends_between = betweens > 0 && is_word(&token.token, "AND");
        betweens -= usize::from(ends_between);
        match kind(&token.token) {
            _ if is_part || ends_between => continue,
            ChainKind::Open => {
                levels.push(OperatorChain::default());
                continue;
            }
            ChainKind::Close if depth > 1 => {
                levels.pop();
                all = all.less(before, OperatorChain::default());
                continue;
            }
            ChainKind::Arithmetic => level.arithmetic += 1,
            ChainKind::BitsPowerOrZone => level.not_arithmetic += 1,
            ChainKind::Comparison => *level = OperatorChain { arithmetic: 0, not_arithmetic: before.not_arithmetic + 1, ..before },
            ChainKind::Clause => *level = OperatorChain { arithmetic: 0, not_arithmetic: 0, ..before },
            ChainKind::Not => *level = OperatorChain { arithmetic: 0, logical: before.logical + 1, ..before },
            ChainKind::Logical => *level = OperatorChain { arithmetic: 0, not_arithmetic: 0, logical: before.logical + 1, ..before },
            ChainKind::Query => *level = OperatorChain { queries: before.queries + 1, ..OperatorChain::default() },
            ChainKind::Comma => *level = OperatorChain::default(),
            ChainKind::Close | ChainKind::Other => continue,
        }
        all = all.less(before, *level);
        longest = longest.or_longer(all);
    }
    let limits = [
        (longest.arithmetic, ARITHMETIC_MAX, "compute with fewer terms at a time"),
        (longest.not_arithmetic, NOT_ARITHMETIC_MAX, "compute with fewer terms at a time"),
        (longest.logical, LOGICAL_MAX, "use IN (…) or a join with a table of values"),
        (longest.queries, QUERIES_MAX, "use VALUES (…), (…) or insert into a table"),
    ];
    match limits.iter().find(|(found, limit, _)| found > limit) {
        None => Ok(()),
        Some((found, limit, hint)) => {
            let message = format!("the statement chains {found} operators, more than {limit}");
            Err(EngineError::Sql { message, position: None, hint: Some((*hint).to_string()) })
        }
    }
}

/// `array<array<…` makes an equally deep type, and few walks over types can handle hundreds of levels.
fn check_types(tokens: &[TokenWithSpan]) -> Result<(), EngineError> {
    let (mut depth, mut after_type) = (0usize, false);
    for (_, token) in significant(tokens) {
        match &token.token {
            Token::Lt if after_type || depth > 0 => depth += 1,
            Token::Gt => depth = depth.saturating_sub(1),
            Token::ShiftRight => depth = depth.saturating_sub(2),
            Token::Word(_) | Token::Comma | Token::LParen | Token::RParen | Token::Number(..) => {}
            _ => depth = 0,
        }
        after_type = ["ARRAY", "STRUCT", "MAP"].iter().any(|word| is_word(&token.token, word));
        if depth > TYPE_LEVELS_MAX {
            let message = format!("a type is nested more than {TYPE_LEVELS_MAX} levels deep");
            return Err(EngineError::Sql { message, position: None, hint: None });
        }
    }
    Ok(())
}

impl OperatorChain {
    /// The sum over all levels, after one of them changed from `before` to `after`.
    fn less(self, before: OperatorChain, after: OperatorChain) -> OperatorChain {
        OperatorChain {
            arithmetic: self.arithmetic - before.arithmetic + after.arithmetic,
            not_arithmetic: self.not_arithmetic - before.not_arithmetic + after.not_arithmetic,
            logical: self.logical - before.logical + after.logical,
            queries: self.queries - before.queries + after.queries,
        }
    }

    fn or_longer(self, other: OperatorChain) -> OperatorChain {
        OperatorChain {
            arithmetic: self.arithmetic.max(other.arithmetic),
            not_arithmetic: self.not_arithmetic.max(other.not_arithmetic),
            logical: self.logical.max(other.logical),
            queries: self.queries.max(other.queries),
        }
    }
}

enum ChainKind {
    Open,
    Close,
    Comma,
    Arithmetic,
    BitsPowerOrZone,
    Comparison,
    Clause,
    Not,
    Logical,
    Query,
    Other,
}

fn kind(token: &Token) -> ChainKind {
    let is = |word: &str, keywords: &[&str]| keywords.iter().any(|keyword| word.eq_ignore_ascii_case(keyword));
    match token {
        Token::LParen => ChainKind::Open,
        Token::RParen => ChainKind::Close,
        Token::Comma => ChainKind::Comma,
        Token::Plus | Token::Minus | Token::Mul | Token::Div | Token::Mod | Token::StringConcat | Token::DoubleColon | Token::LBracket => {
            ChainKind::Arithmetic
        }
        Token::Pipe | Token::Ampersand | Token::Sharp | Token::Caret | Token::ShiftLeft | Token::ShiftRight => ChainKind::BitsPowerOrZone,
        Token::Eq | Token::DoubleEq | Token::Lt | Token::Gt | Token::LtEq | Token::GtEq | Token::Neq | Token::Spaceship => {
            ChainKind::Comparison
        }
        Token::Word(word) if word.quote_style.is_none() => match word.value.as_str() {
            word if is(word, &["AND", "OR", "JOIN"]) => ChainKind::Logical,
            word if is(word, &["NOT"]) => ChainKind::Not,
            word if is(word, &["UNION", "EXCEPT", "INTERSECT"]) => ChainKind::Query,
            word if is(word, &["SELECT", "FROM", "WHERE", "HAVING", "ON", "WHEN", "THEN", "ELSE", "BY"]) => ChainKind::Clause,
            word if is(word, &["ZONE"]) => ChainKind::BitsPowerOrZone,
            word if is(word, &["IS", "LIKE", "ILIKE", "SIMILAR", "IN", "BETWEEN"]) => ChainKind::Comparison,
            _ => ChainKind::Other,
        },
        _ => ChainKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tokens::tokenize;
    use super::*;
    use crate::QuiverDialect;

    fn passes(sql: &str) -> bool {
        check_operator_limits(&tokenize(sql, &QuiverDialect).unwrap()).is_ok()
    }

    #[test]
    fn only_what_is_deep_is_refused() {
        let many = |part: &str, between: &str, count: usize| vec![part; count].join(between);
        assert!(passes(&format!("INSERT INTO t VALUES {}", many("(-1, 2 + 3, -4)", ", ", 50_000))));
        assert!(passes(&format!("SELECT {}", many("a + 1", ", ", 50_000))));
        assert!(passes(&format!("SELECT 1 WHERE {}", many("a + 1 = 2", " AND ", 4_000))));
        assert!(!passes(&format!("SELECT {}", many("a", " + ", 3_000))));
        for operator in [" | ", " ^ ", " = ", " IS NOT DISTINCT FROM ", " NOT LIKE ", " BETWEEN 1 AND ", " AT TIME ZONE "] {
            assert!(passes(&format!("SELECT {}", many("a", operator, 90))), "{operator}");
            assert!(!passes(&format!("SELECT {}", many("a", operator, 300))), "{operator}");
        }
        assert!(passes(&format!("UPDATE t SET {} WHERE {}", many("a = b | 1", ", ", 900), many("a = 1", " OR ", 900))));
        assert!(passes(&format!("SELECT CASE {} END", many("WHEN a = 1 THEN 2", " ", 900))));
        assert!(!passes(&format!("SELECT {}a{}", "(1 + ".repeat(3_000), ")".repeat(3_000))));
        assert!(!passes(&format!("SELECT 1 WHERE {}", many("a", " OR ", 6_000))));
        assert!(!passes(&many("SELECT 1", " UNION ALL ", 3_000)));
        assert!(passes(&many("CAST(a AS array<struct<b int>>) < 3", ", ", 1_000)));
        assert!(!passes(&format!("CAST(a AS {}int{})", "array<".repeat(200), ">".repeat(200))));
    }
}
