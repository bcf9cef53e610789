//! `a IS DISTINCT FROM b AND c`, where the parser takes `b AND c` for what a is compared with.

use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use super::significant_tokens::{is_word, significant};

/// An expression ends before these, if nothing in parentheses or CASE is open, where an operator could follow. Where a value
/// must follow they are names: of the functions `left` and `right`, of a column `offset`.
const ENDS: [&str; 34] = [
    "WHERE",
    "GROUP",
    "HAVING",
    "ORDER",
    "LIMIT",
    "OFFSET",
    "FETCH",
    "WINDOW",
    "QUALIFY",
    "UNION",
    "EXCEPT",
    "INTERSECT",
    "JOIN",
    "INNER",
    "LEFT",
    "RIGHT",
    "FULL",
    "CROSS",
    "NATURAL",
    "ON",
    "USING",
    "FROM",
    "WHEN",
    "THEN",
    "ELSE",
    "AS",
    "ASC",
    "DESC",
    "NULLS",
    "RETURNING",
    "SET",
    "DO",
    "DEFAULT",
    "CONSTRAINT",
];

/// Operators that are words: a value follows.
const OPERATORS: [&str; 10] = ["LIKE", "ILIKE", "RLIKE", "REGEXP", "TO", "BETWEEN", "ESCAPE", "DIV", "XOR", "COLLATE"];

/// Writes `a IS DISTINCT FROM b` as `a <=> (b) IS FALSE`, which means the same and ends where it should, if an AND or OR
/// comes behind it.
pub fn bound_distinct_from(tokens: &mut Vec<TokenWithSpan>) {
    if !significant(tokens).any(|(_, token)| is_word(&token.token, "DISTINCT")) {
        return;
    }
    let found = find(tokens);
    // Of several that end at one token the last lies within the others.
    let mut closing: Vec<&DistinctFrom> = found.iter().collect();
    closing.sort_by_key(|one| (one.end, std::cmp::Reverse(one.is)));
    let (mut opening, mut closing) = (found.iter().peekable(), closing.into_iter().peekable());
    let is_false = [Token::RParen, Token::make_keyword("IS"), Token::make_keyword("FALSE")];
    let mut left: Vec<usize> = found.iter().filter_map(|one| one.left).collect();
    left.sort_unstable();
    let mut left = left.into_iter().peekable();
    let mut bounded = Vec::with_capacity(tokens.len() + 3 * found.len());
    for (index, token) in tokens.drain(..).enumerate() {
        let mut put = |words: &[Token]| bounded.extend(words.iter().map(|word| TokenWithSpan::new(word.clone(), token.span)));
        while let Some(one) = closing.next_if(|one| one.end == index) {
            put(if one.negated { &is_false[..1] } else { &is_false });
        }
        while left.next_if_eq(&index).is_some() {
            put(&[Token::LParen]);
        }
        opening.next_if(|one| one.operand == index);
        match opening.peek() {
            Some(one) if one.is == index && one.left.is_some() => put(&[Token::RParen, Token::Spaceship, Token::LParen]),
            Some(one) if one.is == index => put(&[Token::Spaceship, Token::LParen]),
            Some(one) if one.is < index => {}
            _ => bounded.push(token),
        }
    }
    *tokens = bounded;
}

/// One that an AND or OR comes behind.
struct DistinctFrom {
    /// Places of `IS`, of what is compared with, and of the AND or OR behind that.
    is: usize,
    operand: usize,
    end: usize,
    negated: bool,
    /// Where the left operand begins, if it has to be put in parentheses: the pattern of a LIKE would take `<=>` in.
    left: Option<usize>,
}

fn find(tokens: &[TokenWithSpan]) -> Vec<DistinctFrom> {
    let words: Vec<(usize, &Token)> = significant(tokens).map(|(index, token)| (index, &token.token)).collect();
    let word = |at: usize, keyword: &str| words.get(at).is_some_and(|(_, token)| is_word(token, keyword));
    let found = (0..words.len()).filter(|at| word(*at, "IS")).filter_map(|at| {
        let negated = word(at + 1, "NOT");
        let distinct = at + 1 + usize::from(negated);
        let is_one = word(distinct, "DISTINCT") && word(distinct + 1, "FROM");
        let (operand, _) = words.get(distinct + 2).filter(|_| is_one)?;
        Some(DistinctFrom { is: words[at].0, operand: *operand, end: end(&words[distinct + 2..])?, negated, left: left(&words[..at]) })
    });
    found.collect()
}

