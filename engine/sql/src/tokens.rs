//! Rewrites tokens before they are parsed: notations that the parser or DataFusion does not support become ones that they do.

use datafusion::sql::sqlparser::dialect::Dialect;
use datafusion::sql::sqlparser::parser::ParserError;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer, Whitespace};

use super::intervals::name_units;
use super::locate::offset_of;
use super::non_reserved_keywords::quote_non_reserved_keywords;
use super::numbers::plain_numbers;
use super::significant_tokens::{is_word, significant};
use common::error::EngineError;

pub fn tokenize(sql: &str, dialect: &dyn Dialect) -> Result<Vec<TokenWithSpan>, ParserError> {
    let mut tokens = Tokenizer::new(dialect, sql).tokenize_with_location()?;
    plain_numbers(&mut tokens)?;
    quote_non_reserved_keywords(&mut tokens);
    name_units(&mut tokens);
    plain_materialized(&mut tokens);
    power_of_stars(&mut tokens);
    Ok(tokens)
}

/// Numbers with an exponent are DOUBLE, as in the SQL standard. DataFusion would make decimals of them, which cannot hold 1e308.
pub fn double_literals(sql: &str, tokens: &mut Vec<TokenWithSpan>) -> Result<(), EngineError> {
    refuse_longer_than_decimals(sql, tokens)?;
    let is_double = |token: &TokenWithSpan| match &token.token {
        Token::Number(digits, _) => digits.contains(['e', 'E']) && !digits.starts_with("0x"),
        _ => false,
    };
    if !tokens.iter().any(is_double) {
        return Ok(());
    }
    let mut changed = Vec::with_capacity(tokens.len() + 8);
    for token in tokens.drain(..) {
        let Token::Number(digits, _) = &token.token else {
            changed.push(token);
            continue;
        };
        if !is_double(&token) {
            changed.push(token);
            continue;
        }
        if !digits.parse::<f64>().is_ok_and(f64::is_finite) {
            let position = Some(offset_of(sql, token.span.start.line, token.span.start.column));
            return Err(EngineError::Sql { message: format!("{digits} is out of range for DOUBLE"), position, hint: None });
        }
        let cast = [
            Token::make_keyword("CAST"),
            Token::LParen,
            Token::SingleQuotedString(digits.clone()),
            Token::make_keyword("AS"),
            Token::make_keyword("DOUBLE"),
            Token::RParen,
        ];
        changed.extend(cast.map(|part| TokenWithSpan::new(part, token.span)));
    }
    *tokens = changed;
    Ok(())
}

const DECIMAL_DIGITS_MAX: usize = 76;

/// As DOUBLEs they would silently lose digits.
fn refuse_longer_than_decimals(sql: &str, tokens: &[TokenWithSpan]) -> Result<(), EngineError> {
    for token in tokens {
        let Token::Number(number, _) = &token.token else { continue };
        if number.len() <= DECIMAL_DIGITS_MAX || number.starts_with("0x") || number.contains(['e', 'E']) {
            continue;
        }
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        let fraction = fraction.bytes().filter(u8::is_ascii_digit);
        let digits = whole.bytes().filter(u8::is_ascii_digit).chain(fraction.clone()).skip_while(|digit| *digit == b'0');
        let count = digits.count().max(fraction.count());
        if count > DECIMAL_DIGITS_MAX {
            let message = format!("a number of {count} digits is no DECIMAL, which has {DECIMAL_DIGITS_MAX} at most");
            let position = Some(offset_of(sql, token.span.start.line, token.span.start.column));
            let hint = Some("put e0 behind it to have the DOUBLE nearest to it".to_string());
            return Err(EngineError::Sql { message, position, hint });
        }
    }
    Ok(())
}

