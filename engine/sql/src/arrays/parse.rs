//! Parses tokens to a statement about arrays.

use datafusion::common::DataFusionError;
use datafusion::sql::sqlparser::dialect::Dialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use super::statement::{ArrayChange, ArrayStatement, NewArray, NewArrayDimension};
use crate::locate::offset_of;
use crate::objects::{read_only, tags};
use crate::parse_error::parse_error;
use crate::parse_steps::{accept, end, expect, expression, name, qualified_name};
use crate::significant_tokens::{is_word, significant};
use common::error::EngineError;

type Parsed<T> = Result<T, ParserError>;

/// The statement, if it is one of these. `limit` is the limit for the recursion of the parser.
pub fn parse_arrays(
    sql: &str,
    dialect: &dyn Dialect,
    limit: usize,
    tokens: &[TokenWithSpan],
) -> Result<Option<ArrayStatement>, EngineError> {
    let words: Vec<&Token> = significant(tokens).map(|(_, token)| &token.token).take(5).collect();
    let begins = |expected: &[&str]| {
        let is_followed = !words.get(expected.len()).is_none_or(|next| is_word(next, "SET"));
        is_followed && words.len() > expected.len() && expected.iter().zip(&words).all(|(expected, word)| is_word(word, expected))
    };
    let mut parser = Parser::new(dialect).with_recursion_limit(limit).with_tokens_with_locations(tokens.to_vec());
    let mut skip = |count: usize| (0..count).for_each(|_| drop(parser.next_token()));
    let parsed = match () {
        () if begins(&["CREATE", "ARRAY"]) => {
            skip(2);
            create(&mut parser, false)
        }
        () if begins(&["CREATE", "OR", "REPLACE", "ARRAY"]) => {
            skip(4);
            create(&mut parser, true)
        }
        () if begins(&["UPDATE", "ARRAY"]) => {
            skip(2);
            return update(sql, &mut parser).map(Some).map_err(|error| parse_error(sql, DataFusionError::from(error)));
        }
        () if begins(&["ALTER", "ARRAY"]) => {
            skip(2);
            alter(&mut parser)
        }
        () if begins(&["DROP", "ARRAY"]) => {
            skip(2);
            let if_exists = accept(&mut parser, &["IF", "EXISTS"]);
            qualified_name(&mut parser).map(|name| ArrayStatement::Drop { name, if_exists })
        }
        () => return Ok(None),
    };
    let parsed = parsed.and_then(|statement| end(&mut parser).map(|()| statement));
    parsed.map(Some).map_err(|error| parse_error(sql, DataFusionError::from(error)))
}

fn create(parser: &mut Parser<'_>, or_replace: bool) -> Parsed<ArrayStatement> {
    let if_not_exists = accept(parser, &["IF", "NOT", "EXISTS"]);
    let name = qualified_name(parser)?;
    parser.expect_token(&Token::LParen)?;
    let dimensions = parser.parse_comma_separated(dimension)?;
    parser.expect_token(&Token::RParen)?;
    expect(parser, &["OF"])?;
    let element = parser.parse_data_type()?;
    let (mut chunk, mut fill, mut options, mut of_tags) = (None, None, None, None);
    loop {
        match () {
            () if chunk.is_none() && accept(parser, &["CHUNK"]) => {
                parser.expect_token(&Token::LParen)?;
                chunk = Some(parser.parse_comma_separated(|parser| parser.parse_literal_uint())?);
                parser.expect_token(&Token::RParen)?;
            }
            () if fill.is_none() && accept(parser, &["FILL"]) => fill = Some(expression(parser)?),
            () if of_tags.is_none() && accept(parser, &["WITH", "TAGS"]) => of_tags = Some(tags(parser)?),
            () if options.is_none() && is_word(&parser.peek_token().token, "WITH") => options = Some(parser.parse_options(Keyword::WITH)?),
            () => break,
        }
    }
    let (options, tags) = (options.unwrap_or_default(), of_tags.unwrap_or_default());
    Ok(ArrayStatement::Create(Box::new(NewArray { name, or_replace, if_not_exists, dimensions, element, chunk, fill, options, tags })))
}

fn dimension(parser: &mut Parser<'_>) -> Parsed<NewArrayDimension> {
    let name = name(parser)?;
    let length = if accept(parser, &["UNLIMITED"]) { None } else { Some(parser.parse_literal_uint()?) };
    let unit = if accept(parser, &["UNIT"]) { Some(parser.parse_literal_string()?) } else { None };
    Ok(NewArrayDimension { name, length, unit })
}

/// The slices are a text by now. What is behind the sign is an expression, or a query in parentheses.
fn update(sql: &str, parser: &mut Parser<'_>) -> Parsed<ArrayStatement> {
    let name = qualified_name(parser)?;
    expect(parser, &["SET", "REGION"])?;
    let slices = parser.parse_literal_string()?;
    parser.expect_token(&Token::Eq)?;
    let (next, after) = (parser.peek_token(), parser.peek_nth_token(1).token);
    let is_query = next.token == Token::LParen && ["SELECT", "WITH", "FROM", "VALUES", "TABLE"].iter().any(|word| is_word(&after, word));
    let start = offset_of(sql, next.span.start.line, next.span.start.column);
    let before = sql[..start].chars().map(|character| if character == '\n' { '\n' } else { ' ' });
    let mut query: String = before.chain(sql[start..].chars()).collect();
    if !is_query {
        // The words before, which are longer, are blanks now, so that an error in the expression is shown where it is.
        query.replace_range(start - SELECT.len()..start, SELECT);
    }
    Ok(ArrayStatement::Update { name, slices, query })
}

const SELECT: &str = "SELECT ";

fn alter(parser: &mut Parser<'_>) -> Parsed<ArrayStatement> {
    let name = qualified_name(parser)?;
    let change = match () {
        () if accept(parser, &["RENAME", "TO"]) => ArrayChange::Rename(qualified_name(parser)?),
        () if accept(parser, &["SET"]) => ArrayChange::ReadOnly(read_only(parser)?),
        () => {
            let token = parser.peek_token();
            return parser.expected("RENAME TO or SET", token);
        }
    };
    Ok(ArrayStatement::Alter { name, change })
}
