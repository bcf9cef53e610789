//! Parses text to a statement and refuses what is not supported with a clear message.

use datafusion::common::DataFusionError;
use datafusion::common::config::ConfigOptions;
use datafusion::execution::SessionState;
use datafusion::sql::parser::{DFParserBuilder, Statement};
use datafusion::sql::sqlparser::ast;
use datafusion::sql::sqlparser::dialect::Dialect;
use datafusion::sql::sqlparser::tokenizer::TokenWithSpan;

use super::access::{AccessStatement, parse_access};
use super::arrays::{ArrayStatement, parse_arrays, quote_slices};
use super::column_list::{TableClauses, take_column_list};
use super::copy_to::{self, CopyFrom, CopyTo};
use super::dialect::QuiverDialect;
use super::from_first::{select_all, select_all_first};
use super::functions::{FunctionStatement, parse_functions};
use super::maintenance::{MaintenanceStatement, parse_maintenance};
use super::merge_do_nothing::rewrite_do_nothing;
use super::missing_from::check_from;
use super::nesting::{check_nesting, most_levels};
use super::objects::{ObjectStatement, parse_objects, take_tags_clause};
use super::operator_limits::check_operator_limits;
use super::order_clause::{KeyColumn, take_alter_key, take_order_clause};
use super::parse_error::parse_error;
use super::planning_bytes::reserve_planning;
use super::refuse::refuse_ignored;
use super::select_into::{select_into, volatile_as_temporary};
use super::significant_tokens::{is_word, significant};
use super::summarize::take_summarize;
use super::tokens::{double_literals, number_parameters, struct_types, tokenize, unnest_alone};
use super::versions::{self, VersionStatement};
use common::error::EngineError;
use common::memory::StatementMemory;

/// Statements longer than this are refused before they are parsed.
const SQL_BYTES_MAX: usize = 64 << 20;

/// A statement. Those that DataFusion's parser does not know are separate variants.
pub enum Parsed {
    CopyFrom(Box<CopyFrom>),
    CopyTo(Box<CopyTo>),
    CreateTable(Box<ast::CreateTable>, TableClauses),
    /// With the order that it sets, if any.
    AlterTable(Box<ast::AlterTable>, Option<Vec<KeyColumn>>),
    Versions(VersionStatement),
    Maintenance(MaintenanceStatement),
    Access(AccessStatement),
    Objects(ObjectStatement),
    Arrays(ArrayStatement),
    Functions(FunctionStatement),
    /// With the query whose columns it shows.
    Summarize(Box<ast::Query>),
    Statement(Box<Statement>),
}

pub fn parse(state: &SessionState, sql: &str) -> Result<Parsed, EngineError> {
    parse_with(state.config_options(), sql)
}

