//! The supported scalar functions of Substrait's own extensions, as of 0.85. A function is found by its name without the signature:
//! DataFusion decides which types it accepts, for example whether `factorial` takes decimals. Not in the table, and so refused: `log1p`,
//! `round_temporal`, `round_calendar`, `extract_boolean`, `strptime_time`, `count_substring`, `regexp_*` but `regexp_replace`,
//! `replace_slice`, `swapcase`, `capitalize`, `title`, `center`, `index_in`, `shift_right_unsigned`, functions of lists with lambdas, and
//! geometry.

use datafusion::logical_expr::{Expr, Operator};

use super::options::{Accepted, CASE, CHARS, DOMAIN, OVERFLOW, ROUNDING};
use super::table::{ANY, Entry, built, named, one, operator};
use super::{datetime, logic, numbers, text};

pub fn find(name: &str) -> Option<&'static Entry> {
    [BOOLEAN, COMPARISON, ARITHMETIC, FLOATS, BITS, TIME, TEXT, LISTS].into_iter().flatten().find(|entry| entry.name == name)
}

const ARITHMETIC_OPTIONS: &[Accepted] = &[OVERFLOW, ROUNDING];
const DIVIDE_OPTIONS: &[Accepted] = &[OVERFLOW, ROUNDING, DOMAIN, DIVISION_BY_ZERO];
const MODULUS_OPTIONS: &[Accepted] = &[OVERFLOW, DOMAIN, Accepted::of("division_type", &["TRUNCATE"])];
const FLOAT_OPTIONS: &[Accepted] = &[ROUNDING, DOMAIN];
const LOG_OPTIONS: &[Accepted] = &[ROUNDING, DOMAIN, Accepted::of("on_log_zero", &["MINUS_INFINITY"])];
const LIKE_OPTIONS: &[Accepted] = &[Accepted::of("case_sensitivity", &["CASE_SENSITIVE", "CASE_INSENSITIVE"])];
const ROUND_OPTIONS: &[Accepted] = &[Accepted::of("rounding", &["TIE_AWAY_FROM_ZERO"])];
const CONCAT_OPTIONS: &[Accepted] = &[Accepted::of("null_handling", &["ACCEPT_NULLS", "IGNORE_NULLS"])];
const SUBSTRING_OPTIONS: &[Accepted] = &[Accepted::of("negative_start", &["LEFT_OF_BEGINNING"])];
const DIVISION_BY_ZERO: Accepted = Accepted { option: "on_division_by_zero", values: &["ERROR"], floats: Some(&["IEEE"]) };
const REGEXP_OPTIONS: &[Accepted] =
    &[CASE, Accepted::of("multiline", &["MULTILINE_DISABLED"]), Accepted::of("dotall", &["DOTALL_DISABLED"])];

static BOOLEAN: &[Entry] = &[
    built("and", (0, ANY), logic::and),
    built("or", (0, ANY), logic::or),
    built("and_not", (2, 2), logic::and_not),
    // For three-valued logic too: NULL if either argument is NULL.
    operator("xor", Operator::NotEq),
    one("not", logic::not),
];

static COMPARISON: &[Entry] = &[
    operator("equal", Operator::Eq),
    operator("not_equal", Operator::NotEq),
    operator("lt", Operator::Lt),
    operator("lte", Operator::LtEq),
    operator("gt", Operator::Gt),
    operator("gte", Operator::GtEq),
    operator("is_distinct_from", Operator::IsDistinctFrom),
    operator("is_not_distinct_from", Operator::IsNotDistinctFrom),
    built("between", (3, 3), logic::between),
    one("is_null", |value| Expr::IsNull(Box::new(value))),
    one("is_not_null", |value| Expr::IsNotNull(Box::new(value))),
    one("is_true", |value| Expr::IsTrue(Box::new(value))),
    one("is_not_true", |value| Expr::IsNotTrue(Box::new(value))),
    one("is_false", |value| Expr::IsFalse(Box::new(value))),
    one("is_not_false", |value| Expr::IsNotFalse(Box::new(value))),
    named("is_nan", (1, 1), "isnan"),
    built("is_finite", (1, 1), numbers::is_finite),
    built("is_infinite", (1, 1), numbers::is_infinite),
    named("nullif", (2, 2), "nullif"),
    named("coalesce", (1, ANY), "coalesce"),
    built("least", (1, ANY), logic::least),
    built("greatest", (1, ANY), logic::greatest),
    named("least_skip_null", (1, ANY), "least"),
    named("greatest_skip_null", (1, ANY), "greatest"),
];

