//! Functions of our extension, under DataFusion's or the engine's names: our nodes accept them, and other engines refuse them.

use super::super::registry::Function;

pub use crate::declared::OUR_FUNCTIONS as OWN;

/// All of them are deterministic: the result depends only on the arguments.
const SCALARS: &[&str] = &[
    // Numbers.
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
    "power",
    "radians",
    "round",
    "signum",
    "sin",
    "sinh",
    "sqrt",
    "tan",
    "tanh",
    "trunc",
    // Texts.
    "ascii",
    "bit_length",
    "btrim",
    "character_length",
    "chr",
    "concat",
    "concat_ws",
    "contains",
    "ends_with",
    "find_in_set",
    "initcap",
    "left",
    "levenshtein",
    "lower",
    "lpad",
    "ltrim",
    "octet_length",
    "overlay",
    "repeat",
    "replace",
    "reverse",
    "right",
    "rpad",
    "rtrim",
    "split_part",
    "starts_with",
    "strpos",
    "substr",
    "substr_index",
    "to_hex",
    "translate",
    "upper",
    "regexp_count",
    "regexp_instr",
    "regexp_like",
    "regexp_match",
    "regexp_replace",
    // Bytes.
    "decode",
    "digest",
    "encode",
    "md5",
    "sha224",
    "sha256",
    "sha384",
    "sha512",
    // Times. Functions that parse texts are in `ZONED`.
    "date_bin",
    "date_part",
    "date_trunc",
    "from_unixtime",
    "make_date",
    "make_time",
    "to_char",
    "to_date",
    "to_local_time",
    "to_time",
    // Choices.
    "coalesce",
    "greatest",
    "least",
    "nullif",
    "nvl",
    "nvl2",
    // Structs, maps and lists.
    "array_add",
    "array_any_value",
    "array_append",
    "array_avg",
    "array_compact",
    "array_concat",
    "array_dims",
    "array_distance",
    "array_distinct",
    "array_element",
    "array_except",
    "array_has",
    "array_has_all",
    "array_has_any",
    "array_intersect",
    "array_length",
    "array_max",
    "array_min",
    "array_ndims",
    "array_normalize",
    "array_pop_back",
    "array_pop_front",
    "array_position",
    "array_positions",
    "array_prepend",
    "array_product",
    "array_remove",
    "array_remove_all",
    "array_remove_n",
    "array_repeat",
    "array_replace",
    "array_replace_all",
    "array_replace_n",
    "array_resize",
    "array_reverse",
    "array_scale",
    "array_slice",
    "array_sort",
    "array_subtract",
    "array_sum",
    "array_to_string",
    "array_union",
    "arrays_zip",
    "cardinality",
    "empty",
    "flatten",
    "generate_series",
    "get_field",
    "inner_product",
    "make_array",
    "map",
    "map_entries",
    "map_extract",
    "map_keys",
    "map_values",
    "named_struct",
    "range",
    "string_to_array",
    "struct",
];

/// The engine's functions of vectors and matrices, which DataFusion lacks or defines differently.
const KERNELS: &[&str] = &[
    "cosine_distance",
    "dot",
    "kmeans_assign",
    "l1_norm",
    "l2_distance",
    "l2_norm",
    "matrix_add",
    "matrix_multiply",
    "matrix_scale",
    "matrix_transpose",
    "matrix_vector",
    "max_norm",
    "width_bucket",
];

/// The engine's aggregates; partial results of them can be merged.
const KERNEL_AGGREGATES: &[&str] = &[
    "correlation_matrix",
    "covariance_matrix",
    "histogram",
    "kmeans_step",
    "linear_regression",
    "quantile_cont",
    "quantile_disc",
    "sum_product",
];

/// They read texts as times in the session's zone.
const ZONED: &[&str] = &["to_timestamp", "to_timestamp_seconds", "to_timestamp_millis", "to_timestamp_micros", "to_timestamp_nanos"];

const AGGREGATES: &[&str] = &[
    "any_value",
    "approx_distinct",
    "approx_median",
    "approx_percentile_cont",
    "approx_percentile_cont_with_weight",
    "array_agg",
    "avg",
    "bit_and",
    "bit_or",
    "bit_xor",
    "bool_and",
    "bool_or",
    "corr",
    "count",
    "covar_pop",
    "covar_samp",
    "first_value",
    "last_value",
    "max",
    "median",
    "min",
    "nth_value",
    "percentile_cont",
    "regr_avgx",
    "regr_avgy",
    "regr_count",
    "regr_intercept",
    "regr_r2",
    "regr_slope",
    "regr_sxx",
    "regr_sxy",
    "regr_syy",
    "stddev",
    "stddev_pop",
    "string_agg",
    "sum",
    "var",
    "var_pop",
];

const WINDOWS: &[&str] = &["first_value", "lag", "last_value", "lead", "nth_value", "ntile"];

pub fn scalar(name: &str, kinds: &[&str]) -> Option<Function> {
    one_of(SCALARS, name, kinds).or_else(|| one_of(KERNELS, name, kinds))
}

pub fn zoned(name: &str, kinds: &[&str]) -> Option<Function> {
    one_of(ZONED, name, kinds)
}

pub fn aggregate(name: &str, kinds: &[&str]) -> Option<Function> {
    one_of(AGGREGATES, name, kinds).or_else(|| one_of(KERNEL_AGGREGATES, name, kinds))
}

pub fn window(name: &str, kinds: &[&str]) -> Option<Function> {
    one_of(WINDOWS, name, kinds)
}

fn one_of(names: &[&str], name: &str, kinds: &[&str]) -> Option<Function> {
    names.contains(&name).then(|| Function::new(OWN, name, kinds))
}

#[cfg(test)]
mod tests {
    use datafusion::execution::SessionStateBuilder;
    use datafusion::logical_expr::Volatility;

    use super::*;

    #[test]
    fn functions_of_ours_are_datafusions_and_always_yield_the_same() {
        let state = SessionStateBuilder::new().with_default_features().build();
        for name in SCALARS.iter().chain(ZONED) {
            let function = state.scalar_functions().get(*name).unwrap_or_else(|| panic!("there is no {name}"));
            assert_eq!(function.name(), *name);
            assert_eq!(function.signature().volatility, Volatility::Immutable, "{name}");
        }
        for name in AGGREGATES {
            let function = state.aggregate_functions().get(*name).unwrap_or_else(|| panic!("there is no {name}"));
            assert_eq!(function.name(), *name);
        }
        for name in WINDOWS {
            assert!(state.window_functions().contains_key(*name), "there is no {name}");
        }
    }
}
