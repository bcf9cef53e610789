//! Limits the nesting of a statement before it is parsed.
//!
//! For CASE, CAST( and some others, the parser reads the word as a name if it cannot parse what follows, and then parses all of that
//! again. So an error inside of k levels costs 2^k attempts. If there are many levels, each is parsed separately first, with NULL instead
//! of the levels inside. That finds the error in linear time.

use std::collections::HashMap;

use datafusion::common::DataFusionError;
use datafusion::sql::sqlparser::dialect::Dialect;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use super::locate::offset_of;
use super::parse_error::{parse_error, too_deep};
use super::significant_tokens::{is_word, significant};
use common::error::EngineError;

/// The parser needs milliseconds for this many levels that it may read again.
const LEVELS_READ_AGAIN: usize = 6;

/// Levels of the parser's recursion that do not show in the tokens.
const LEVELS_BESIDE: usize = 8;

/// Before a parenthesis or a bracket these begin an expression that the parser may read again as a call.
const READ_AGAIN: [&str; 15] = [
    "CAST",
    "TRY_CAST",
    "SAFE_CAST",
    "CONVERT",
    "EXISTS",
    "EXTRACT",
    "CEIL",
    "FLOOR",
    "POSITION",
    "SUBSTR",
    "SUBSTRING",
    "OVERLAY",
    "TRIM",
    "ARRAY",
    "STRUCT",
];

/// The highest recursion limit that [`check_nesting`] returns.
pub fn most_levels(limit: usize) -> usize {
    limit.saturating_mul(2)
}

/// The limit for the parser's recursion. It is higher if the parser would read again after it reaches the limit.
pub fn check_nesting(sql: &str, dialect: &dyn Dialect, limit: usize, tokens: &[TokenWithSpan]) -> Result<usize, EngineError> {
    let nesting = Nesting::of(tokens);
    let unclosed = nesting.unclosed.len();
    if let Some(at) = nesting.unclosed.last().filter(|_| unclosed > LEVELS_READ_AGAIN) {
        let start = tokens[*at].span.start;
        let message = match is_word(&tokens[*at].token, "CASE") {
            true => format!("syntax error: {unclosed} expressions are not closed, the last of them a CASE without END"),
            false => format!(
                "syntax error: {unclosed} expressions are not closed, the last of them {} without its closing bracket",
                tokens[*at].token
            ),
        };
        return Err(EngineError::Sql { message, position: Some(offset_of(sql, start.line, start.column)), hint: None });
    }
    if nesting.deepest > limit.saturating_sub(LEVELS_BESIDE) {
        return Err(too_deep());
    }
    if nesting.read_again <= LEVELS_READ_AGAIN {
        return Ok(limit);
    }
    let limit = most_levels(limit);
    let checked = check_pieces(dialect, limit, tokens, &nesting.pieces);
    checked.map_err(|error| parse_error(sql, DataFusionError::SQL(Box::new(error), None)))?;
    Ok(limit)
}

#[derive(Default)]
struct Nesting {
    deepest: usize,
    /// The deepest nesting of expressions that the parser may read again.
    read_again: usize,
    /// The first and the last token of each such expression, inner ones first.
    pieces: Vec<(usize, usize)>,
    /// The first tokens of those that are not closed.
    unclosed: Vec<usize>,
}

/// An open CASE, or an open parenthesis or bracket with the word before it if that begins an expression.
enum Open {
    Case(usize),
    Bracket(Option<usize>),
}

impl Open {
    fn piece(&self) -> Option<usize> {
        match self {
            Open::Case(at) => Some(*at),
            Open::Bracket(at) => *at,
        }
    }
}

impl Nesting {
    fn of(tokens: &[TokenWithSpan]) -> Nesting {
        let (mut nesting, mut open) = (Nesting::default(), Vec::new());
        let (mut brackets, mut read_again) = (0usize, 0usize);
        let mut before: [Option<usize>; 2] = [None, None];
        for (at, token) in significant(tokens) {
            // The name of a column may be any word.
            let is_of_table = |before: Option<usize>| before.is_some_and(|at| tokens[at].token == Token::Period);
            let token = &token.token;
            match token {
                Token::LParen | Token::LBracket => {
                    let makes = |at: &usize| READ_AGAIN.iter().any(|word| is_word(&tokens[*at].token, word));
                    let word = before[1].filter(makes).filter(|_| !is_of_table(before[0]));
                    read_again += usize::from(word.is_some());
                    brackets += 1;
                    open.push(Open::Bracket(word));
                }
                Token::RParen | Token::RBracket if brackets > 0 => {
                    while let Some(closed) = open.pop() {
                        read_again -= usize::from(closed.piece().is_some());
                        match closed {
                            Open::Case(start) => nesting.unclosed.push(start),
                            Open::Bracket(start) => {
                                nesting.pieces.extend(start.map(|start| (start, at)));
                                break;
                            }
                        }
                    }
                    brackets -= 1;
                }
                _ if is_word(token, "CASE") && !is_of_table(before[1]) => {
                    read_again += 1;
                    open.push(Open::Case(at));
                }
                _ if is_word(token, "END") => {
                    if let Some(Open::Case(start)) = open.last() {
                        nesting.pieces.push((*start, at));
                        read_again -= 1;
                        open.pop();
                    }
                }
                _ => {}
            }
            nesting.deepest = nesting.deepest.max(open.len());
            nesting.read_again = nesting.read_again.max(read_again);
            before = [before[1], Some(at)];
        }
        nesting.unclosed.extend(open.iter().filter_map(Open::piece));
        nesting
    }
}

