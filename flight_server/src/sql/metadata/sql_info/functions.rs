//! The functions of the engine by group, in capitals: the ODBC driver maps those that it knows to bits, and
//! compares the names case-sensitively.

use arrow_flight::sql::SqlInfo;

use super::value::{SqlInfoEntry, Value};

const NUMERIC: &[&str] = &[
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "cbrt",
    "ceil",
    "cos",
    "cosh",
    "cot",
    "degrees",
    "exp",
    "factorial",
    "floor",
    "gcd",
    "isnan",
    "iszero",
    "lcm",
    "ln",
    "log",
    "log10",
    "log2",
    "nanvl",
    "pi",
    "pow",
    "power",
    "radians",
    "rand",
    "random",
    "round",
    "signum",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
];

const STRING: &[&str] = &[
    "ascii",
    "bit_length",
    "btrim",
    "char_length",
    "character_length",
    "chr",
    "concat",
    "concat_ws",
    "contains",
    "decode",
    "digest",
    "encode",
    "ends_with",
    "find_in_set",
    "initcap",
    "instr",
    "left",
    "length",
    "levenshtein",
    "lower",
    "lpad",
    "ltrim",
    "md5",
    "octet_length",
    "overlay",
    "position",
    "regexp_count",
    "regexp_instr",
    "regexp_like",
    "regexp_match",
    "regexp_replace",
    "repeat",
    "replace",
    "reverse",
    "right",
    "rpad",
    "rtrim",
    "sha256",
    "split_part",
    "starts_with",
    "strpos",
    "substr",
    "substring",
    "to_hex",
    "translate",
    "trim",
    "upper",
];

const SYSTEM: &[&str] = &["arrow_cast", "arrow_typeof", "coalesce", "greatest", "ifnull", "least", "nullif", "nvl", "uuid", "version"];

const DATETIME: &[&str] = &[
    "current_date",
    "current_time",
    "current_timestamp",
    "date_bin",
    "date_format",
    "date_part",
    "date_trunc",
    "from_unixtime",
    "make_date",
    "make_time",
    "now",
    "to_char",
    "to_date",
    "to_local_time",
    "to_time",
    "to_timestamp",
    "to_timestamp_micros",
    "to_timestamp_millis",
    "to_timestamp_nanos",
    "to_timestamp_seconds",
    "to_unixtime",
    "today",
];
/// This one is a keyword and not a function.
const EXTRACT: &str = "EXTRACT";

/// `functions` are those of the engine. Others are not listed.
pub fn values(functions: &[String]) -> Vec<SqlInfoEntry> {
    let intersection = |names: &[&str]| -> Vec<String> {
        let names = names.iter().filter(|name| functions.iter().any(|function| function == *name));
        names.map(|name| name.to_ascii_uppercase()).collect()
    };
    let mut datetime = intersection(DATETIME);
    datetime.push(EXTRACT.to_string());
    datetime.sort_unstable();
    vec![
        (SqlInfo::SqlNumericFunctions, Value::Texts(intersection(NUMERIC))),
        (SqlInfo::SqlStringFunctions, Value::Texts(intersection(STRING))),
        (SqlInfo::SqlSystemFunctions, Value::Texts(intersection(SYSTEM))),
        (SqlInfo::SqlDatetimeFunctions, Value::Texts(datetime)),
    ]
}

#[cfg(test)]
pub fn all() -> Vec<&'static str> {
    [NUMERIC, STRING, SYSTEM, DATETIME].concat()
}