/// Where the expression begins that the tokens end with, if it has a pattern of its own.
fn left(words: &[(usize, &Token)]) -> Option<usize> {
    let is_pattern = |token: &Token| ["LIKE", "ILIKE", "RLIKE", "REGEXP", "TO"].iter().any(|word| is_word(token, word));
    let (mut depth, mut start, mut has_pattern) = (0usize, None, false);
    for (at, (index, token)) in words.iter().enumerate().rev() {
        let is = |keyword: &str| is_word(token, keyword);
        // The NOT of a pattern stands before it: `a NOT LIKE b`, `a NOT SIMILAR TO b`.
        let is_not = is("NOT") && !words.get(at + 1).is_some_and(|(_, next)| is_pattern(next) || is_word(next, "SIMILAR"));
        match token {
            Token::RParen | Token::RBracket | Token::RBrace => depth += 1,
            Token::LParen | Token::LBracket | Token::LBrace if depth == 0 => break,
            Token::LParen | Token::LBracket | Token::LBrace => depth -= 1,
            _ if is("END") => depth += 1,
            _ if is("CASE") && depth > 0 => depth -= 1,
            _ if depth > 0 => {}
            Token::Comma | Token::SemiColon => break,
            _ if is("AND") || is("OR") || is("SELECT") || is("DISTINCT") || is("BY") || is("CASE") || is_not => break,
            _ if ENDS.iter().any(|keyword| is(keyword)) && !matches!(words.get(at + 1), Some((_, Token::LParen))) => break,
            _ => has_pattern |= is_pattern(token),
        }
        start = Some(*index);
    }
    start.filter(|_| has_pattern)
}

/// Where an AND or OR ends the expression that the tokens begin with.
fn end(words: &[(usize, &Token)]) -> Option<usize> {
    let (mut depth, mut betweens, mut value_follows, mut before) = (0usize, 0usize, true, None);
    for (index, token) in words {
        // After a point every word is a name.
        let is = |keyword: &str| before != Some(&Token::Period) && is_word(token, keyword);
        let is_any = |keywords: &[&str]| keywords.iter().any(|keyword| is(keyword));
        let is_distinct_from = is("FROM") && before.is_some_and(|token| is_word(token, "DISTINCT"));
        match token {
            Token::LParen | Token::LBracket | Token::LBrace => depth += 1,
            Token::RParen | Token::RBracket | Token::RBrace if depth == 0 => return None,
            Token::RParen | Token::RBracket | Token::RBrace => depth -= 1,
            _ if is("CASE") => depth += 1,
            _ if is("END") && depth == 0 && !value_follows => return None,
            _ if is("END") && depth > 0 => depth -= 1,
            _ if depth > 0 => {}
            Token::Comma | Token::SemiColon => return None,
            _ if is("AND") && betweens > 0 => betweens -= 1,
            _ if is("AND") || is("OR") => return Some(*index),
            _ if value_follows => {}
            _ if is("BETWEEN") => betweens += 1,
            _ if !is_distinct_from && is_any(&ENDS) => return None,
            _ => {}
        }
        if depth == 0 {
            value_follows = match token {
                Token::Word(_) if value_follows => is("NOT"),
                Token::Word(_) => is_distinct_from || is("AND") || is_any(&OPERATORS),
                token => is_operator(token),
            };
        }
        before = Some(*token);
    }
    None
}

/// A sign behind which a value follows: all are that are not values themselves.
fn is_operator(token: &Token) -> bool {
    !matches!(
        token,
        Token::Number(..)
            | Token::Placeholder(_)
            | Token::RParen
            | Token::RBracket
            | Token::RBrace
            | Token::SingleQuotedString(_)
            | Token::DoubleQuotedString(_)
            | Token::DollarQuotedString(_)
            | Token::EscapedStringLiteral(_)
            | Token::HexStringLiteral(_)
            | Token::NationalStringLiteral(_)
            | Token::UnicodeStringLiteral(_)
            | Token::SingleQuotedByteStringLiteral(_)
            | Token::SingleQuotedRawStringLiteral(_)
    )
}

#[cfg(test)]
mod tests {
    use super::super::tokens::tokenize;
    use crate::QuiverDialect;

    fn bounded(sql: &str) -> String {
        let tokens = tokenize(sql, &QuiverDialect).unwrap();
        let text: String = tokens.iter().map(|token| token.token.to_string()).collect();
        text.replace("EOF", "")
    }

