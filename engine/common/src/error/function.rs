//! A function called with arguments that it does not take. DataFusion lists why each of its signatures does not match, and then all
//! signatures; our message says what was given, or how many arguments there are.

use arrow::datatypes::DataType;
use datafusion::common::DataFusionError;

use crate::error::EngineError;
use crate::error::text::clean;
use crate::type_names::{declared_name, in_sql_words};

/// All of these errors contain it, followed by the name and the given types.
const MARK: &str = "No function matches the given name and argument types '";

const NO_SIGNATURE: &str = "failed to match any signature, errors: ";

pub struct FunctionError {
    pub name: String,
    /// The text that follows the name.
    message: String,
    hint: Option<String>,
}

impl FunctionError {
    pub fn of(error: &DataFusionError) -> Option<FunctionError> {
        match error.find_root() {
            DataFusionError::Plan(text) | DataFusionError::Execution(text) | DataFusionError::Internal(text) => read(text),
            _ => None,
        }
    }

    /// The error, with the name by which the statement calls the function.
    pub fn into_engine_error(self, name: Option<&str>, position: Option<usize>) -> EngineError {
        let name = name.unwrap_or(&self.name);
        let message = if self.message.starts_with(' ') { format!("{name}{}", self.message) } else { self.message };
        EngineError::Sql { message, position, hint: self.hint }
    }
}

fn read(text: &str) -> Option<FunctionError> {
    let Some((reasons, call)) = text.split_once(MARK) else { return read_reasons(text) };
    let (call, candidates) = call.split_once("'. ")?;
    let (name, types) = call.strip_suffix(')')?.split_once('(')?;
    let types = parts(types);
    let (message, hint) = match (own_reason(reasons), wrong_count(name, types.len(), reasons, candidates)) {
        (Some(reason), _) => (reason, None),
        (None, Some(message)) => (message, None),
        (None, None) => {
            let shown: Vec<String> = types.iter().map(|name| type_name(name)).collect();
            (format!(" cannot be computed of {}", listed(&shown, "and")), cast_hint(name, reasons, candidates))
        }
    };
    Some(FunctionError { name: name.to_string(), message, hint })
}

/// Inside of an expression that needs one type for all arguments, such as IS NULL, argument types are only checked by the analyzer, and
/// its error contains the reasons alone.
fn read_reasons(text: &str) -> Option<FunctionError> {
    if let Some(call) = text.strip_prefix("Failed to coerce arguments to satisfy a call to '") {
        let (name, reason) = call.split_once("' function: coercion from ")?;
        let shown: Vec<String> = parts(reason.split_once(" to the signature ")?.0).into_iter().map(type_name).collect();
        return Some(FunctionError {
            name: name.to_string(),
            message: format!(" cannot be computed of {}", listed(&shown, "and")),
            hint: None,
        });
    }
    let (name, reasons) = text.strip_prefix("Function '")?.split_once("' ")?;
    let is_call =
        [NO_SIGNATURE, "user-defined coercion failed with: ", "expects ", "requires "].iter().any(|start| reasons.starts_with(start));
    if !is_call {
        return None;
    }
    let between = |before: &str, after: &str| Some(text.split_once(before)?.1.split_once(after)?.0);
    let count = text.split_once(" but received ").and_then(|(_, rest)| rest.split([',', ' ', ';']).next()?.parse().ok());
    let message = match (own_reason(text), count.and_then(|count| wrong_count(name, count, text, ""))) {
        (Some(reason), _) => reason,
        (None, Some(message)) => message,
        (None, None) => format!(" cannot be computed of {}", type_name(between(" but received ", " (DataType: ")?)),
    };
    Some(FunctionError { name: name.to_string(), message, hint: cast_hint(name, text, "").filter(|_| count.is_none()) })
}

/// The message of a function that checks its arguments itself.
fn own_reason(reasons: &str) -> Option<String> {
    let (_, reason) = reasons.split_once("user-defined coercion failed with: ")?;
    Some(clean(reason.trim()).trim_end_matches('.').to_string())
}

/// The error if no signature has this number of arguments.
fn wrong_count(name: &str, count: usize, reasons: &str, candidates: &str) -> Option<String> {
    let counts = counts_in(reasons).or_else(|| counts_of(name, candidates));
    wrong_argument_count(counts.unwrap_or_default(), count)
}

/// The text that follows the name of a function that does not take `count` arguments. Without `counts`, it takes any number but none.
pub fn wrong_argument_count(mut counts: Vec<usize>, count: usize) -> Option<String> {
    if count == 0 {
        return Some(" takes arguments, and was given none".to_string());
    }
    counts.sort_unstable();
    counts.dedup();
    if counts.is_empty() || counts.contains(&count) {
        return None;
    }
    let noun = if counts == [1] { "argument" } else { "arguments" };
    let counts: Vec<String> = counts.iter().map(usize::to_string).collect();
    Some(format!(" takes {} {noun}, and was given {count}", listed(&counts, "or")))
}

/// `Function 'round' expects 2 arguments but received 3`, if all reasons have this form.
fn counts_in(reasons: &str) -> Option<Vec<usize>> {
    let reasons = reasons.split_once(NO_SIGNATURE).map_or(reasons, |(_, reasons)| reasons);
    let count = |reason: &str| {
        let (before, _) = reason.split_once(" arguments but received ")?;
        before.rsplit(' ').next()?.parse().ok()
    };
    reasons.split(",Error during planning: ").map(count).collect()
}