/// Replaces `?`, the parameters of JDBC and ODBC, by `$1`, `$2`, … in their order. Plans have lists as long as the greatest number, so it
/// is limited.
pub fn number_parameters(tokens: &mut [TokenWithSpan]) -> Result<(), EngineError> {
    let (mut count, mut numbered) = (0, None);
    for token in tokens {
        let Token::Placeholder(name) = &mut token.token else { continue };
        match name.strip_prefix('?') {
            Some("") => {
                count += 1;
                *name = format!("${count}");
            }
            number => {
                *name = number.map_or_else(|| name.clone(), |number| format!("${number}"));
                numbered = Some(name.clone());
            }
        }
        if !is_possible(name) {
            let hint = format!("write $1, $2, … or ?, up to ${PARAMETERS_MAX}");
            return Err(EngineError::unsupported(format!("the parameter {name}"), Some(&hint)));
        }
    }
    match numbered {
        Some(name) if count > 0 => {
            let hint = Some("write all of them as ?, or all as $1, $2, …".to_string());
            Err(EngineError::Sql { message: format!("the parameter {name} stands beside ?"), position: None, hint })
        }
        _ => Ok(()),
    }
}

pub const PARAMETERS_MAX: usize = 65_535;

/// Invalid names are refused during planning.
fn is_possible(name: &str) -> bool {
    let digits = name.trim_start_matches('$');
    !digits.starts_with(|first: char| first.is_ascii_digit())
        || digits.parse::<usize>().is_ok_and(|number| (1..=PARAMETERS_MAX).contains(&number))
}

/// `LATERAL unnest(…)` loses its LATERAL: with it the parser makes a table function of the call, and UNNEST sees the tables to its left
/// without.
pub fn unnest_alone(tokens: &mut [TokenWithSpan]) {
    if !tokens.iter().any(|token| is_word(&token.token, "LATERAL")) {
        return;
    }
    let words: Vec<usize> = significant(tokens).map(|(index, _)| index).collect();
    for three in words.windows(3) {
        let [lateral, call, open] = [0, 1, 2].map(|at| &tokens[three[at]].token);
        if is_word(lateral, "LATERAL") && is_word(call, "UNNEST") && *open == Token::LParen {
            tokens[three[0]].token = Token::Whitespace(Whitespace::Space);
        }
    }
}

/// `WITH t AS [NOT] MATERIALIZED (SELECT …)` says how the query is computed and not what it is: what is read twice is computed once here.
fn plain_materialized(tokens: &mut [TokenWithSpan]) {
    if !tokens.iter().any(|token| is_word(&token.token, "MATERIALIZED")) {
        return;
    }
    let words: Vec<usize> = significant(tokens).map(|(index, _)| index).collect();
    for at in 1..words.len().saturating_sub(2) {
        let token = |at: usize| &tokens[words[at]].token;
        let begins_query = |at: usize| ["SELECT", "WITH", "VALUES", "FROM", "TABLE"].iter().any(|word| is_word(token(at), word));
        let is_before_query = *token(at + 1) == Token::LParen && (begins_query(at + 2) || *token(at + 2) == Token::LParen);
        if !is_word(token(at), "MATERIALIZED") || !is_before_query {
            continue;
        }
        let not = at >= 2 && is_word(token(at - 1), "NOT");
        let first = if not { at - 1 } else { at };
        if is_word(token(first - 1), "AS") {
            words[first..=at].iter().for_each(|word| tokens[*word].token = Token::Whitespace(Whitespace::Space));
        }
    }
}

/// `a ** b` is `a ^ b`.
fn power_of_stars(tokens: &mut Vec<TokenWithSpan>) {
    let is_power = |pair: &[TokenWithSpan]| matches!(pair, [first, second] if first.token == Token::Mul && second.token == Token::Mul);
    if !tokens.windows(2).any(is_power) {
        return;
    }
    let mut changed: Vec<TokenWithSpan> = Vec::with_capacity(tokens.len());
    for token in tokens.drain(..) {
        match changed.last_mut() {
            Some(last) if last.token == Token::Mul && token.token == Token::Mul => last.token = Token::Caret,
            _ => changed.push(token),
        }
    }
    *tokens = changed;
}

