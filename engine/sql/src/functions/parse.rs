//! Parses tokens to a statement about functions.

use std::collections::HashSet;

use datafusion::common::DataFusionError;
use datafusion::logical_expr::Volatility;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{DataType, Expr, Query, SelectItem, SetExpr, Statement as SqlStatement};
use datafusion::sql::sqlparser::dialect::Dialect;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use super::bodies::select_of;
use super::body_names::check_names;
use super::statement::{
    CodeReturns, CreateFunction, DropFunction, FunctionBody, FunctionDefinition, FunctionStatement, ModuleSource, Parameter, PythonCode,
    ResultColumn,
};
use crate::from_first::select_all;
use crate::locate::PositionFinder;
use crate::missing_from::check_from;
use crate::nesting::check_nesting;
use crate::operator_limits::check_operator_limits;
use crate::parse_error::parse_error;
use crate::parse_steps::{accept, end, expect, name, qualified_name};
use crate::refuse::refuse_ignored;
use crate::significant_tokens::{is_word, significant};
use crate::split::split_statements;
use crate::tokens::tokenize;
use crate::versions::alias_versions;
use common::error::EngineError;

type Parsed<T> = Result<T, ParserError>;

enum Refused {
    Syntax(ParserError),
    Other(EngineError),
}

impl From<ParserError> for Refused {
    fn from(error: ParserError) -> Refused {
        Refused::Syntax(error)
    }
}

impl From<EngineError> for Refused {
    fn from(error: EngineError) -> Refused {
        Refused::Other(error)
    }
}

/// The statement, if it is one of these. `limit` is the limit for the recursion of the parser.
pub fn parse_functions(
    sql: &str,
    dialect: &dyn Dialect,
    limit: usize,
    tokens: &[TokenWithSpan],
) -> Result<Option<FunctionStatement>, EngineError> {
    let words: Vec<&Token> = significant(tokens).map(|(_, token)| &token.token).take(4).collect();
    let is = |at: usize, word: &str| words.get(at).is_some_and(|token| is_word(token, word));
    let replaces = is(1, "OR") && is(2, "REPLACE");
    let kind_at = if replaces { 3 } else { 1 };
    let is_kind = |at: usize| ["FUNCTION", "PROCEDURE", "AGGREGATE"].iter().any(|kind| is(at, kind));
    if is(0, "CREATE") && is(kind_at, "MACRO") {
        let hint = "write CREATE FUNCTION f(a DOUBLE) RETURNS DOUBLE RETURN a * 2: parameters and results have types";
        return Err(EngineError::unsupported("CREATE MACRO", Some(hint)));
    }
    let mut parser = Parser::new(dialect).with_recursion_limit(limit).with_tokens_with_locations(tokens.to_vec());
    let mut skip = |count: usize| (0..count).for_each(|_| drop(parser.next_token()));
    let located = |error: ParserError| parse_error(sql, DataFusionError::from(error));
    match () {
        () if is(0, "CREATE") && is_kind(kind_at) => {
            skip(kind_at + 1);
            let text = kept_text(sql, tokens, kind_at);
            check_kept(sql, dialect, &text, kind_at)?;
            let (definition, if_not_exists) =
                create(sql, dialect, limit, tokens, &mut parser, kind_of(&words, kind_at), text).map_err(|refused| match refused {
                    Refused::Syntax(error) => located(error),
                    Refused::Other(error) => error,
                })?;
            Ok(FunctionStatement::Create(Box::new(CreateFunction { definition, or_replace: replaces, if_not_exists })))
        }
        () if is(0, "DROP") && is_kind(1) => {
            skip(2);
            drop_function(&mut parser, is(1, "PROCEDURE")).map(FunctionStatement::Drop).map_err(located)
        }
        () if is(0, "ALTER") && is_kind(1) => {
            let hint = "CREATE OR REPLACE FUNCTION changes a definition, and GRANT OWNERSHIP ON FUNCTION f TO name its owner";
            Err(EngineError::unsupported("ALTER FUNCTION", Some(hint)))
        }
        // A column may have the name: only the beginning of a statement is meant.
        () if is(0, "CALL") => {
            skip(1);
            call(&mut parser).map_err(located)
        }
        () => return Ok(None),
    }
    .map(Some)
}

