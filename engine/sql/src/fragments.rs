//! Parses our own fragments of SQL without positions: their positions would be taken for positions in the statement.

use datafusion::sql::sqlparser::ast::{DataType, Expr, Query, Statement};
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

use crate::QuiverDialect;

pub fn query_of(sql: &str) -> Result<Query, ParserError> {
    match parser_of(sql)?.parse_statement()? {
        Statement::Query(query) => Ok(*query),
        other => Err(ParserError::ParserError(format!("{other} is no query"))),
    }
}

pub fn expr_of(sql: &str) -> Result<Expr, ParserError> {
    parser_of(sql)?.parse_expr()
}

/// Parses a type; `sql` must contain nothing else.
pub fn type_of(sql: &str) -> Result<DataType, ParserError> {
    let mut parser = parser_of(sql)?;
    let data_type = parser.parse_data_type()?;
    parser.expect_token(&Token::EOF)?;
    Ok(data_type)
}

fn parser_of(sql: &str) -> Result<Parser<'static>, ParserError> {
    let tokens = Tokenizer::new(&QuiverDialect, sql).tokenize()?;
    Ok(Parser::new(&QuiverDialect).with_tokens(tokens))
}
