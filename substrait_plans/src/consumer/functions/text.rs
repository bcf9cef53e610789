//! Text functions that DataFusion defines differently.

use datafusion::common::Result as DfResult;
use datafusion::logical_expr::{Expr, Like, Operator, lit};

use super::call::{Call, text};
use super::logic::balanced;

/// `||`, which is NULL if an argument is NULL, unless an option asks for the function that ignores NULLs. SQL's `||` comes without an
/// option.
pub fn concat(mut call: Call<'_>) -> DfResult<Expr> {
    let values = std::mem::take(&mut call.values);
    if call.options.get("null_handling") == Some("IGNORE_NULLS") {
        return call.function("concat", values);
    }
    Ok(balanced(Operator::StringConcat, values).ok_or_else(|| call.invalid("no value as an argument"))?)
}

pub fn like(call: Call<'_>) -> DfResult<Expr> {
    let is_insensitive = call.options.get("case_sensitivity") == Some("CASE_INSENSITIVE");
    pattern(call, is_insensitive)
}

pub fn ilike(call: Call<'_>) -> DfResult<Expr> {
    pattern(call, true)
}

/// The third argument is the escape character.
fn pattern(mut call: Call<'_>, is_insensitive: bool) -> DfResult<Expr> {
    let escape = match call.values.len() {
        3 => {
            let escape = call.one()?;
            match &escape {
                Expr::Literal(value, _) if value.is_null() => None,
                _ => {
                    let mut letters = text(&escape).unwrap_or_default().chars();
                    let (letter, more) = (letters.next(), letters.next());
                    Some(letter.filter(|_| more.is_none()).ok_or_else(|| call.unsupported("an escape that is not one constant letter"))?)
                }
            }
        }
        _ => None,
    };
    let (value, pattern) = call.two()?;
    Ok(Expr::Like(Like::new(false, Box::new(value), Box::new(pattern), escape, is_insensitive)))
}

/// Replaces every match, where DataFusion's function replaces the first.
pub fn regexp_replace(mut call: Call<'_>) -> DfResult<Expr> {
    let mut values = std::mem::take(&mut call.values);
    values.push(lit("g"));
    call.function("regexp_replace", values)
}