/// The argument counts of the signatures, one signature per line; `None` if one of them takes any number.
fn counts_of(name: &str, candidates: &str) -> Option<Vec<usize>> {
    let signatures = candidates.lines().filter_map(|line| line.trim().strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')'));
    let counts = signatures.map(|arguments| match arguments.contains("..") || arguments.contains("UserDefined") {
        true => None,
        false => Some(parts(arguments).len()),
    });
    counts.collect()
}

/// The hint for arguments of another type.
fn cast_hint(name: &str, reasons: &str, candidates: &str) -> Option<String> {
    let required = |before: &'static str| reasons.split(before).skip(1).filter_map(|rest| rest.split(", but ").next()?.split(' ').next());
    let signatures = candidates.lines().filter_map(|line| line.trim().strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')'));
    let mut types: Vec<&str> = required(" requires ").chain(required(" expects ")).collect();
    if types.is_empty() {
        types = signatures.flat_map(parts).collect();
    }
    let is_any = |names: &[&str]| types.iter().any(|data_type| names.iter().any(|name| data_type.starts_with(name)));
    let whole = is_any(&["Int", "UInt"]);
    Some(
        match () {
            // It takes only PostgreSQL's patterns for dates and times.
            () if name == "to_char" => "to_char writes dates and times; CAST(round(x, 2) AS VARCHAR) writes a number",
            () if is_any(&["Numeric", "Decimal", "Float"]) => "cast the argument to a number: CAST(x AS DOUBLE)",
            () if whole => "cast the argument to a number: CAST(x AS BIGINT)",
            () if is_any(&["String", "Utf8"]) => "cast the argument to text: CAST(x AS VARCHAR)",
            () if is_any(&["Timestamp", "Date"]) => "cast the argument to a time: CAST(x AS TIMESTAMP)",
            () if is_any(&["Boolean"]) => "write a condition, such as x > 0",
            () => return None,
        }
        .to_string(),
    )
}

/// Splits at commas outside of parentheses.
fn parts(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth) = (Vec::new(), 0, 0);
    for (at, char) in text.char_indices() {
        match char {
            '(' | '<' | '[' => depth += 1,
            ')' | '>' | ']' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    let last = text[start..].trim();
    if !last.is_empty() {
        parts.push(last);
    }
    parts
}

fn type_name(name: &str) -> String {
    name.parse::<DataType>().map_or_else(|_| in_sql_words(name), |data_type| declared_name(&data_type))
}

fn listed(words: &[String], last: &str) -> String {
    match words {
        [] => String::new(),
        [word] => word.clone(),
        [words @ .., end] => format!("{} {last} {end}", words.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(text: &str) -> (String, Option<String>) {
        let error = FunctionError::of(&DataFusionError::Plan(text.to_string())).unwrap().into_engine_error(None, None);
        (error.to_string(), error.hint().map(str::to_string))
    }

    #[test]
    fn types_and_counts_are_said_in_one_sentence() {
        let call = |types: &str| {
            format!(
                "No function matches the given name and argument types 'f({types})'. You might need to add explicit type casts.\n\tCandidate functions:\n\tf(Float64, Float64)\n\tf(Utf8)"
            )
        };
        let sum = format!(
            "Internal error: Function 'f' failed to match any signature, errors: Error during planning: Function 'f' requires Decimal, \
             but received String (DataType: Utf8View).,Error during planning: Function 'f' expects 2 arguments but received 1.\nThis is \
             a bug {}",
            call("Utf8View")
        );
        let number = Some("cast the argument to a number: CAST(x AS DOUBLE)".to_string());
        assert_eq!(error_of(&sum), ("f cannot be computed of VARCHAR".to_string(), number.clone()));
        let counts = format!(
            "Internal error: Function 'f' failed to match any signature, errors: Error during planning: Function 'f' expects 1 arguments \
             but received 3,Error during planning: Function 'f' expects 2 arguments but received 3.\n {}",
            call("Int64, Int64, Int64")
        );
        assert_eq!(error_of(&counts), ("f takes 1 or 2 arguments, and was given 3".to_string(), None));
        let exact = |types: &str| format!("Failed to coerce arguments to satisfy a call to 'f' function: it failed {}", call(types));
        assert_eq!(error_of(&exact("Date32, Decimal128(5, 2), Int8")).0, "f takes 1 or 2 arguments, and was given 3");
        assert_eq!(error_of(&exact("Date32, Decimal128(5, 2)")), ("f cannot be computed of DATE and DECIMAL(5,2)".to_string(), number));
        assert_eq!(error_of(&format!("'f' does not support zero arguments {}", call(""))).0, "f takes arguments, and was given none");
        let own = format!("Function 'f' user-defined coercion failed with: Execution error: f must have fun. {}", call("Int8"));
        assert_eq!(error_of(&own), ("f must have fun".to_string(), None));
    }

    #[test]
    fn reasons_of_the_analyzer_are_said_without_the_call() {
        let types = "Function 'f' failed to match any signature, errors: Error during planning: Function 'f' requires String, but received \
             Timestamp(ns, \"UTC\") (DataType: Timestamp(ns, \"UTC\")).,Error during planning: Function 'f' requires Binary, but \
             received Timestamp(ns, \"UTC\") (DataType: Timestamp(ns, \"UTC\")).";
        let text = Some("cast the argument to text: CAST(x AS VARCHAR)".to_string());
        assert_eq!(error_of(types), ("f cannot be computed of TIMESTAMP WITH TIME ZONE".to_string(), text));
        let coercion =
            "Failed to coerce arguments to satisfy a call to 'f' function: coercion from Date32, Int64 to the signature Exact failed";
        assert_eq!(error_of(coercion).0, "f cannot be computed of DATE and BIGINT");
        assert_eq!(error_of("Function 'f' expects 1 arguments but received 2"), ("f takes 1 argument, and was given 2".to_string(), None));
    }
}
