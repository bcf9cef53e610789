//! Cleans the texts of DataFusion's errors for users.

use std::borrow::Cow;

use crate::type_names::in_sql_words;

/// A longer message is shown by its beginning and its end; the user who wrote the text in between knows it.
const SHOWN_BYTES_MAX: usize = 1_000;
const SHOWN_START_BYTES: usize = 600;
const SHOWN_END_BYTES: usize = 300;

/// Shortens a text to a readable length, however long the expression, value or name in it is.
pub fn bounded(text: &str) -> Cow<'_, str> {
    if text.len() <= SHOWN_BYTES_MAX {
        return Cow::Borrowed(text);
    }
    let (start, end) = (text.floor_char_boundary(SHOWN_START_BYTES), text.ceil_char_boundary(text.len() - SHOWN_END_BYTES));
    Cow::Owned(format!("{} … {}", &text[..start], &text[end..]))
}

/// The error for a row of VALUES whose width differs from that of the table or of the rows before it.
pub fn wrong_width(message: &str) -> Option<String> {
    let rest = message.strip_prefix("Inconsistent data length across values list: got ")?;
    let (found, rest) = rest.split_once(" values in row ")?;
    let (row, expected) = rest.split_once(" but expected ")?;
    let row = row.parse::<u64>().ok()? + 1;
    let values = if found == "1" { "value" } else { "values" };
    Some(format!("row {row} of VALUES has {found} {values} where the number is to be {expected}"))
}

/// The name of an unsupported feature, extracted from the many forms of DataFusion's messages, without the syntax tree that some of them
/// print.
pub fn feature(message: &str) -> String {
    let mut text = clean(message);
    if text.starts_with("Dot access not supported") {
        return "a dot before a field of an expression, where ['field'] stands behind it,".to_string();
    }
    if let Some(dump) = text.find(" {") {
        text.truncate(dump);
        // For nested nodes, the outer one names the feature.
        let word = text.rfind(' ').map_or(0, |blank| blank + 1);
        if let Some(inner) = text[word..].find('(') {
            text.truncate(word + inner);
        }
    }
    if let Some(dump) = text.find("([").or_else(|| text.find("Some(")) {
        text.truncate(dump);
    }
    for start in ["Unsupported ast node in sqltorel: ", "Unsupported ", "SQL statement: ", "The "] {
        if let Some(rest) = text.strip_prefix(start) {
            text = match start.contains("ast node") {
                // Outside of calls it is the operator of JSON.
                true if rest.starts_with("Lambda") => "the operator ->".to_string(),
                true => format!("the expression {rest}"),
                false => rest.to_string(),
            };
        }
    }
    let mut text = text.trim_end_matches([':', ' ', '.', '!']);
    let ends = [
        " is not yet supported",
        " yet",
        " in logical plan",
        " at the moment",
        " is not supported",
        " are not supported",
        " not supported",
        " not implemented",
        " variant not implemented",
        " is not implemented",
        " is unsupported",
        ":",
    ];
    while let Some(rest) = ends.iter().find_map(|end| text.strip_suffix(end)) {
        text = rest.trim_end();
    }
    if let Some(operator) = text.strip_prefix("Operator ") {
        return format!("the operator {operator}");
    }
    if text.is_empty() { "this statement".to_string() } else { text.replace(" not supported for ", " for ") }
}

/// Cuts off the syntax tree or plan that some messages print: `Substring { expr: Identifier(Ident { value…`.
pub fn without_tree(text: &str) -> &str {
    let Some(brace) = text.find(" { ").or_else(|| text.find(" {\"")) else { return text };
    let word = text[..brace].rfind(char::is_whitespace).map_or(0, |blank| blank + 1);
    // Names of nodes begin with a capital letter; words before a brace in SQL do not.
    match text[word..].starts_with(|first: char| first.is_ascii_uppercase()) {
        true => text[..word].trim_end(),
        false => text,
    }
}

/// Strips the prefixes that layers put in front of each other's errors.
pub fn clean(message: &str) -> String {
    if let Some(reason) = regular_expression(message) {
        return reason;
    }
    let mut text = first_line(message);
    let prefixes = [
        "Error during planning: ",
        "Execution error: ",
        "External error: ",
        "Arrow error: ",
        "Schema error: ",
        "SQL error: ",
        "Internal error: ",
        "Optimizer rule ",
        "sql parser error: ",
        "Invalid argument error: ",
        "Compute error: ",
        "Cast error: ",
        "Parser error: ",
        "type_coercion\ncaused by\n",
        "This feature is not implemented: ",
    ];
    while let Some(rest) = prefixes.iter().find_map(|prefix| text.strip_prefix(prefix)) {
        text = rest.to_string();
    }
    in_sql_words(&text)
}

/// The regex library prints the pattern, a marker below it and the reason, each on its own line.
pub fn regular_expression(message: &str) -> Option<String> {
    if message.contains("Compiled regex exceeds size limit") {
        return Some("the regular expression is too large".to_string());
    }
    if let Some((_, drawn)) = message.split_once("regex parse error:") {
        let reason = drawn.lines().find_map(|line| line.trim_start().strip_prefix("error: "))?;
        let mut lines = drawn.lines().filter(|line| !line.trim().is_empty());
        let (pattern, mark) = (lines.next()?.trim(), lines.next()?);
        // A pattern of several lines is printed with line numbers.
        let pattern = if mark.trim().trim_matches('^').is_empty() { format!(" '{pattern}'") } else { String::new() };
        return Some(format!("the regular expression{pattern} cannot be read: {reason}"));
    }
    let (_, rest) = message.split_once("Regular expression did not compile: ")?;
    Some(match rest.starts_with("CompiledTooBig") {
        true => "the regular expression is too large".to_string(),
        false => format!("the regular expression '{}' cannot be read", first_line(rest)),
    })
}

pub fn first_line(message: &str) -> String {
    message.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_message_is_shown_by_its_start_and_its_end() {
        assert_eq!(bounded("short"), "short");
        let long = format!("cannot add {} and a text", "é".repeat(1_000_000));
        let shown = bounded(&long);
        assert!(
            shown.len() < 1_000 && shown.starts_with("cannot add é") && shown.contains(" … ") && shown.ends_with("and a text"),
            "{shown}"
        );
    }

    #[test]
    fn regular_expressions_are_one_sentence() {
        let drawn = "External error: regex parse error:\n    a(\n     ^\nerror: unclosed group";
        assert_eq!(clean(drawn), "the regular expression 'a(' cannot be read: unclosed group");
        let printed =
            "Regular expression did not compile: Syntax(\n~~~~\nregex parse error:\n    [\n    ^\nerror: unclosed character class\n~~~~\n)";
        assert_eq!(clean(printed), "the regular expression '[' cannot be read: unclosed character class");
        let large = "failed to call 'regex_match_dyn_scalar' External error: Compiled regex exceeds size limit of 10485760 bytes.";
        assert_eq!(clean(large), "the regular expression is too large");
        assert_eq!(clean("Compute error: Regular expression did not compile: ("), "the regular expression '(' cannot be read");
    }

    #[test]
    fn no_tree_is_printed() {
        assert_eq!(without_tree("Not valid: Substring { expr: 1 }"), "Not valid:");
        assert_eq!(without_tree("no column \"a { b\""), "no column \"a { b\"");
        let dotted = feature("Dot access not supported for non-string expr: Identifier(Ident { value: \"a\" })");
        assert_eq!(dotted, "a dot before a field of an expression, where ['field'] stands behind it,");
        assert_eq!(feature("Unsupported ast node in sqltorel: Lambda { a: 1 }"), "the operator ->");
    }
}