/// The same with the settings of a session.
pub fn parse_with(options: &ConfigOptions, sql: &str) -> Result<Parsed, EngineError> {
    if sql.len() > SQL_BYTES_MAX {
        return Err(refused(format!("the statement has {} bytes, more than {SQL_BYTES_MAX}", sql.len())));
    }
    reserve_planning(sql, StatementMemory::of(options))?;
    let options = &options.sql_parser;
    let dialect: &dyn Dialect = &QuiverDialect;
    let mut tokens = tokenize(sql, dialect).map_err(|error| parse_error(sql, error.into()))?;
    // This comes first, because errors of other statements show parts of their text.
    if let Some(statement) = parse_access(&tokens)? {
        return Ok(Parsed::Access(statement));
    }
    quote_slices(&mut tokens);
    let is_summary = take_summarize(&mut tokens);
    struct_types(&mut tokens);
    unnest_alone(&mut tokens);
    number_parameters(&mut tokens)?;
    volatile_as_temporary(&mut tokens);
    check_operator_limits(&tokens)?;
    let limit = check_nesting(sql, dialect, options.recursion_limit.get(), &tokens)?;
    double_literals(sql, &mut tokens)?;
    let has_versions = versions::name_versions(sql, dialect, &mut tokens)?;
    if let Some(statement) = versions::parse_versions(sql, dialect, &tokens)? {
        return Ok(Parsed::Versions(statement));
    }
    if let Some(statement) = parse_maintenance(sql, dialect, &tokens)? {
        return Ok(Parsed::Maintenance(statement));
    }
    if let Some(statement) = parse_objects(sql, dialect, limit, &tokens)? {
        return Ok(Parsed::Objects(statement));
    }
    if let Some(statement) = parse_arrays(sql, dialect, limit, &tokens)? {
        return Ok(Parsed::Arrays(statement));
    }
    if let Some(statement) = parse_functions(sql, dialect, limit, &tokens)? {
        return Ok(Parsed::Functions(statement));
    }
    rewrite_do_nothing(&mut tokens);
    select_all_first(&mut tokens);
    if significant(&tokens).next().is_some_and(|(_, token)| is_word(&token.token, "COPY")) {
        return match copy_to::is_copy_from(&tokens) {
            true => copy_to::parse_from(dialect, tokens).map(|copy| Parsed::CopyFrom(Box::new(copy))),
            false => copy_to::parse(dialect, limit, tokens).map(|copy| Parsed::CopyTo(Box::new(copy))),
        }
        .map_err(|error| parse_error(sql, error));
    }
    let tags = take_tags_clause(sql, dialect, limit, &mut tokens)?;
    let key = take_order_clause(sql, &mut tokens)?;
    let altered_key = take_alter_key(sql, &mut tokens)?;
    let names = take_column_list(&mut tokens);
    let mut statement = one_statement(dialect, limit, tokens).map_err(|error| parse_error(sql, error))?;
    if let Statement::Statement(inner) = statement {
        statement = Statement::Statement(Box::new(select_into(*inner)?));
    }
    check_from(sql, &statement)?;
    refuse_ignored(&statement)?;
    if has_versions {
        versions::alias_versions(&mut statement);
    }
    Ok(match statement {
        Statement::Statement(statement) => match *statement {
            ast::Statement::Query(query) if is_summary => Parsed::Summarize(query),
            _ if is_summary => return Err(refused("SUMMARIZE takes a table, a file or a query".into())),
            ast::Statement::CreateTable(create) => Parsed::CreateTable(Box::new(create), TableClauses { key, names, tags }),
            ast::Statement::AlterTable(alter) => Parsed::AlterTable(Box::new(alter), altered_key),
            other => Parsed::Statement(Box::new(Statement::Statement(Box::new(other)))),
        },
        other => Parsed::Statement(Box::new(other)),
    })
}

/// A statement that the store keeps as text: that of a view or of an external table.
pub fn kept_statement(state: &SessionState, sql: &str) -> Result<Statement, EngineError> {
    let dialect = QuiverDialect;
    let limit = most_levels(state.config().options().sql_parser.recursion_limit.get());
    let mut tokens = tokenize(sql, &dialect).map_err(|error| parse_error(sql, error.into()))?;
    let has_versions = versions::name_versions(sql, &dialect, &mut tokens)?;
    let mut statement = one_statement(&dialect, limit, tokens).map_err(|error| parse_error(sql, error))?;
    if has_versions {
        versions::alias_versions(&mut statement);
    }
    Ok(statement)
}

fn one_statement(dialect: &dyn Dialect, limit: usize, tokens: Vec<TokenWithSpan>) -> Result<Statement, DataFusionError> {
    let mut parser = DFParserBuilder::new(tokens).with_dialect(dialect).with_recursion_limit(limit).build()?;
    let mut statements = parser.parse_statements()?;
    match (statements.pop_front(), statements.is_empty()) {
        (Some(mut statement), true) => {
            select_all(&mut statement);
            Ok(statement)
        }
        (None, _) => Err(DataFusionError::Plan("there is no statement".into())),
        (_, false) => Err(DataFusionError::Plan("there are several statements where one is expected".into())),
    }
}

fn refused(message: String) -> EngineError {
    EngineError::Sql { message, position: None, hint: None }
}