/// From the word behind CREATE to the last token: a comment behind it would hide the semicolon that is put there.
fn kept_text(sql: &str, tokens: &[TokenWithSpan], kind_at: usize) -> String {
    let mut positions = PositionFinder::of(sql);
    let mut words = significant(tokens).map(|(_, token)| token).filter(|token| token.token != Token::EOF).skip(kind_at);
    let start = words.next().map_or(0, |token| positions.offset(token.span.start.line, token.span.start.column));
    let last = words.filter(|token| token.token != Token::SemiColon).last();
    let end = last.map_or(sql.len(), |token| positions.offset(token.span.end.line, token.span.end.column));
    format!("CREATE {}", &sql[start..end.max(start)])
}

/// The tokens of the text are those of the statement. The tokenizer reads what is in comments like `/*! */`, where positions are wrong, and a text that
/// was cut there would mean something else with the texts of other definitions behind it.
fn check_kept(sql: &str, dialect: &dyn Dialect, text: &str, kind_at: usize) -> Result<(), EngineError> {
    // So it is at each use.
    if text == sql.trim() {
        return Ok(());
    }
    let tokens_of = |text: &str, from: usize| {
        let tokens = tokenize(text, dialect).ok()?;
        let mut found: Vec<Token> = significant(&tokens).map(|(_, token)| token.token.clone()).skip(from).collect();
        while found.last() == Some(&Token::SemiColon) {
            found.pop();
        }
        Some(found)
    };
    let kept = tokens_of(text, 1);
    match kept.is_some() && kept == tokens_of(sql, kind_at) {
        true => Ok(()),
        false => Err(EngineError::unsupported("a comment like /*! */ in a definition", Some("write the definition without it"))),
    }
}

fn call(parser: &mut Parser<'_>) -> Parsed<FunctionStatement> {
    let name = qualified_name(parser)?;
    parser.expect_token(&Token::LParen)?;
    let arguments = match parser.consume_token(&Token::RParen) {
        true => Vec::new(),
        false => {
            let arguments = parser.parse_comma_separated(Parser::parse_expr)?;
            parser.expect_token(&Token::RParen)?;
            arguments
        }
    };
    end(parser)?;
    Ok(FunctionStatement::Call { name, arguments })
}

fn drop_function(parser: &mut Parser<'_>, is_procedure: bool) -> Parsed<DropFunction> {
    let if_exists = accept(parser, &["IF", "EXISTS"]);
    let name = qualified_name(parser)?;
    let types = match parser.consume_token(&Token::LParen) {
        false => None,
        true if parser.consume_token(&Token::RParen) => Some(Vec::new()),
        true => {
            let types = parser.parse_comma_separated(Parser::parse_data_type)?;
            parser.expect_token(&Token::RParen)?;
            Some(types)
        }
    };
    accept(parser, &["RESTRICT"]);
    end(parser)?;
    Ok(DropFunction { name, types, if_exists, is_procedure })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Function,
    Aggregate,
    Procedure,
}

fn kind_of(words: &[&Token], at: usize) -> Kind {
    match words.get(at) {
        Some(word) if is_word(word, "PROCEDURE") => Kind::Procedure,
        Some(word) if is_word(word, "AGGREGATE") => Kind::Aggregate,
        _ => Kind::Function,
    }
}