static ARITHMETIC: &[Entry] = &[
    built("add", (2, 3), datetime::add).with(ARITHMETIC_OPTIONS),
    built("subtract", (2, 3), datetime::subtract).with(ARITHMETIC_OPTIONS),
    operator("multiply", Operator::Multiply).with(ARITHMETIC_OPTIONS),
    operator("divide", Operator::Divide).with(DIVIDE_OPTIONS),
    operator("modulus", Operator::Modulo).with(MODULUS_OPTIONS),
    operator("mod", Operator::Modulo).with(MODULUS_OPTIONS),
    one("negate", |value| Expr::Negative(Box::new(value))).with(&[OVERFLOW]),
    named("abs", (1, 1), "abs").with(&[OVERFLOW]),
    built("sign", (1, 1), numbers::sign),
    named("power", (2, 2), "power").with(&[OVERFLOW]),
    named("factorial", (1, 1), "factorial").with(&[OVERFLOW]),
    named("ceil", (1, 1), "ceil"),
    named("floor", (1, 1), "floor"),
    named("round", (1, 2), "round").with(ROUND_OPTIONS),
    operator("add_intervals", Operator::Plus),
];

static FLOATS: &[Entry] = &[
    named("sqrt", (1, 1), "sqrt").with(FLOAT_OPTIONS),
    named("exp", (1, 1), "exp").with(FLOAT_OPTIONS),
    named("cos", (1, 1), "cos").with(FLOAT_OPTIONS),
    named("sin", (1, 1), "sin").with(FLOAT_OPTIONS),
    named("tan", (1, 1), "tan").with(FLOAT_OPTIONS),
    named("cosh", (1, 1), "cosh").with(FLOAT_OPTIONS),
    named("sinh", (1, 1), "sinh").with(FLOAT_OPTIONS),
    named("tanh", (1, 1), "tanh").with(FLOAT_OPTIONS),
    named("acos", (1, 1), "acos").with(FLOAT_OPTIONS),
    named("asin", (1, 1), "asin").with(FLOAT_OPTIONS),
    named("atan", (1, 1), "atan").with(FLOAT_OPTIONS),
    named("acosh", (1, 1), "acosh").with(FLOAT_OPTIONS),
    named("asinh", (1, 1), "asinh").with(FLOAT_OPTIONS),
    named("atanh", (1, 1), "atanh").with(FLOAT_OPTIONS),
    named("atan2", (2, 2), "atan2").with(FLOAT_OPTIONS),
    named("radians", (1, 1), "radians").with(FLOAT_OPTIONS),
    named("degrees", (1, 1), "degrees").with(FLOAT_OPTIONS),
    named("ln", (1, 1), "ln").with(LOG_OPTIONS),
    named("log10", (1, 1), "log10").with(LOG_OPTIONS),
    named("log2", (1, 1), "log2").with(LOG_OPTIONS),
    built("logb", (2, 2), numbers::log_of_base).with(LOG_OPTIONS),
];

static BITS: &[Entry] = &[
    operator("bitwise_and", Operator::BitwiseAnd),
    operator("bitwise_or", Operator::BitwiseOr),
    operator("bitwise_xor", Operator::BitwiseXor),
    built("bitwise_not", (1, 1), numbers::bitwise_not),
    operator("shift_left", Operator::BitwiseShiftLeft),
    operator("shift_right", Operator::BitwiseShiftRight),
];

static TIME: &[Entry] = &[
    built("extract", (1, 2), datetime::extract).enums(0, 2),
    built("assume_timezone", (2, 2), datetime::assume_timezone),
    built("local_timestamp", (2, 2), datetime::local_timestamp),
    built("strftime", (2, 3), datetime::strftime),
    named("strptime_date", (2, 2), "to_date"),
    named("strptime_timestamp", (2, 2), "to_timestamp"),
];

static TEXT: &[Entry] = &[
    built("concat", (1, ANY), text::concat).with(CONCAT_OPTIONS),
    named("concat_ws", (2, ANY), "concat_ws"),
    built("like", (2, 3), text::like).with(LIKE_OPTIONS),
    named("substring", (2, 3), "substr").with(SUBSTRING_OPTIONS),
    named("starts_with", (2, 2), "starts_with").with(&[CASE]),
    named("ends_with", (2, 2), "ends_with").with(&[CASE]),
    named("contains", (2, 2), "contains").with(&[CASE]),
    named("strpos", (2, 2), "strpos").with(&[CASE]),
    named("replace", (3, 3), "replace").with(&[CASE]),
    built("regexp_replace", (3, 3), text::regexp_replace).with(REGEXP_OPTIONS),
    named("repeat", (2, 2), "repeat"),
    named("reverse", (1, 1), "reverse"),
    named("lower", (1, 1), "lower").with(&[CHARS]),
    named("upper", (1, 1), "upper").with(&[CHARS]),
    named("initcap", (1, 1), "initcap").with(&[CHARS]),
    named("char_length", (1, 1), "character_length"),
    named("bit_length", (1, 1), "bit_length"),
    named("octet_length", (1, 1), "octet_length"),
    named("ltrim", (1, 2), "ltrim"),
    named("rtrim", (1, 2), "rtrim"),
    named("trim", (1, 2), "btrim"),
    named("lpad", (2, 3), "lpad"),
    named("rpad", (2, 3), "rpad"),
    named("left", (2, 2), "left"),
    named("right", (2, 2), "right"),
    named("string_split", (2, 2), "string_to_array"),
];

static LISTS: &[Entry] = &[named("cardinality", (1, 1), "array_length")];
