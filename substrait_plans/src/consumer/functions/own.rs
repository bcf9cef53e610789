//! Functions outside of the standard: SQL operators that it lacks, as Quiver and DataFusion write them, and functions that DuckDB and
//! pyarrow write without an extension.

use datafusion::logical_expr::{Expr, Operator};

use super::table::{Entry, built, named, one, operator};
use super::{datetime, logic, numbers, text};

pub fn find(name: &str) -> Option<&'static Entry> {
    OWN.iter().find(|entry| entry.name == name)
}

static OWN: &[Entry] = &[
    operator("add", Operator::Plus),
    operator("subtract", Operator::Minus),
    operator("multiply", Operator::Multiply),
    operator("divide", Operator::Divide),
    operator("modulus", Operator::Modulo),
    one("negate", |value| Expr::Negative(Box::new(value))),
    one("negative", |value| Expr::Negative(Box::new(value))),
    operator("bitwise_and", Operator::BitwiseAnd),
    operator("bitwise_or", Operator::BitwiseOr),
    operator("bitwise_xor", Operator::BitwiseXor),
    operator("bitwise_shift_left", Operator::BitwiseShiftLeft),
    operator("bitwise_shift_right", Operator::BitwiseShiftRight),
    built("like", (2, 3), text::like),
    built("ilike", (2, 3), text::ilike),
    built("like_match", (2, 2), text::like),
    built("like_imatch", (2, 2), text::ilike),
    built("like_not_match", (2, 2), |call| Ok(logic::not(text::like(call)?))),
    built("like_not_imatch", (2, 2), |call| Ok(logic::not(text::ilike(call)?))),
    operator("regex_match", Operator::RegexMatch),
    operator("regex_imatch", Operator::RegexIMatch),
    operator("regex_not_match", Operator::RegexNotMatch),
    operator("regex_not_imatch", Operator::RegexNotIMatch),
    operator("str_concat", Operator::StringConcat),
    operator("at_arrow", Operator::AtArrow),
    operator("arrow_at", Operator::ArrowAt),
    one("is_unknown", |value| Expr::IsUnknown(Box::new(value))),
    one("is_not_unknown", |value| Expr::IsNotUnknown(Box::new(value))),
    built("logb", (2, 2), numbers::log_of_base),
    named("is_nan", (1, 1), "isnan"),
    // Functions that pyarrow declares as Arrow's own.
    named("utf8_upper", (1, 1), "upper"),
    named("utf8_lower", (1, 1), "lower"),
    named("utf8_length", (1, 1), "character_length"),
    built("year", (1, 1), datetime::year),
    built("to_days", (1, 1), datetime::to_days),
    built("to_months", (1, 1), datetime::to_months),
    built("to_years", (1, 1), datetime::to_years),
];