/// What stands between the parameters and the body.
#[derive(Default)]
struct Clauses {
    is_strict: bool,
    is_definer: bool,
    volatility: Option<Volatility>,
    language: Language,
    returns: Option<Returns>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Language {
    #[default]
    Sql,
    Wasm,
    Python,
}

enum Returns {
    Value(DataType),
    Table(Vec<ResultColumn>),
}

fn create(
    sql: &str,
    dialect: &dyn Dialect,
    limit: usize,
    tokens: &[TokenWithSpan],
    parser: &mut Parser<'_>,
    kind: Kind,
    text: String,
) -> Result<(FunctionDefinition, bool), Refused> {
    let if_not_exists = accept(parser, &["IF", "NOT", "EXISTS"]);
    let name = qualified_name(parser)?;
    let parameters = named_types(parser, |name, data_type| Parameter { name, data_type })?;
    let mut seen = HashSet::new();
    if let Some(twice) = parameters.iter().find(|parameter| !seen.insert(parameter.name.as_str())) {
        let message = format!("two parameters of \"{}\" are called \"{}\"", name.table(), twice.name);
        return Err(EngineError::Sql { message, position: None, hint: None }.into());
    }
    let Clauses { is_strict, is_definer, volatility, language, returns } = clauses(parser, kind)?;
    if is_definer && kind != Kind::Procedure {
        // A condition of who calls it could be computed before those of the body, and its errors would show rows that the body hides.
        let hint = "a function works with the rights of who calls it; a procedure may have those of its owner";
        return Err(EngineError::unsupported("SECURITY DEFINER for a function", Some(hint)).into());
    }
    let is_aggregate = kind == Kind::Aggregate;
    if is_aggregate && language == Language::Sql {
        let hint = "LANGUAGE wasm and LANGUAGE python have them; a function in SQL may have a subquery with the aggregates that there are";
        return Err(EngineError::unsupported("CREATE AGGREGATE in SQL", Some(hint)).into());
    }
    if is_aggregate && parameters.is_empty() {
        return Err(EngineError::unsupported("an aggregate without parameters", Some("count(*) counts rows")).into());
    }
    if is_strict && (kind != Kind::Function || language != Language::Sql && matches!(returns, Some(Returns::Table(_)))) {
        let what = match kind {
            Kind::Aggregate => "STRICT for an aggregate",
            Kind::Procedure => "STRICT for a procedure",
            Kind::Function => "STRICT for a function of tables",
        };
        return Err(EngineError::unsupported(what, Some("the function itself leaves out NULL")).into());
    }
    if let Some(parameter) = parameters.iter().find(|parameter| parameter.is_table())
        && !(kind == Kind::Function && language != Language::Sql && matches!(returns, Some(Returns::Table(_))))
    {
        let hint = match kind {
            Kind::Procedure => "a procedure reads the tables that its statements name: give it their names",
            _ => "a function in Python or WebAssembly that RETURNS TABLE (…) is given tables; a function in SQL names those that it reads",
        };
        return Err(EngineError::unsupported(format!("the parameter \"{}\" of type TABLE", parameter.name), Some(hint)).into());
    }
    let volatility = volatility.unwrap_or(Volatility::Volatile);
    let body = match returns {
        None | Some(Returns::Table(_)) if kind == Kind::Procedure && language == Language::Python => {
            let columns = match returns {
                Some(Returns::Table(columns)) if columns.is_empty() => return Err(without_columns("procedure").into()),
                Some(Returns::Table(columns)) => columns,
                _ => Vec::new(),
            };
            FunctionBody::Python { returns: CodeReturns::Procedure(columns), code: python(parser, name.table())? }
        }
        Some(_) if kind == Kind::Procedure => {
            let hint = "its rows are those of its last statement; LANGUAGE python may declare RETURNS TABLE (…)";
            return Err(EngineError::unsupported("RETURNS for a procedure in SQL", Some(hint)).into());
        }
        None if kind == Kind::Procedure => FunctionBody::Procedure { statements: statements(sql, tokens, parser)? },
        None => {
            let token = parser.peek_token();
            return Ok(parser.expected("RETURNS and a type", token)?);
        }
        Some(returns) if language != Language::Sql => {
            let returns = match returns {
                Returns::Value(returns) if is_aggregate => CodeReturns::Aggregate(returns),
                Returns::Value(returns) => CodeReturns::Value(returns),
                Returns::Table(columns) if columns.is_empty() => return Err(without_columns("function").into()),
                Returns::Table(columns) => CodeReturns::Table(columns),
            };
            match language {
                Language::Wasm => FunctionBody::Module { returns, module: module(parser, name.table())? },
                _ => FunctionBody::Python { returns, code: python(parser, name.table())? },
            }
        }
        Some(Returns::Value(returns)) => FunctionBody::Scalar { returns, query: finished(sql, query(parser, dialect, limit, true)?)? },
        Some(Returns::Table(columns)) => FunctionBody::Table { columns, query: finished(sql, query(parser, dialect, limit, false)?)? },
    };
    if let FunctionBody::Scalar { query, .. } | FunctionBody::Table { query, .. } = &body {
        check_names(query, name.table(), &parameters)?;
    }
    Ok((FunctionDefinition { name, parameters, is_strict, is_definer, volatility, body, text }, if_not_exists))
}

fn without_columns(kind: &str) -> EngineError {
    let hint = "write RETURNS TABLE (name type, …): the columns are known before the code runs";
    EngineError::unsupported(format!("RETURNS TABLE without columns for a {kind} that is not in SQL"), Some(hint))
}

/// `(a INTEGER, b VARCHAR)`
fn named_types<T>(parser: &mut Parser<'_>, made: impl Fn(String, DataType) -> T) -> Parsed<Vec<T>> {
    parser.expect_token(&Token::LParen)?;
    if parser.consume_token(&Token::RParen) {
        return Ok(Vec::new());
    }
    let all = parser.parse_comma_separated(|parser| {
        let token = parser.peek_token();
        if matches!(token.token, Token::SingleQuotedString(_)) {
            return parser.expected("a name", token);
        }
        Ok(made(name(parser)?, parser.parse_data_type()?))
    })?;
    parser.expect_token(&Token::RParen)?;
    Ok(all)
}

fn clauses(parser: &mut Parser<'_>, kind: Kind) -> Result<Clauses, Refused> {
    let mut clauses = Clauses::default();
    loop {
        match () {
            () if accept(parser, &["RETURNS", "NULL", "ON", "NULL", "INPUT"]) || accept(parser, &["STRICT"]) => clauses.is_strict = true,
            () if accept(parser, &["CALLED", "ON", "NULL", "INPUT"]) => clauses.is_strict = false,
            // What a function in SQL does is in its body, where the planner sees it.
            () if accept(parser, &["IMMUTABLE"]) => clauses.volatility = Some(Volatility::Immutable),
            () if accept(parser, &["STABLE"]) => clauses.volatility = Some(Volatility::Stable),
            () if accept(parser, &["VOLATILE"]) => clauses.volatility = Some(Volatility::Volatile),
            () if accept(parser, &["SECURITY", "INVOKER"]) => clauses.is_definer = false,
            () if accept(parser, &["SECURITY", "DEFINER"]) => clauses.is_definer = true,
            () if accept(parser, &["LANGUAGE"]) => {
                let language = name(parser)?;
                clauses.language = match () {
                    () if language.eq_ignore_ascii_case("sql") => Language::Sql,
                    () if kind != Kind::Procedure && language.eq_ignore_ascii_case("wasm") => Language::Wasm,
                    () if language.eq_ignore_ascii_case("python") => Language::Python,
                    () => {
                        let hint = "there are sql, wasm and python, and procedures are in SQL or Python";
                        return Err(EngineError::unsupported(format!("LANGUAGE {language}"), Some(hint)).into());
                    }
                };
            }
            () if kind != Kind::Aggregate && accept(parser, &["RETURNS", "TABLE"]) => {
                let columns = match parser.peek_token().token {
                    Token::LParen => named_types(parser, |name, data_type| ResultColumn { name, data_type })?,
                    _ => Vec::new(),
                };
                clauses.returns = Some(Returns::Table(columns));
            }
            () if kind != Kind::Procedure && accept(parser, &["RETURNS"]) => {
                clauses.returns = Some(Returns::Value(parser.parse_data_type()?))
            }
            () => return Ok(clauses),
        }
    }
}

/// `AS BLOB b [SYMBOL 'name'] [HASH '…']`
fn module(parser: &mut Parser<'_>, function: &str) -> Result<ModuleSource, Refused> {
    expect(parser, &["AS", "BLOB"])?;
    let blob = qualified_name(parser)?;
    let symbol = if accept(parser, &["SYMBOL"]) { parser.parse_literal_string()? } else { function.to_string() };
    let hash = if accept(parser, &["HASH"]) { Some(parser.parse_literal_string()?.to_lowercase()) } else { None };
    end(parser)?;
    Ok(ModuleSource { blob, symbol, hash })
}

/// `AS $$ source $$ [SYMBOL 'name']`
fn python(parser: &mut Parser<'_>, function: &str) -> Result<PythonCode, Refused> {
    expect(parser, &["AS"])?;
    let source = quoted_text(parser, "the source in quotes: $$ … $$")?;
    let symbol = if accept(parser, &["SYMBOL"]) { parser.parse_literal_string()? } else { function.to_string() };
    end(parser)?;
    Ok(PythonCode { source, symbol })
}

fn quoted_text(parser: &mut Parser<'_>, expected: &str) -> Parsed<String> {
    let token = parser.next_token();
    match token.token {
        Token::SingleQuotedString(text) => Ok(text),
        Token::DollarQuotedString(text) => Ok(text.value),
        _ => parser.expected(expected, token),
    }
}

/// RETURN and an expression or a query, or AS and a query in quotes. That of a scalar function is `SELECT body`.
fn query(parser: &mut Parser<'_>, dialect: &dyn Dialect, limit: usize, is_scalar: bool) -> Result<Box<Query>, Refused> {
    let query = if accept(parser, &["AS"]) {
        let text = quoted_text(parser, "the body in quotes")?;
        let query = quoted_query(&text, dialect, limit)?;
        match is_scalar && !is_bare_select(&query) {
            true => select_of(Expr::Subquery(Box::new(query)))?,
            false => Box::new(query),
        }
    } else {
        expect(parser, &["RETURN"])?;
        if is_scalar { select_of(parser.parse_expr()?)? } else { parser.parse_query()? }
    };
    end(parser)?;
    Ok(query)
}

/// The query of a text in quotes, within the limits of a statement. Its positions would be taken for positions in the statement.
fn quoted_query(text: &str, dialect: &dyn Dialect, limit: usize) -> Result<Query, Refused> {
    let tokens = tokenize(text, dialect)?;
    check_operator_limits(&tokens)?;
    let limit = check_nesting(text, dialect, limit, &tokens)?;
    let tokens = tokens.into_iter().map(|token| token.token).collect();
    let mut parser = Parser::new(dialect).with_recursion_limit(limit).with_tokens(tokens);
    let query = parser.parse_query()?;
    end(&mut parser)?;
    Ok(*query)
}

/// Whether it is SELECT and one expression, without any clause.
fn is_bare_select(query: &Query) -> bool {
    let SetExpr::Select(select) = query.body.as_ref() else { return false };
    let has_one = matches!(select.projection.as_slice(), [SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. }]);
    has_one && query.to_string() == format!("SELECT {}", select.projection[0])
}

