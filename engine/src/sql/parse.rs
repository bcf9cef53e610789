//! Text to a statement, with clear refusals.

use datafusion::execution::SessionState;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast;
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::Parser;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

use super::locate::locate;
use crate::error::{EngineError, clean};

/// Statements longer than this are refused before they are parsed.
const SQL_BYTES_MAX: usize = 64 << 20;
/// Operators in one statement: each is a level of the tree that planning walks.
const OPERATORS_MAX: usize = 20_000;

pub enum Parsed {
    /// `COPY table FROM 'file'`, which DataFusion's parser does not know.
    CopyFrom(Box<ast::Statement>),
    Statement(Box<Statement>),
}

pub fn parse(state: &SessionState, sql: &str) -> Result<Parsed, EngineError> {
    check_size(sql)?;
    if let Some(copy) = copy_from(sql)? {
        return Ok(Parsed::CopyFrom(Box::new(copy)));
    }
    let dialect = state.config().options().sql_parser.dialect;
    match state.sql_to_statement(sql, &dialect) {
        Ok(statement) => Ok(Parsed::Statement(Box::new(statement))),
        Err(error) => Err(parse_error(sql, error)),
    }
}

fn parse_error(sql: &str, error: datafusion::common::DataFusionError) -> EngineError {
    let position = locate(sql, &error);
    let message = error.strip_backtrace();
    if message.contains("recursion limit") || message.contains("RecursionLimit") {
        let message = "the statement is nested too deeply".to_string();
        return EngineError::Sql { message, position: None, hint: Some("use fewer levels of parentheses".into()) };
    }
    let message = clean(&message);
    let message = message.split(" at Line: ").next().unwrap_or_default();
    let message = message.trim_start_matches("ParserError(\"").trim_start_matches("TokenizerError(\"");
    EngineError::Sql { message: format!("syntax error: {}", lower_first(message)), position, hint: None }
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_lowercase().chain(chars).collect())
}

fn check_size(sql: &str) -> Result<(), EngineError> {
    let refuse = |message: String| Err(EngineError::Sql { message, position: None, hint: None });
    if sql.len() > SQL_BYTES_MAX {
        return refuse(format!("the statement has {} bytes, more than {SQL_BYTES_MAX}", sql.len()));
    }
    // A short text cannot hold too many.
    if sql.len() < OPERATORS_MAX {
        return Ok(());
    }
    let Ok(tokens) = Tokenizer::new(&PostgreSqlDialect {}, sql).tokenize() else { return Ok(()) };
    let operators = tokens.iter().filter(|token| is_operator(token)).count();
    if operators > OPERATORS_MAX {
        return refuse(format!("the statement has {operators} operators, more than {OPERATORS_MAX}; use IN (…) or a join with a table of values"));
    }
    Ok(())
}

fn is_operator(token: &Token) -> bool {
    match token {
        Token::Word(word) if word.quote_style.is_none() => {
            ["AND", "OR", "NOT", "UNION", "EXCEPT", "INTERSECT", "JOIN"].iter().any(|keyword| word.value.eq_ignore_ascii_case(keyword))
        }
        Token::Plus | Token::Minus | Token::Mul | Token::Div | Token::Mod | Token::StringConcat | Token::Eq | Token::Lt
        | Token::Gt | Token::LtEq | Token::GtEq | Token::Neq | Token::DoubleColon | Token::LBracket => true,
        _ => false,
    }
}

/// `COPY … FROM`, if that is what the text is.
fn copy_from(sql: &str) -> Result<Option<ast::Statement>, EngineError> {
    let start: Vec<&str> = sql.split_whitespace().take(1).collect();
    if !start.first().is_some_and(|word| word.eq_ignore_ascii_case("copy")) {
        return Ok(None);
    }
    let Ok(statements) = Parser::parse_sql(&PostgreSqlDialect {}, sql) else { return Ok(None) };
    let mut statements = statements.into_iter();
    Ok(match statements.next() {
        Some(copy @ ast::Statement::Copy { to: false, .. }) => Some(copy),
        _ => None,
    })
}
