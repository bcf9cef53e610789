//! Patterns: `SIMILAR TO` becomes a regular expression, because DataFusion uses the pattern unchanged as one. `LIKE` with another ESCAPE
//! gets backslashes, the only escape that DataFusion supports.

use std::str::Chars;

use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Value, ValueWithSpan};

use common::error::EngineError;

/// Replaces SIMILAR TO by `~`; `expr` may be any expression.
pub fn replace_similar(expr: &mut Expr) -> Result<(), EngineError> {
    let Expr::SimilarTo { negated, expr: text, pattern, escape_char } = expr else { return Ok(()) };
    let regex = match literal(pattern) {
        Some(Value::Null) => Value::Null,
        Some(value) => {
            let pattern = value.clone().into_string().ok_or_else(not_a_literal)?;
            Value::SingleQuotedString(regex_of(&pattern, escape(escape_char.as_ref())?).map_err(|what| bad(&pattern, what))?)
        }
        None => return Err(not_a_literal()),
    };
    let op = if *negated { BinaryOperator::PGRegexNotMatch } else { BinaryOperator::PGRegexMatch };
    let right = Box::new(Expr::Value(regex.with_empty_span()));
    *expr = Expr::BinaryOp { left: text.clone(), op, right };
    Ok(())
}

/// Replaces the ESCAPE character by backslashes; `expr` may be any expression. `ESCAPE ''` means that there is no escape character.
pub fn replace_escape(expr: &mut Expr) -> Result<(), EngineError> {
    let (Expr::Like { pattern, escape_char, .. } | Expr::ILike { pattern, escape_char, .. }) = expr else { return Ok(()) };
    let sign = escape(escape_char.as_ref())?;
    if sign == Some('\\') {
        return Ok(());
    }
    match literal(pattern) {
        Some(Value::Null) => {}
        Some(value) => {
            let text = value.clone().into_string().ok_or_else(computed_escape)?;
            let replaced = with_backslashes(&text, sign)?;
            **pattern = Expr::Value(Value::SingleQuotedString(replaced).with_empty_span());
        }
        None => return Err(computed_escape()),
    }
    *escape_char = None;
    Ok(())
}

fn with_backslashes(pattern: &str, escape: Option<char>) -> Result<String, EngineError> {
    let at_end = || EngineError::unsupported("a LIKE pattern that ends with its ESCAPE", Some("write the sign twice to mean itself"));
    let mut replaced = String::with_capacity(pattern.len());
    let mut chars = pattern.chars();
    while let Some(char) = chars.next() {
        let is_escape = Some(char) == escape;
        let char = if is_escape { chars.next().ok_or_else(at_end)? } else { char };
        if is_escape || char == '\\' {
            replaced.push('\\');
        }
        replaced.push(char);
    }
    Ok(replaced)
}

fn computed_escape() -> EngineError {
    EngineError::unsupported("LIKE with ESCAPE and a pattern that is computed", Some("use \\ in the pattern, and leave ESCAPE out"))
}

fn literal(pattern: &Expr) -> Option<&Value> {
    match pattern {
        Expr::Value(value) => Some(&value.value),
        Expr::Nested(inner) => literal(inner),
        _ => None,
    }
}

/// The escape character; `None` with `ESCAPE ''`.
fn escape(said: Option<&ValueWithSpan>) -> Result<Option<char>, EngineError> {
    let Some(said) = said else { return Ok(Some('\\')) };
    let text = said.value.clone().into_string();
    let mut chars = text.iter().flat_map(|text| text.chars());
    match (chars.next(), chars.next()) {
        (escape, None) if text.is_some() => Ok(escape),
        _ => Err(EngineError::unsupported(format!("ESCAPE {said}"), Some("use one character"))),
    }
}

fn not_a_literal() -> EngineError {
    let hint = Some("write the pattern as a text, or use ~ with a regular expression");
    EngineError::unsupported("SIMILAR TO with a pattern that is computed", hint)
}

fn bad(pattern: &str, what: &str) -> EngineError {
    let message = format!("the pattern '{pattern}' of SIMILAR TO {what}");
    EngineError::Sql { message, position: None, hint: Some("write \\ before a character that stands for itself".into()) }
}

/// Converts `pattern`, which must match the whole text. Only `% _ | * + ? {m,n} ( ) [ ]` are special.
fn regex_of(pattern: &str, escape: Option<char>) -> Result<String, &'static str> {
    let mut regex = String::from("^(?s:");
    let mut chars = pattern.chars();
    let mut open = 0usize;
    // Whether something that can be repeated comes before.
    let mut repeatable = false;
    while let Some(char) = chars.next() {
        let was_repeatable = std::mem::replace(&mut repeatable, true);
        match char {
            _ if Some(char) == escape => push_literal(&mut regex, escaped(&mut chars)?),
            '%' => regex.push_str(".*"),
            '_' => regex.push('.'),
            '(' => {
                regex.push_str("(?:");
                open += 1;
                repeatable = false;
            }
            ')' => {
                open = open.checked_sub(1).ok_or("closes a parenthesis that is not open")?;
                regex.push(')');
            }
            '|' => {
                regex.push('|');
                repeatable = false;
            }
            '*' | '+' | '?' | '{' if !was_repeatable => return Err("repeats nothing, or repeats twice"),
            '*' | '+' | '?' => {
                regex.push(char);
                repeatable = false;
            }
            '{' => {
                push_count(&mut regex, &mut chars)?;
                repeatable = false;
            }
            '[' => push_class(&mut regex, &mut chars, escape)?,
            other => push_literal(&mut regex, other),
        }
    }
    if open > 0 {
        return Err("leaves a parenthesis open");
    }
    Ok(regex + ")$")
}