/// The query after the steps that every statement takes.
fn finished(sql: &str, query: Box<Query>) -> Result<Box<Query>, EngineError> {
    let mut statement = Statement::Statement(Box::new(SqlStatement::Query(query)));
    select_all(&mut statement);
    check_from(sql, &statement)?;
    refuse_ignored(&statement)?;
    alias_versions(&mut statement);
    match statement {
        Statement::Statement(statement) => match *statement {
            SqlStatement::Query(query) => Ok(query),
            _ => Err(EngineError::internal("the body of a function is no query")),
        },
        _ => Err(EngineError::internal("the body of a function is no query")),
    }
}

/// The texts between BEGIN and the last END.
fn statements(sql: &str, tokens: &[TokenWithSpan], parser: &mut Parser<'_>) -> Parsed<Vec<String>> {
    let begin = parser.peek_token();
    expect(parser, &["BEGIN"])?;
    accept(parser, &["ATOMIC"]);
    let first = parser.peek_token();
    let all: Vec<&TokenWithSpan> = significant(tokens).map(|(_, token)| token).filter(|token| token.token != Token::EOF).collect();
    let last = all.iter().rposition(|token| token.token != Token::SemiColon).filter(|at| is_word(&all[*at].token, "END"));
    let Some(at) = last.filter(|at| all[*at].span.start >= first.span.start) else {
        return parser.expected("statements, and END behind them", begin);
    };
    let (last, before) = (all[at], all[at - 1]);
    // The splitter of scripts tells this END from a column of that name by the semicolon.
    if before.span.start >= first.span.start && before.token != Token::SemiColon {
        return parser.expected("a semicolon behind each statement", last.clone());
    }
    let mut positions = PositionFinder::of(sql);
    let start = positions.offset(first.span.start.line, first.span.start.column);
    let body = &sql[start..positions.offset(last.span.start.line, last.span.start.column)];
    let statements: Vec<String> = split_statements(body).into_iter().map(|statement| statement.text.to_string()).collect();
    if statements.is_empty() {
        return parser.expected("a statement between BEGIN and END", first);
    }
    Ok(statements)
}
