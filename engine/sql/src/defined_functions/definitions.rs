//! What the names of DuckDB, PostgreSQL and others stand for.

/// Functions of one row: names, parameters and body. A parameter in quotes is a text that the call has to have there. A call takes the first
/// definition of its name whose parameters fit. A body calls functions of the catalogue alone; it computes a parameter twice that it has twice.
pub const SCALARS: [(&str, &str, &str); 58] = [
    // Parts of a time.
    ("year", "x", "date_part('year', x)"),
    ("quarter", "x", "date_part('quarter', x)"),
    ("month", "x", "date_part('month', x)"),
    ("week weekofyear", "x", "date_part('week', x)"),
    ("day dayofmonth", "x", "date_part('day', x)"),
    ("dayofweek weekday", "x", "date_part('dow', x)"),
    ("isodow", "x", "date_part('isodow', x)"),
    ("dayofyear", "x", "date_part('doy', x)"),
    ("hour", "x", "date_part('hour', x)"),
    ("minute", "x", "date_part('minute', x)"),
    ("second", "x", "date_part('second', x)"),
    ("epoch", "x", "date_part('epoch', x)"),
    ("dayname", "x", "to_char(x, 'FMDay')"),
    ("monthname", "x", "to_char(x, 'FMMonth')"),
    ("last_day", "x", "CAST(date_trunc('month', x) + INTERVAL '1 month' - INTERVAL '1 day' AS DATE)"),
    // Times.
    ("strftime", "x, pattern", "to_char(x, pattern)"),
    ("strptime", "x, pattern", "CAST(to_timestamp(x, pattern) AS TIMESTAMP)"),
    ("date_add", "x, step", "x + step"),
    ("date_diff datediff", "'year', a, b", "date_part('year', b) - date_part('year', a)"),
    (
        "date_diff datediff",
        "'quarter', a, b",
        "date_part('year', b) * 4 + date_part('quarter', b) - date_part('year', a) * 4 - date_part('quarter', a)",
    ),
    (
        "date_diff datediff",
        "'month', a, b",
        "date_part('year', b) * 12 + date_part('month', b) - date_part('year', a) * 12 - date_part('month', a)",
    ),
    ("date_diff datediff", "'week', a, b", "(CAST(b AS DATE) - CAST(a AS DATE)) / 7"),
    ("date_diff datediff", "'day', a, b", "CAST(b AS DATE) - CAST(a AS DATE)"),
    (
        "date_diff datediff",
        "'hour', a, b",
        "CAST((date_part('epoch', date_trunc('hour', b)) - date_part('epoch', date_trunc('hour', a))) / 3600 AS BIGINT)",
    ),
    (
        "date_diff datediff",
        "'minute', a, b",
        "CAST((date_part('epoch', date_trunc('minute', b)) - date_part('epoch', date_trunc('minute', a))) / 60 AS BIGINT)",
    ),
    (
        "date_diff datediff",
        "'second', a, b",
        "CAST(date_part('epoch', date_trunc('second', b)) - date_part('epoch', date_trunc('second', a)) AS BIGINT)",
    ),
    // Weeks begin on Mondays, and months on their first day.
    (
        "time_bucket",
        "step, x",
        "date_bin(step, x, CASE WHEN date_part('year', step) <> 0 OR date_part('month', step) <> 0 THEN TIMESTAMP '2000-01-01' \
         ELSE TIMESTAMP '2000-01-03' END)",
    ),
    ("to_years", "x", "CAST(x AS BIGINT) * INTERVAL '1 year'"),
    ("to_months", "x", "CAST(x AS BIGINT) * INTERVAL '1 month'"),
    ("to_weeks", "x", "CAST(x AS BIGINT) * INTERVAL '7 days'"),
    ("to_days", "x", "CAST(x AS BIGINT) * INTERVAL '1 day'"),
    ("to_hours", "x", "CAST(x AS BIGINT) * INTERVAL '1 hour'"),
    ("to_minutes", "x", "CAST(x AS BIGINT) * INTERVAL '1 minute'"),
    ("to_seconds", "x", "CAST(x AS DOUBLE) * INTERVAL '1 second'"),
    ("curdate", "", "current_date"),
    ("getdate", "", "now()"),
    // Texts.
    ("len", "x", "length(x)"),
    ("strlen", "x", "octet_length(x)"),
    ("ucase", "x", "upper(x)"),
    ("lcase", "x", "lower(x)"),
    ("prefix", "x, start", "starts_with(x, start)"),
    ("suffix", "x, ending", "ends_with(x, ending)"),
    ("string_split str_split split", "x, separator", "CASE WHEN x = '' THEN [''] ELSE string_to_array(x, separator) END"),
    ("regexp_matches", "x, pattern", "regexp_like(x, pattern)"),
    ("regexp_matches", "x, pattern, options", "regexp_like(x, pattern, options)"),
    ("to_base64 base64", "x", "encode(x, 'base64')"),
    ("from_base64", "x", "decode(x, 'base64')"),
    ("unhex", "x", "decode(x, 'hex')"),
    ("unicode ord", "x", "ascii(x)"),
    ("gen_random_uuid uuid_generate_v4", "", "uuid()"),
    // Numbers and conditions.
    ("mod", "a, b", "a % b"),
    ("sign", "x", "signum(x)"),
    ("isinf", "x", "abs(CAST(x AS DOUBLE)) = CAST('inf' AS DOUBLE)"),
    ("isfinite", "x", "abs(CAST(x AS DOUBLE)) < CAST('inf' AS DOUBLE)"),
    ("if iif", "condition, a, b", "CASE WHEN condition THEN a ELSE b END"),
    ("isnull", "x", "x IS NULL"),
    ("current_schema", "", "'main'"),
    ("struct_extract", "x, field", "get_field(x, field)"),
];

/// Aggregates; clauses of the call are those of the function in the body.
pub const AGGREGATES: [(&str, &str, &str); 12] = [
    ("count_if countif", "condition", "count(*) FILTER (WHERE condition)"),
    ("list collect_list", "x", "array_agg(x)"),
    ("group_concat listagg", "x", "string_agg(x, ',')"),
    ("group_concat listagg", "x, separator", "string_agg(x, separator)"),
    ("first arbitrary", "x", "first_value(x)"),
    ("last", "x", "last_value(x)"),
    ("arg_max argmax max_by", "x, y", "first_value(x ORDER BY y DESC NULLS LAST) FILTER (WHERE x IS NOT NULL AND y IS NOT NULL)"),
    ("arg_min argmin min_by", "x, y", "first_value(x ORDER BY y) FILTER (WHERE x IS NOT NULL AND y IS NOT NULL)"),
    ("approx_count_distinct", "x", "approx_distinct(x)"),
    ("approx_quantile", "x, fraction", "approx_percentile_cont(fraction) WITHIN GROUP (ORDER BY x)"),
    ("favg", "x", "avg(CAST(x AS DOUBLE))"),
    ("fsum sumkahan kahan_sum", "x", "sum(CAST(x AS DOUBLE))"),
];
