//! `COPY table TO 'file'`, `COPY (query) TO 'file'` and `COPY table FROM 'file'`, with DataFusion's options or PostgreSQL's.

use datafusion::common::DataFusionError;
use datafusion::sql::sqlparser::ast::Query;
use datafusion::sql::sqlparser::dialect::Dialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use super::from_first::select_all_of;
use super::significant_tokens::{is_word, significant};
use common::error::EngineError;

pub struct CopyTo {
    pub query: Box<Query>,
    pub path: String,
    /// Names in lower case, without the prefix `format.`.
    pub options: Vec<(String, String)>,
}

pub struct CopyFrom {
    /// As SQL writes it.
    pub table: String,
    pub path: String,
    /// Names in lower case, without the prefix `format.`.
    pub options: Vec<(String, String)>,
}

/// Whether FROM comes before TO, outside of parentheses.
pub fn is_copy_from(tokens: &[TokenWithSpan]) -> bool {
    let mut depth = 0usize;
    for (_, token) in significant(tokens) {
        match &token.token {
            Token::LParen => depth += 1,
            Token::RParen => depth = depth.saturating_sub(1),
            token if depth == 0 && is_word(token, "FROM") => return true,
            token if depth == 0 && is_word(token, "TO") => return false,
            _ => {}
        }
    }
    false
}

pub fn parse_from(dialect: &dyn Dialect, tokens: Vec<TokenWithSpan>) -> Result<CopyFrom, DataFusionError> {
    let unsupported = |feature: &str, hint| Err(EngineError::unsupported(feature, Some(hint)).into_datafusion());
    let mut parser = Parser::new(dialect).with_tokens_with_locations(tokens);
    parser.expect_keyword(Keyword::COPY)?;
    if parser.peek_token().token == Token::LParen {
        return unsupported("COPY (query) FROM", "copy into a table");
    }
    let table = parser.parse_object_name(false)?.to_string();
    if parser.peek_token().token == Token::LParen {
        return unsupported("COPY into some columns", "columns are matched by name; leave the list out");
    }
    parser.expect_keyword(Keyword::FROM)?;
    if let Token::Word(_) = parser.peek_token().token {
        return unsupported("COPY from STDIN or a program", "copy from a file");
    }
    let path = parser.parse_literal_string()?;
    if let Token::Word(word) = parser.peek_token().token
        && !matches!(word.keyword, Keyword::WITH | Keyword::OPTIONS | Keyword::STORED)
    {
        let feature = format!("COPY option {}", word.value.to_uppercase());
        return unsupported(&feature, "write options in parentheses: (FORMAT csv)");
    }
    let options = parse_options(&mut parser)?;
    let _ = parser.consume_token(&Token::SemiColon);
    match parser.peek_token().token {
        Token::EOF => Ok(CopyFrom { table, path, options }),
        _ => Err(DataFusionError::Plan("there are several statements where one is expected".into())),
    }
}

pub fn parse(dialect: &dyn Dialect, recursion_limit: usize, tokens: Vec<TokenWithSpan>) -> Result<CopyTo, DataFusionError> {
    let parser = Parser::new(dialect).with_recursion_limit(recursion_limit);
    let mut parser = parser.with_tokens_with_locations(tokens);
    parser.expect_keyword(Keyword::COPY)?;
    let query = if parser.consume_token(&Token::LParen) {
        let mut query = parser.parse_query()?;
        parser.expect_token(&Token::RParen)?;
        select_all_of(&mut query);
        query
    } else {
        let table = parser.parse_object_name(false)?;
        if parser.peek_token().token == Token::LParen {
            let hint = Some("copy a query: COPY (SELECT …) TO …");
            return Err(EngineError::unsupported("COPY of some columns", hint).into_datafusion());
        }
        Parser::new(dialect).try_with_sql(&format!("SELECT * FROM {table}"))?.parse_query()?
    };
    parser.expect_keyword(Keyword::TO)?;
    if let Token::Word(word) = parser.peek_token().token {
        let feature = format!("COPY TO {}", word.value.to_uppercase());
        return Err(EngineError::unsupported(feature, Some("copy to a file; the shell prints results and pipes them")).into_datafusion());
    }
    let path = parser.parse_literal_string()?;
    let options = parse_options(&mut parser)?;
    Ok(CopyTo { query, path, options })
}

fn parse_options(parser: &mut Parser<'_>) -> Result<Vec<(String, String)>, DataFusionError> {
    let mut options = Vec::new();
    loop {
        if parser.parse_keywords(&[Keyword::STORED, Keyword::AS]) {
            options.push(("format".to_string(), word_or_text(parser)?));
        } else if parser.parse_keyword(Keyword::OPTIONS)
            || parser.parse_keyword(Keyword::WITH)
            || parser.peek_token().token == Token::LParen
        {
            option_list(parser, &mut options)?;
        } else if parser.parse_keywords(&[Keyword::PARTITIONED, Keyword::BY]) {
            let hint = Some("copy each part with a query of its own");
            return Err(EngineError::unsupported("COPY … PARTITIONED BY", hint).into_datafusion());
        } else if matches!(parser.peek_token().token, Token::EOF | Token::SemiColon) {
            return Ok(options);
        } else {
            let found = parser.peek_token();
            return Err(parser.expected::<()>("options in parentheses or the end of the statement", found).unwrap_err().into());
        }
    }
}

/// `(name value, name = value, name, name [value, value])`; a name alone means true, and NULL with a list is there several times.
fn option_list(parser: &mut Parser<'_>, options: &mut Vec<(String, String)>) -> Result<(), DataFusionError> {
    parser.expect_token(&Token::LParen)?;
    loop {
        let mut name = word_or_text(parser)?;
        while parser.consume_token(&Token::Period) {
            name = format!("{name}.{}", word_or_text(parser)?);
        }
        let name = name.to_ascii_lowercase();
        let name = name.strip_prefix("format.").unwrap_or(&name).to_string();
        let _ = parser.consume_token(&Token::Eq);
        let values = match parser.peek_token().token {
            Token::Comma | Token::RParen => vec!["true".to_string()],
            Token::LBracket if !matches!(name.as_str(), "null" | "nullstr" | "null_value") => {
                let message = format!("the option {name} has one value, and no list");
                return Err(EngineError::Sql { message, position: None, hint: None }.into_datafusion());
            }
            Token::LBracket => {
                parser.next_token();
                let values = parser.parse_comma_separated(word_or_text)?;
                parser.expect_token(&Token::RBracket)?;
                values
            }
            _ => vec![word_or_text(parser)?],
        };
        options.extend(values.into_iter().map(|value| (name.clone(), value)));
        if !parser.consume_token(&Token::Comma) {
            parser.expect_token(&Token::RParen)?;
            return Ok(());
        }
    }
}

fn word_or_text(parser: &mut Parser<'_>) -> Result<String, ParserError> {
    let token = parser.next_token();
    match token.token {
        Token::Word(word) => Ok(word.value),
        Token::SingleQuotedString(text) | Token::DoubleQuotedString(text) | Token::EscapedStringLiteral(text) => Ok(text),
        Token::Number(digits, _) => Ok(digits),
        _ => parser.expected("an option's name or value", token),
    }
}
