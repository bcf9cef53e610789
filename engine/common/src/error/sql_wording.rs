//! Rewords messages of DataFusion and Arrow that describe their own internals: in terms of SQL, with what to do.

use crate::error::EngineError;
use crate::error::foreign_names::instead_of_feature;
use crate::type_names::in_sql_words;

/// The error with a message that users understand. An error with a hint is already one of ours.
pub fn reworded(error: EngineError) -> EngineError {
    // These are not errors of a value, although DataFusion reports them as such.
    if let EngineError::Sql { message, .. } | EngineError::Execution { message, .. } | EngineError::Data { message, .. } = &error
        && let Some((message, hint)) = parameter(message)
    {
        return EngineError::Sql { message, position: error.position(), hint: hint.map(str::to_string) };
    }
    match error {
        EngineError::Sql { message, position, hint: None } => {
            let (message, hint) = words_for(message);
            EngineError::Sql { message, position, hint }
        }
        EngineError::Execution { message, hint: None } => {
            let (message, hint) = words_for(message);
            EngineError::Execution { message, hint }
        }
        EngineError::Data { message, position, hint: None } => {
            let (message, hint) = words_for(message);
            EngineError::Data { message, position, hint }
        }
        EngineError::Unsupported { feature, hint: None } => unsupported(feature),
        other => other,
    }
}

fn words_for(message: String) -> (String, Option<String>) {
    let ways = [condition, operation, argument, unnest, untyped, clause, correlated, frame, count, range, value, unit, file];
    ways.iter().find_map(|way| way(&message)).map_or((message, None), |(message, hint)| (message, hint.map(str::to_string)))
}