/// DuckDB's type `STRUCT(a INT, b TEXT)` becomes `STRUCT<a INT, b TEXT>`. In a call of the function `struct` no type follows a name.
pub fn struct_types(tokens: &mut [TokenWithSpan]) {
    const TYPES: [&str; 37] = [
        "BOOL",
        "BOOLEAN",
        "TINYINT",
        "SMALLINT",
        "INT",
        "INTEGER",
        "BIGINT",
        "INT1",
        "INT2",
        "INT4",
        "INT8",
        "UTINYINT",
        "USMALLINT",
        "UINTEGER",
        "UBIGINT",
        "REAL",
        "FLOAT",
        "FLOAT4",
        "FLOAT8",
        "DOUBLE",
        "DECIMAL",
        "NUMERIC",
        "DEC",
        "CHAR",
        "CHARACTER",
        "VARCHAR",
        "TEXT",
        "STRING",
        "BLOB",
        "BYTEA",
        "DATE",
        "TIME",
        "TIMESTAMP",
        "TIMESTAMPTZ",
        "INTERVAL",
        "STRUCT",
        "MAP",
    ];
    let words: Vec<usize> = significant(tokens).map(|(index, _)| index).collect();
    let token = |tokens: &[TokenWithSpan], at: usize| words.get(at).map_or(Token::EOF, |index| tokens[*index].token.clone());
    // The open parentheses, and whether they belong to a type.
    let mut open: Vec<(usize, bool)> = Vec::new();
    for at in 0..words.len() {
        match tokens[words[at]].token {
            Token::LParen => {
                let is_type = at > 0
                    && is_word(&tokens[words[at - 1]].token, "STRUCT")
                    && matches!(token(tokens, at + 1), Token::Word(_))
                    && TYPES.iter().any(|name| is_word(&token(tokens, at + 2), name));
                open.push((words[at], is_type));
            }
            Token::RParen => {
                if let Some((opened, true)) = open.pop() {
                    tokens[opened].token = Token::Lt;
                    tokens[words[at]].token = Token::Gt;
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::QuiverDialect;

    fn changed(sql: &str) -> String {
        let mut tokens = tokenize(sql, &QuiverDialect).unwrap();
        struct_types(&mut tokens);
        tokens.iter().map(|token| token.token.to_string()).collect::<String>().replace("EOF", "")
    }

    #[test]
    fn lateral_stays_where_unnest_is_not_called() {
        for (sql, is_changed) in [("SELECT lateral unnest FROM q", false), ("SELECT 1 FROM q, LATERAL unnest (q.x)", true)] {
            let tokens = tokenize(sql, &QuiverDialect).unwrap();
            let mut changed = tokens.clone();
            unnest_alone(&mut changed);
            assert_eq!(changed != tokens, is_changed, "{sql}");
        }
    }

    #[test]
    fn types_of_structs_may_have_parentheses() {
        let sql = "CREATE TABLE t (v STRUCT(a INT, \"b c\" struct (d decimal(3, 1)))[], w MAP(INT, STRUCT(x DATE)))";
        let same = "CREATE TABLE t (v STRUCT<a INT, \"b c\" struct <d decimal(3, 1)>>[], w MAP(INT, STRUCT<x DATE>))";
        assert_eq!(changed(sql), same);
    }

    /// Each one was searched for up to the end of the text.
    #[test]
    fn types_that_are_never_closed_are_looked_at_once() {
        let open = "STRUCT(a INT, ".repeat(100_000);
        assert_eq!(changed(&open), open);
    }

    #[test]
    fn calls_of_the_function_struct_stay() {
        for sql in ["SELECT struct(1 AS a, b), STRUCT(NOT a)", "SELECT struct(CASE a WHEN 1 THEN 2 END)", "SELECT struct(a, int)"] {
            assert_eq!(changed(sql), sql);
        }
    }
}