    #[test]
    fn and_and_or_end_what_is_compared() {
        for (sql, same) in [
            ("SELECT a IS DISTINCT FROM b AND c", "SELECT a <=>(b )ISFALSEAND c"),
            ("SELECT a IS NOT DISTINCT FROM b + 1 OR c", "SELECT a <=>(b + 1 )OR c"),
            ("SELECT a is distinct from (b AND d) AND c", "SELECT a <=>((b AND d) )ISFALSEAND c"),
            ("SELECT a IS DISTINCT FROM b AND c IS NOT DISTINCT FROM d OR e", "SELECT a <=>(b )ISFALSEAND c <=>(d )OR e"),
            ("SELECT a IS DISTINCT FROM CASE WHEN b AND c THEN d END AND e", "SELECT a <=>(CASE WHEN b AND c THEN d END )ISFALSEAND e"),
            ("SELECT a IS DISTINCT FROM left(s, 1) AND c", "SELECT a <=>(left(s, 1) )ISFALSEAND c"),
            ("SELECT a IS NOT DISTINCT FROM offset OR c", "SELECT a <=>(offset )OR c"),
            ("SELECT s LIKE 'a%' IS DISTINCT FROM b AND c", "SELECT (s LIKE 'a%' )<=>(b )ISFALSEAND c"),
            (
                "SELECT d, NOT left(s, 1) NOT LIKE 'a%' IS DISTINCT FROM b AND c",
                "SELECT d, NOT (left(s, 1) NOT LIKE 'a%' )<=>(b )ISFALSEAND c",
            ),
            ("SELECT x LIKE 'a' AND a IS DISTINCT FROM b AND c", "SELECT x LIKE 'a' AND a <=>(b )ISFALSEAND c"),
            ("SELECT a IS DISTINCT FROM b IS NOT DISTINCT FROM c AND d", "SELECT a <=>(b <=>(c ))ISFALSEAND d"),
        ] {
            assert_eq!(bounded(sql), same);
        }
    }

    #[test]
    fn a_word_where_a_value_must_follow_is_a_name() {
        for value in [
            "left(s, 1)",
            "right (s, 1)",
            "offset",
            "t.offset",
            "window",
            "s || left(s, 1)",
            "NOT fetch",
            "-set",
            "x LIKE right(s, 1)",
            "x BETWEEN left AND right(s, 2)",
            "x IS DISTINCT FROM left(s, 1)",
            "t.end",
            "'a' || offset",
            "(t.case)",
            "x[1] + set",
            "INTERVAL '1' DAY * offset",
            "CAST(s AS TEXT)::TEXT",
            "CASE WHEN a THEN b END || left(s, 1)",
        ] {
            let found = bounded(&format!("SELECT a IS DISTINCT FROM {value} AND c"));
            assert!(found.starts_with("SELECT a <=>(") && found.ends_with(")ISFALSEAND c"), "{value}: {found}");
        }
    }

    #[test]
    fn a_word_behind_a_value_ends_it() {
        for behind in [
            "b LEFT JOIN u ON c",
            "left(s, 1) RIGHT JOIN u ON c",
            "offset OFFSET 1 WHERE c",
            "b + 1 FETCH FIRST 1 ROWS ONLY WHERE c",
            "'x' WINDOW w AS (ORDER BY a) WHERE c",
            "(b) LEFT JOIN u ON c",
            "b::INT WHERE c",
            "t.left LEFT JOIN u ON c",
            "INTERVAL '1' DAY WHERE c",
            "b IS NOT NULL WHERE c",
            "CASE WHEN a THEN b END WHERE c",
        ] {
            let sql = format!("SELECT a FROM t JOIN v ON a IS DISTINCT FROM {behind} AND d");
            assert_eq!(bounded(&sql), sql);
        }
    }

    #[test]
    fn ten_thousand_comparisons_are_bounded_in_one_pass() {
        let comparisons = vec!["a IS DISTINCT FROM b"; 10_000].join(" AND ");
        assert_eq!(bounded(&format!("SELECT {comparisons}")).matches("<=>(b )ISFALSEAND").count(), 9_999);
    }

    #[test]
    fn nothing_changes_where_the_expression_ends_before() {
        for sql in [
            "SELECT a IS DISTINCT FROM b, c AND d",
            "SELECT a FROM t JOIN u ON t.a IS DISTINCT FROM u.a WHERE b AND c",
            "SELECT (a IS DISTINCT FROM b) AND c",
            "SELECT CASE WHEN a IS DISTINCT FROM b THEN c AND d END",
            "SELECT a IS DISTINCT FROM b FROM t WHERE c AND d",
            "SELECT DISTINCT a FROM b WHERE c AND d",
            "SELECT a IS DISTINCT FROM b BETWEEN c AND d",
        ] {
            assert_eq!(bounded(sql), sql);
        }
    }
}
