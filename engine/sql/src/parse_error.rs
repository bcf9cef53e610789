//! Rewords errors of the parser for users.

use common::error::EngineError;
use common::error::text::clean;
use datafusion::common::DataFusionError;
use datafusion::sql::sqlparser::parser::ParserError;

use super::locate::locate;
use super::typo_hint::syntax_hint;

pub fn parse_error(sql: &str, error: DataFusionError) -> EngineError {
    let position = locate(sql, &error);
    let message = match error.find_root() {
        DataFusionError::External(source) if source.is::<EngineError>() => return EngineError::from(error),
        DataFusionError::Plan(message) => return refused(message.clone()),
        DataFusionError::SQL(error, _) => match error.as_ref() {
            ParserError::TokenizerError(message) | ParserError::ParserError(message) => message.clone(),
            ParserError::RecursionLimitExceeded => return too_deep(),
        },
        other => clean(&other.strip_backtrace()),
    };
    let message = message.split(" at Line: ").next().unwrap_or_default();
    // The parser says this for a statement that ends too early.
    let message = message.replace("found: EOF", "found the end of the statement");
    let message = lower_first(&message);
    if let Some(found) = message.strip_prefix("expected: literal int, found: ") {
        let is_kill = sql.trim_start().get(..4).is_some_and(|word| word.eq_ignore_ascii_case("KILL"));
        let hint = is_kill.then(|| "KILL takes the query_id of system.queries".to_string());
        return EngineError::Sql { message: format!("syntax error: a whole number is expected, and not {found}"), position, hint };
    }
    let hint = syntax_hint(sql, &message, position);
    EngineError::Sql { message: format!("syntax error: {message}"), position, hint }
}

pub fn too_deep() -> EngineError {
    let message = "the statement is nested too deeply".to_string();
    EngineError::Sql { message, position: None, hint: Some("use fewer levels of parentheses, of CASE or of subqueries".into()) }
}

fn refused(message: String) -> EngineError {
    EngineError::Sql { message, position: None, hint: None }
}

/// A word in capitals stays as it is.
fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    let Some(first) = chars.next() else { return String::new() };
    if chars.as_str().starts_with(char::is_uppercase) { text.to_string() } else { first.to_lowercase().chain(chars).collect() }
}