/// An escaped letter or digit means something different in each engine.
fn escaped(chars: &mut impl Iterator<Item = char>) -> Result<char, &'static str> {
    match chars.next() {
        None => Err("ends with its escape character"),
        Some(char) if char.is_ascii_alphanumeric() => Err("has a letter or a digit after the escape character"),
        Some(char) => Ok(char),
    }
}

fn push_literal(regex: &mut String, char: char) {
    if char.is_ascii_punctuation() && !matches!(char, '<' | '>') {
        regex.push('\\');
    }
    regex.push(char);
}

/// `m}`, `m,}` or `m,n}`.
fn push_count(regex: &mut String, chars: &mut Chars<'_>) -> Result<(), &'static str> {
    let (count, rest) = chars.as_str().split_once('}').unwrap_or(("", ""));
    *chars = rest.chars();
    let (least, most) = count.split_once(',').unwrap_or((count, count));
    let number = |text: &str| text.parse::<u16>().ok().filter(|count| *count <= 255);
    match (number(least), number(most)) {
        (Some(least), Some(most)) if least <= most => regex.push_str(&format!("{{{least},{most}}}")),
        (Some(least), None) if most.is_empty() => regex.push_str(&format!("{{{least},}}")),
        _ => return Err("has a count that is not {m}, {m,} or {m,n} with numbers up to 255"),
    }
    Ok(())
}

/// The rest of `[…]` or `[^…]`.
fn push_class(regex: &mut String, chars: &mut Chars<'_>, escape: Option<char>) -> Result<(), &'static str> {
    const OPEN: &str = "leaves a bracket open";
    const NAMES: [&str; 12] = ["alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "xdigit"];
    regex.push('[');
    if let Some(rest) = chars.as_str().strip_prefix('^') {
        regex.push('^');
        *chars = rest.chars();
    }
    let mut first = true;
    loop {
        match chars.next().ok_or(OPEN)? {
            ']' if !first => break,
            '[' if chars.as_str().starts_with(':') => {
                let (name, rest) = chars.as_str()[1..].split_once(":]").ok_or(OPEN)?;
                if !NAMES.contains(&name) {
                    return Err("names a class of characters that does not exist");
                }
                regex.push_str(&format!("[:{name}:]"));
                *chars = rest.chars();
            }
            '-' if !first && !chars.as_str().starts_with(']') => {
                regex.push('-');
                let last = match chars.next().ok_or(OPEN)? {
                    char if Some(char) == escape => escaped(chars)?,
                    char => char,
                };
                push_literal(regex, last);
            }
            char if Some(char) == escape => push_literal(regex, escaped(chars)?),
            char => push_literal(regex, char),
        }
        first = false;
    }
    regex.push(']');
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn regex(pattern: &str) -> String {
        regex_of(pattern, Some('\\')).unwrap_or_else(|what| format!("it {what}"))
    }

    #[test]
    fn a_pattern_is_a_regular_expression_for_the_whole_text() {
        assert_eq!(regex("a%b_"), "^(?s:a.*b.)$");
        assert_eq!(regex("(a|b)+c?d{2}e{3,}"), "^(?s:(?:a|b)+c?d{2,2}e{3,})$");
        assert_eq!(regex("a.b^c$d\\%e<"), "^(?s:a\\.b\\^c\\$d\\%e<)$");
        assert_eq!(regex("[^a-z[:digit:]_&&-]é"), "^(?s:[^a-z[:digit:]\\_\\&\\&\\-]é)$");
        assert_eq!(regex("[]%]"), "^(?s:[\\]\\%])$");
        assert_eq!(regex_of("a\\%", None).unwrap_or_default(), "^(?s:a\\\\.*)$");
    }

    #[test]
    fn a_pattern_that_is_none_says_why() {
        for (pattern, what) in [
            ("(a", "leaves a parenthesis open"),
            ("a)", "not open"),
            ("[a", "bracket open"),
            ("*a", "repeats nothing"),
            ("a**", "repeats twice"),
            ("a{x}", "count"),
            ("a{3,2}", "count"),
            ("a\\", "ends with its escape"),
            ("\\d", "letter"),
            ("[[:nope:]]", "class"),
            ("a{2", "count"),
        ] {
            assert!(regex(pattern).contains(what), "{pattern}: {}", regex(pattern));
        }
    }
}