type Rewording = Option<(String, Option<&'static str>)>;

/// A parameter that has no value when the statement runs.
fn parameter(message: &str) -> Rewording {
    if let Some((id, _)) = message.strip_prefix("Placeholder '").and_then(|rest| rest.split_once("' was not provided a value")) {
        return Some((
            format!("the parameter {id} has no value"),
            Some("give one value for each parameter, or write it into the statement"),
        ));
    }
    let id = message.strip_prefix("Unsupported value Placeholder(\"")?.strip_suffix("\")")?;
    Some((format!("SET takes no parameters, and has {id}"), Some("write the value into the statement")))
}

/// A condition that is not BOOLEAN.
fn condition(message: &str) -> Rewording {
    let filter = || Some(message.strip_prefix("Cannot create filter with non-boolean predicate ")?.rsplit_once(" returning ")?.1);
    let join = || message.strip_prefix("Join condition must be boolean type, but got ");
    let name = filter().or_else(join)?;
    let hint = if name == "VARCHAR" { "compare it with a text, such as x = 'abc'" } else { "compare it with something, such as x > 0" };
    Some((format!("the condition is {name}, where it is to be BOOLEAN"), Some(hint)))
}

/// An operator that does not take these two types.
fn operation(message: &str) -> Rewording {
    let temporal = || Some(message.strip_prefix("Cannot get result type for temporal operation ")?.split_once(": ")?.0);
    let arithmetic = || message.strip_prefix("Cannot coerce arithmetic expression ")?.strip_suffix(" to valid types");
    if let Some(expression) = arithmetic().or_else(temporal) {
        let hint = match expression {
            _ if expression.contains("INTERVAL *") || expression.contains("* INTERVAL") || expression.starts_with("INTERVAL /") => {
                "intervals are added and subtracted; CAST(x || ' hours' AS INTERVAL) has x hours"
            }
            _ if expression.starts_with("VARCHAR + ") || expression.ends_with(" + VARCHAR") => {
                "write || to join texts, or cast the text: CAST(x AS DOUBLE)"
            }
            _ if expression.contains("TIMESTAMP") && expression.contains("VARCHAR") => {
                "cast the text: CAST(x AS TIMESTAMP) or CAST(x AS INTERVAL)"
            }
            _ if expression.contains("DATE") && expression.contains("VARCHAR") => "cast the text: CAST(x AS DATE) or CAST(x AS INTERVAL)",
            _ if expression.contains("VARCHAR") => "cast the text: CAST(x AS DOUBLE)",
            _ => "cast one of them to a type that goes with the other",
        };
        return Some((format!("{expression} cannot be computed"), Some(hint)));
    }
    if let Some((_, type_name)) = message.strip_prefix("Cannot access field at argument ").and_then(|rest| rest.split_once(": type ")) {
        let type_name = type_name.strip_suffix(" is not Struct, Map, or Null")?;
        return Some((
            format!("{type_name} has no fields"),
            Some("only a STRUCT and a MAP have; a name before a point is a table or such a column"),
        ));
    }
    if let Some((left, right)) = between(message) {
        return Some((
            format!("{left} BETWEEN {right} cannot be compared"),
            Some("cast one of them to the type of the other: CAST(x AS …)"),
        ));
    }
    let types = message.strip_prefix("Cannot infer common argument type for ")?;
    let (kind, types) = types.split_once(" operation ")?;
    // DataFusion's name of this type is also an everyday word.
    let types = in_sql_words(types).replace("Boolean", "BOOLEAN");
    match kind {
        "logical boolean" => {
            let operator = types.split(' ').find(|word| matches!(*word, "AND" | "OR"))?;
            Some((
                format!("{operator} takes two conditions, and was given {types}"),
                Some("compare what is none with something, such as x > 0"),
            ))
        }
        "comparison" => Some((format!("{types} cannot be compared"), Some("cast one of them to the type of the other: CAST(x AS …)"))),
        _ => Some((format!("{types} cannot be computed"), Some("cast what is no text: CAST(x AS VARCHAR)"))),
    }
}

/// The types of both sides of a BETWEEN, out of the message.
fn between(message: &str) -> Option<(String, String)> {
    let (left, right) = message.strip_prefix("Failed to coerce types ")?.strip_suffix(" in BETWEEN expression")?.split_once(" and ")?;
    let name = |data_type| in_sql_words(data_type).replace("Boolean", "BOOLEAN");
    Some((name(left), name(right)))
}

/// Whether DataFusion reports an error of the statement as an internal error.
pub fn is_of_statement(message: &str) -> bool {
    between(message).is_some() || argument(message).is_some() || unnest(message).is_some()
}

/// An argument that must have another value.
fn argument(message: &str) -> Rewording {
    if let Some((number, value)) = message.strip_prefix("Argument #").and_then(|rest| rest.split_once(" must be an INTEGER or NULL, got "))
    {
        let value =
            value.strip_prefix("Literal(").and_then(|value| value.split_once('(')).map_or("another expression", |(data_type, _)| data_type);
        return Some((
            format!("argument {number} is {value}, where it is to be a whole number"),
            Some("write a number that is known before the query runs"),
        ));
    }
    let stride = message.strip_prefix("array_slice got invalid stride: ")?;
    Some((format!("{stride} is no step from one element of a list to the next"), Some("write a smaller number, such as x[1:5:2]")))
}

/// unnest() of a struct makes several columns, so it must stand by itself.
fn unnest(message: &str) -> Rewording {
    message.contains("unnest on struct can only be applied at the root level").then(|| {
        (
            "unnest() of a struct makes columns, and stands by itself in SELECT".to_string(),
            Some("name the fields, as in s['a'], where an expression takes one"),
        )
    })
}

/// An aggregate of a parameter, or of a column that has only NULL, and therefore no type.
fn untyped(message: &str) -> Rewording {
    let function = match message {
        "[return_type] SUM not supported for Null" => "sum",
        _ if message.starts_with("AvgAccumulator for (Null ") => "avg",
        _ => return None,
    };
    Some((
        format!("{function} cannot be computed of a NULL or a parameter without a type"),
        Some("give it one, as in CAST(NULL AS DOUBLE) or CAST($1 AS DOUBLE)"),
    ))
}

/// An expression that a clause must not contain.
fn clause(message: &str) -> Rewording {
    if message.starts_with("Aggregate functions are not allowed in the WHERE clause") {
        let hint = "filter groups with HAVING, or compute the aggregate in a subquery: x > (SELECT avg(x) FROM …)";
        return Some(("WHERE has no aggregates: it looks at one row at a time".to_string(), Some(hint)));
    }
    if message.starts_with("HAVING clause references:") {
        let message = "HAVING without GROUP BY takes aggregates, and no columns by themselves";
        return Some((message.to_string(), Some("WHERE filters rows; HAVING filters groups, after GROUP BY")));
    }
    if let Some(table) = message.strip_prefix("Invalid qualifier ") {
        let hint = "write the name that it has in FROM: the alias, where there is one";
        return Some((format!("there is no table \"{table}\" in FROM"), Some(hint)));
    }
    let shown_twice = || message.strip_prefix("Schema contains qualified field name ")?.strip_suffix(" which would be ambiguous");
    if let Some((_, column)) = shown_twice().and_then(|names| names.split_once(" and unqualified field name ")) {
        return Some((format!("two columns are called \"{column}\""), Some("give one of them another name with AS")));
    }
    let column = message.strip_prefix("Ambiguous reference to unqualified field ")?;
    Some((format!("column \"{column}\" is ambiguous: more than one table has it"), Some("name the table too, as in t.x")))
}

/// A subquery that references a column of the outer query.
fn correlated(message: &str) -> Rewording {
    let hint = match message {
        "Correlated scalar subquery must be aggregated to return at most one row" => {
            "write an aggregate, such as (SELECT max(x) FROM …), or join the tables"
        }
        "Correlated scalar subquery can only be used in Projection, Filter, Aggregate plan nodes" => {
            "compute it in SELECT or WHERE, or join the tables"
        }
        _ => return None,
    };
    Some(("a subquery looks at the row outside of it where it cannot".to_string(), Some(hint)))
}

/// The bounds of a window frame.
fn frame(message: &str) -> Rewording {
    message.starts_with("INTERVAL expression cannot be ").then(|| {
        (
            "the interval of a window's frame is to be written as a text".to_string(),
            Some("write RANGE BETWEEN INTERVAL '1 day' PRECEDING AND …"),
        )
    })
}

/// A file that is queried in place.
fn file(message: &str) -> Rewording {
    // Parts of a file are read in parallel, so it is chance which of the two errors comes first.
    let starts = ["Json error: Expected JSON record to be an object, found ", "Json error: Not valid JSON: "];
    starts.iter().any(|start| message.starts_with(start)).then(|| {
        let message = "the file is no JSON of a table: it has to hold one object a line".to_string();
        (message, Some("an array of objects is read by COPY t FROM 'file' and by `quiver import`"))
    })
}

/// Too many rows or columns, or a negative number of them.
fn count(message: &str) -> Rewording {
    for clause in ["LIMIT", "OFFSET"] {
        let rest = message.strip_prefix(clause).and_then(|rest| rest.trim_start_matches(" must be >=").trim_start().strip_prefix("0, '"));
        if let Some(number) = rest.and_then(|rest| rest.strip_suffix("' was provided")) {
            return Some((format!("{clause} {number}: a number of rows is 0 or more"), None));
        }
    }
    if let Some((clause, found)) = message.strip_prefix("Expected ").and_then(|rest| rest.split_once(" to be an integer or null, but got "))
    {
        return Some((format!("{clause} is {found}, where it is to be a number of rows"), Some("write a number, such as LIMIT 10")));
    }
    if let Some((_, columns)) = message.split_once("The subquery should only return one column: ") {
        return Some((format!("the subquery has several columns where one is expected: {columns}"), None));
    }
    let named = message.strip_prefix("Source table contains ").and_then(|rest| rest.strip_suffix(" names given as column alias"));
    if let Some((found, named)) = named.and_then(|counts| counts.split_once(" columns but only ")) {
        return Some((
            format!("the alias names {named} columns of a table, which has {found}"),
            Some("name as many as there are, as in t(a, b)"),
        ));
    }
    if message == "Scalar subquery returned more than one row" {
        let hint = "write x IN (SELECT …), or have it give one row: an aggregate such as max(x), or LIMIT 1";
        return Some(("the subquery gives more than one row where one value is expected".to_string(), Some(hint)));
    }
    None
}

/// A row count that is not constant before the query runs.
fn limit(feature: &str) -> Rewording {
    let clause = feature.strip_suffix(" expression: Some").filter(|clause| matches!(*clause, "LIMIT" | "OFFSET"))?;
    let message = format!("{clause} is to be a number that is known before the query runs");
    Some((message, Some("write the number, or give a value for the parameter")))
}

/// A value out of the range of its type.
fn range(message: &str) -> Rewording {
    let cast = || message.strip_prefix("Can't cast value ")?.split_once(" to type ");
    let large = || message.strip_prefix("value of ")?.split_once(" is out of range ").filter(|(_, rest)| !rest.starts_with("for "));
    let overflowing = || {
        let (data_type, value) = message.strip_prefix("Cannot cast to ")?.split_once(". Overflowing on ")?;
        Some((value, data_type))
    };
    let (value, data_type) = match cast().or_else(large).or_else(overflowing) {
        Some((value, data_type)) => (value, data_type.to_string()),
        None => {
            let words = [" is too large to store in a Decimal", " is too small to store in a Decimal"];
            let (value, rest) = words.iter().find_map(|words| message.split_once(*words))?;
            let (digits, end) = rest.split_once(" of precision ")?.1.split_once(". ")?;
            (value, format!("a DECIMAL of {digits} digits, which ends at {}", end.split_once(" is ")?.1))
        }
    };
    Some((format!("{value} is out of range for {data_type}"), Some("take a wider type; TRY_CAST gives NULL for what does not fit")))
}

/// Values out of the range of an operator or a function.
fn value(message: &str) -> Rewording {
    if message == "Divide by zero error" {
        return Some((message.to_string(), Some("x / NULLIF(y, 0) is NULL where y is 0")));
    }
    if let Some(text) = message.strip_prefix("Invalid input syntax for type interval: \"").and_then(|rest| rest.strip_suffix('"')) {
        return Some((format!("'{text}' is no interval"), Some("write a number and a unit, such as '3 days' or '1 hour 30 minutes'")));
    }
    let text = message.strip_prefix("Cannot cast string '").and_then(|rest| rest.strip_suffix("' to value of DATE type"))?;
    Some(match month_like_a_day(text) {
        Some(1..=12) => {
            (format!("there is no day '{text}'"), Some("months have 28 to 31 days; TRY_CAST gives NULL for a text that is no day"))
        }
        Some(month) => {
            let hint = "write the month before the day, as in '2024-12-31'; to_date(x, '%Y-%d-%m') reads days before months";
            (format!("there is no month {month} in '{text}'"), Some(hint))
        }
        None => (message.to_string(), Some("write a date as '2024-12-31'; to_date(x, '%d.%m.%Y') reads others")),
    })
}

/// The month of a text that looks like a date and is none: `2024-02-30`.
fn month_like_a_day(text: &str) -> Option<u8> {
    let parts: Vec<&str> = text.split('-').collect();
    let is_like =
        parts.iter().map(|part| part.len()).eq([4, 2, 2]) && parts.iter().all(|part| part.bytes().all(|byte| byte.is_ascii_digit()));
    parts.get(1).filter(|_| is_like)?.parse().ok()
}

/// Unknown date or time parts.
fn unit(message: &str) -> Rewording {
    if let Some((unit, units)) =
        message.strip_prefix("Unsupported date_trunc granularity: '").and_then(|rest| rest.split_once("'. Supported values are: "))
    {
        return Some((format!("'{unit}' is no unit of date_trunc: there are {units}"), None));
    }
    let part = message.strip_prefix("Date part '")?.split_once('\'')?.0;
    let parts =
        "there are year, quarter, month, week, day, hour, minute, second, millisecond, microsecond, dow, doy, isodow, isoyear and epoch";
    Some((format!("'{part}' is no part of a time"), Some(parts)))
}

fn unsupported(feature: String) -> EngineError {
    if feature.starts_with("Physical plan does not support logical expression ") && feature.contains("<subquery>") {
        let hint = Some("join what it selects from, or select it in a subquery of FROM".to_string());
        return EngineError::Unsupported { feature: "a subquery in this place".to_string(), hint };
    }
    if feature.starts_with("Unnest should be rewritten to ") {
        let hint = "write it in FROM, or select it in a subquery";
        return EngineError::unsupported("unnest() outside of SELECT and FROM", Some(hint));
    }
    if feature.starts_with("Physical plan does not support logical expression ") {
        return EngineError::unsupported("an expression of this kind in this place", Some("compute it in a subquery, and use its column"));
    }
    if feature.starts_with("There is only support Literal types for field at idx") {
        let hint = "write a constant; CASE around the function chooses another value";
        return EngineError::unsupported(
            "a window function with an offset, a default or a number that differs from row to row",
            Some(hint),
        );
    }
    if let Some((message, hint)) = limit(&feature).or_else(|| unit(&feature)) {
        return EngineError::Sql { message, position: None, hint: hint.map(str::to_string) };
    }
    let hint = match feature.as_str() {
        "LIMIT expression" | "OFFSET expression" => Some("write the number, or give a value for the parameter"),
        feature => instead_of_feature(feature),
    };
    // DataFusion's name of this type is also an everyday word.
    let feature = if feature.contains("CAST from ") { feature.replace("Boolean", "BOOLEAN") } else { feature };
    EngineError::Unsupported { feature, hint: hint.map(str::to_string) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_of_libraries_are_said_in_words_of_sql() {
        for (message, expected) in [
            (
                "Cannot create filter with non-boolean predicate 't.b returning x' returning VARCHAR",
                "the condition is VARCHAR, where it is to be BOOLEAN",
            ),
            (
                "Cannot infer common argument type for logical boolean operation Boolean AND VARCHAR",
                "AND takes two conditions, and was given BOOLEAN AND VARCHAR",
            ),
            ("Cannot infer common argument type for comparison operation Boolean = Utf8", "BOOLEAN = VARCHAR cannot be compared"),
            ("Cannot cast string '2024-02-30' to value of DATE type", "there is no day '2024-02-30'"),
            ("Cannot cast string '2024-31-12' to value of DATE type", "there is no month 31 in '2024-31-12'"),
            ("Expected LIMIT to be an integer or null, but got VARCHAR", "LIMIT is VARCHAR, where it is to be a number of rows"),
            ("Failed to coerce types Utf8 and Boolean in BETWEEN expression", "VARCHAR BETWEEN BOOLEAN cannot be compared"),
            ("array_slice got invalid stride: -9", "-9 is no step from one element of a list to the next"),
            ("Invalid qualifier f", "there is no table \"f\" in FROM"),
            ("LIMIT must be >= 0, '-1' was provided", "LIMIT -1: a number of rows is 0 or more"),
            ("OFFSET must be >=0, '-7' was provided", "OFFSET -7: a number of rows is 0 or more"),
            ("Can't cast value 300 to type TINYINT", "300 is out of range for TINYINT"),
            ("value of 12345678901 is out of range INTEGER", "12345678901 is out of range for INTEGER"),
            ("Cannot cast to DECIMAL(10,2). Overflowing on 1e300", "1e300 is out of range for DECIMAL(10,2)"),
            (
                "99999.5 is too large to store in a Decimal128 of precision 4. Max is 999.9",
                "99999.5 is out of range for a DECIMAL of 4 digits, which ends at 999.9",
            ),
            (
                "Unsupported date_trunc granularity: 'mnth'. Supported values are: day, week",
                "'mnth' is no unit of date_trunc: there are day, week",
            ),
            ("something else", "something else"),
        ] {
            assert_eq!(words_for(message.to_string()).0, expected);
        }
    }
}
