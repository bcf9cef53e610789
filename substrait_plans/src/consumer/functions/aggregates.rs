//! Aggregates of Substrait's own extensions as of 0.85 that are supported: all but `mode`, `product` and `quantile`.

use super::options::{Accepted, NOTHING_OVERFLOWS, OVERFLOW, ROUNDING};

/// An aggregate that a plan may call.
#[derive(Debug)]
pub struct Entry {
    pub name: &'static str,
    /// Counts enumerations and values.
    pub arity: (usize, usize),
    pub options: &'static [Accepted],
    pub form: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// DataFusion's function of this name.
    Named(&'static str),
    Count,
    /// The sum, with 0 instead of NULL.
    SumOrZero,
    /// The average, which is a whole number for whole numbers if the plan declares that.
    Average,
    /// An enumeration says whether it is exact.
    Median,
    /// The functions for a sample and for a population.
    Deviation(&'static str, &'static str),
}

pub fn find(name: &str) -> Option<&'static Entry> {
    ENTRIES.iter().find(|entry| entry.name == name)
}

const DISTRIBUTION: Accepted = Accepted::of("distribution", &["SAMPLE", "POPULATION"]);
/// DataFusion's takes the first value that is not NULL if there is one; plans that require another behaviour are refused.
const ANY_VALUE_OPTIONS: &[Accepted] = &[Accepted::of("ignore_nulls", &["TRUE"])];
const DEVIATION_OPTIONS: &[Accepted] = &[DISTRIBUTION, ROUNDING];

const fn named(name: &'static str, values: usize, function: &'static str, options: &'static [Accepted]) -> Entry {
    Entry { name, arity: (values, values), options, form: Form::Named(function) }
}

const fn formed(name: &'static str, arity: (usize, usize), form: Form, options: &'static [Accepted]) -> Entry {
    Entry { name, arity, options, form }
}

static ENTRIES: &[Entry] = &[
    formed("count", (0, 1), Form::Count, &[NOTHING_OVERFLOWS]),
    named("sum", 1, "sum", &[OVERFLOW]),
    formed("sum0", (1, 1), Form::SumOrZero, &[OVERFLOW]),
    formed("avg", (1, 1), Form::Average, &[OVERFLOW]),
    named("min", 1, "min", &[]),
    named("max", 1, "max", &[]),
    named("any_value", 1, "any_value", ANY_VALUE_OPTIONS),
    named("approx_count_distinct", 1, "approx_distinct", &[]),
    named("bool_and", 1, "bool_and", &[]),
    named("bool_or", 1, "bool_or", &[]),
    named("corr", 2, "corr", &[ROUNDING]),
    formed("median", (1, 2), Form::Median, &[ROUNDING]),
    formed("std_dev", (1, 2), Form::Deviation("stddev", "stddev_pop"), DEVIATION_OPTIONS),
    formed("variance", (1, 2), Form::Deviation("var", "var_pop"), DEVIATION_OPTIONS),
    named("string_agg", 2, "string_agg", &[]),
];