fn check_pieces(dialect: &dyn Dialect, limit: usize, tokens: &[TokenWithSpan], pieces: &[(usize, usize)]) -> Result<(), ParserError> {
    let mut ends = HashMap::with_capacity(pieces.len());
    for (first, last) in pieces {
        let (mut piece, mut at) = (vec![tokens[*first].clone()], first + 1);
        while at <= *last {
            match ends.get(&at) {
                Some(end) => {
                    piece.push(TokenWithSpan::new(Token::make_keyword("NULL"), tokens[at].span));
                    at = *end;
                }
                None => piece.push(tokens[at].clone()),
            }
            at += 1;
        }
        ends.insert(*first, *last);
        let is_case = is_word(&piece[0].token, "CASE");
        let mut parser = Parser::new(dialect).with_recursion_limit(limit).with_tokens_with_locations(piece);
        match is_case {
            true => {
                parser.advance_token();
                parser.parse_case_expr()?;
            }
            false => drop(parser.parse_expr()?),
        }
        // The word alone is also a name.
        if parser.peek_token_ref().token != Token::EOF {
            parser.expected("the end of the expression", parser.peek_token())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::QuiverDialect;

    use super::super::tokens::tokenize;
    use super::*;

    fn checked(sql: &str) -> Result<(), String> {
        let tokens = tokenize(sql, &QuiverDialect).unwrap();
        check_nesting(sql, &QuiverDialect, 50, &tokens).map(|_| ()).map_err(|error| error.to_string())
    }

    fn nested(open: &str, within: &str, close: &str, levels: usize) -> String {
        format!("SELECT {}{within}{} FROM t", open.repeat(levels), close.repeat(levels))
    }

    const KINDS: [(&str, &str); 6] = [
        ("CASE WHEN a THEN ", " END"),
        ("CASE a WHEN 1 THEN 2 ELSE ", " END"),
        ("CAST(", " AS int)"),
        ("POSITION('a' IN ", ")"),
        ("(CASE WHEN (a) THEN b[1] ELSE ", " END)"),
        ("ARRAY[", "]"),
    ];

    #[test]
    fn many_levels_pass_and_more_are_too_deep() {
        for (open, close) in KINDS {
            assert_eq!(checked(&nested(open, "1", close, 20)), Ok(()), "{open}");
            assert_eq!(checked(&nested(open, "1", close, 60)).unwrap_err(), "the statement is nested too deeply", "{open}");
        }
        assert_eq!(checked(&nested("CASE WHEN a THEN ", "1", " END", 40)), Ok(()));
    }

    /// The parser alone would need years for this.
    #[test]
    fn a_mistake_within_many_levels_is_found_without_reading_them_again() {
        for (open, close) in KINDS {
            let error = checked(&nested(open, "1 1 1", close, 20)).unwrap_err();
            assert!(error.starts_with("syntax error"), "{open}: {error}");
        }
    }

    #[test]
    fn what_is_never_closed_is_named() {
        for (open, _) in KINDS {
            let error = checked(&nested(open, "1", "", 40)).unwrap_err();
            assert!(error.contains("are not closed, the last of them"), "{open}: {error}");
        }
        let error = checked(&nested("CASE WHEN a THEN ", "1", "", 40)).unwrap_err();
        assert!(error.ends_with("40 expressions are not closed, the last of them a CASE without END"), "{error}");
    }

    #[test]
    fn words_in_texts_comments_and_names_open_nothing() {
        let many = |part: &str| part.repeat(60);
        for sql in [
            format!("SELECT '{}'", many("CASE ( [ ")),
            format!("SELECT 1 /* {} */", many("CASE ( [ ")),
            format!("SELECT {} 1", many("\"CASE\", t.case, ")),
            format!("SELECT {} 1", many("CASE WHEN a THEN (1) END, ")),
            format!("SELECT 1{}", many(")")),
        ] {
            assert_eq!(checked(&sql), Ok(()), "{sql}");
        }
    }
}
