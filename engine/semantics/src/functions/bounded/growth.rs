//! How large the result of a call can be.

use datafusion::common::ScalarValue;
use datafusion::logical_expr::ColumnarValue;

use super::payload::Argument;

/// A row takes a view or an offset in addition to its value.
const ROW_BYTES: usize = 16;
/// The longest output of one directive of a format, such as the name of a month.
const DIRECTIVE_BYTES: usize = 32;
/// The longest text of a number in a list: 1e308 is written with all digits.
const NUMBER_BYTES: usize = 330;
/// Some letters become three letters in the other case.
const CASES: usize = 3;
/// The bytes of a text of one letter in a list.
const LETTER_BYTES: usize = 16;
/// For a function that compares all pairs of letters: how many steps take about as long as making one byte.
const STEPS_PER_BYTE: usize = 1_000;

/// What determines the size of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Growth {
    /// No more than all arguments together.
    Sum,
    /// The texts in another case.
    Case,
    /// The other texts, with the first one between them.
    Joined,
    /// The first argument, repeated as often as the second says.
    Repeated,
    /// The same, as a list.
    RepeatedInList,
    /// At least as many letters as the second argument says.
    Padded,
    /// The numbers or times from the first argument to the second.
    Series,
    /// As many elements as the second argument says.
    Resized,
    /// A text or list in which the third argument replaces the second.
    Replaced,
    /// The same, and the replacement may refer to the match.
    Matched,
    /// The matches of a pattern, as a list.
    Found,
    /// A list as a text, with the second argument between the elements.
    Written,
    /// A text as a list, possibly of single letters.
    Split,
    /// The text that a format in the second argument yields.
    Formatted,
    /// A number whose computation takes steps for each pair of letters.
    Compared,
}

impl Growth {
    pub fn of(function: &str) -> Growth {
        match function {
            "upper" | "lower" | "initcap" | "encode" | "translate" => Growth::Case,
            "concat_ws" => Growth::Joined,
            "repeat" => Growth::Repeated,
            "array_repeat" => Growth::RepeatedInList,
            "lpad" | "rpad" => Growth::Padded,
            "range" | "generate_series" => Growth::Series,
            "array_resize" => Growth::Resized,
            "replace" | "array_replace" | "array_replace_n" | "array_replace_all" => Growth::Replaced,
            "regexp_replace" => Growth::Matched,
            "regexp_match" => Growth::Found,
            "array_to_string" => Growth::Written,
            "string_to_array" => Growth::Split,
            "to_char" => Growth::Formatted,
            "levenshtein" => Growth::Compared,
            _ => Growth::Sum,
        }
    }

    /// An upper bound for the bytes of the results of so many rows.
    pub fn bytes(self, args: &[ColumnarValue], rows: usize) -> usize {
        let args: Vec<Argument<'_>> = args.iter().map(Argument).collect();
        let each = |bytes: fn(&[Argument<'_>], usize) -> usize| {
            (0..rows).fold(0_usize, |sum, row| sum.saturating_add(bytes(&args, row)).saturating_add(ROW_BYTES))
        };
        match self {
            Growth::Sum => sum(&args, rows),
            Growth::Case => sum(&args, rows).saturating_mul(CASES),
            Growth::Joined => {
                let between = args.first().map_or(0, |arg| arg.bytes(rows)).saturating_mul(args.len().saturating_sub(2));
                sum(&args, rows).saturating_add(between)
            }
            Growth::Repeated => each(repeated),
            Growth::RepeatedInList => each(repeated_in_list),
            Growth::Padded => each(padded),
            Growth::Series => each(series),
            Growth::Resized => each(resized),
            Growth::Replaced => each(replaced),
            Growth::Matched => each(matched),
            Growth::Found => each(found),
            Growth::Written => each(written),
            Growth::Split => sum(&args, rows).saturating_mul(LETTER_BYTES),
            Growth::Formatted => sum(&args, rows).saturating_mul(DIRECTIVE_BYTES),
            Growth::Compared => each(compared),
        }
    }
}

fn sum(args: &[Argument<'_>], rows: usize) -> usize {
    args.iter().fold(rows.saturating_mul(ROW_BYTES), |sum, arg| sum.saturating_add(arg.bytes(rows)))
}

fn bytes_of(args: &[Argument<'_>], arg: usize, row: usize) -> usize {
    args.get(arg).map_or(0, |arg| arg.bytes_at(row))
}

/// A negative number counts as 0.
fn count_of(args: &[Argument<'_>], arg: usize, row: usize) -> usize {
    let number = args.get(arg).and_then(|arg| arg.number_at(row)).unwrap_or_default();
    usize::try_from(number.max(0)).unwrap_or(usize::MAX)
}

fn repeated(args: &[Argument<'_>], row: usize) -> usize {
    bytes_of(args, 0, row).saturating_mul(count_of(args, 1, row))
}

/// Each text or list in a list takes a view or an offset in addition to its bytes.
fn repeated_in_list(args: &[Argument<'_>], row: usize) -> usize {
    let is_number = args.first().is_some_and(|arg| arg.0.data_type().is_primitive());
    let beside = if is_number { 0 } else { ROW_BYTES };
    bytes_of(args, 0, row).saturating_add(beside).saturating_mul(count_of(args, 1, row))
}

fn padded(args: &[Argument<'_>], row: usize) -> usize {
    // A letter has up to four bytes; a padding letter has as many as those of the fill.
    let letter = args.get(2).map_or(1, |fill| fill.bytes_at(row).clamp(1, 4));
    bytes_of(args, 0, row).saturating_add(count_of(args, 1, row).saturating_mul(letter))
}

fn series(args: &[Argument<'_>], row: usize) -> usize {
    let Some(numbers) = args.iter().map(|arg| arg.number_at(row)).collect::<Option<Vec<i128>>>() else {
        return times(args, row).unwrap_or(0).saturating_mul(8);
    };
    let (start, stop, step) = match numbers[..] {
        [stop] => (0, stop, 1),
        [start, stop] => (start, stop, 1),
        [start, stop, step, ..] => (start, stop, step),
        [] => return 0,
    };
    if step == 0 || (step > 0) != (stop >= start) {
        return ROW_BYTES;
    }
    let elements = usize::try_from((stop - start).unsigned_abs() / step.unsigned_abs() + 1);
    elements.unwrap_or(usize::MAX).saturating_mul(8)
}

/// How many steps lie between two times; steps have months, days and parts of days.
fn times(args: &[Argument<'_>], row: usize) -> Option<usize> {
    const DAY_NS: i128 = 86_400_000_000_000;
    let [start, stop, step] = [args.first()?, args.get(1)?, args.get(2)?].map(|arg| arg.value_at(row));
    let ns = |value: Option<ScalarValue>| match value? {
        ScalarValue::Date32(days) => Some(i128::from(days?) * DAY_NS),
        ScalarValue::Date64(ms) => Some(i128::from(ms?) * 1_000_000),
        ScalarValue::TimestampSecond(time, _) => Some(i128::from(time?) * 1_000_000_000),
        ScalarValue::TimestampMillisecond(time, _) => Some(i128::from(time?) * 1_000_000),
        ScalarValue::TimestampMicrosecond(time, _) => Some(i128::from(time?) * 1_000),
        ScalarValue::TimestampNanosecond(time, _) => Some(i128::from(time?)),
        _ => None,
    };
    let step = match step? {
        ScalarValue::IntervalMonthDayNano(step) => {
            let step = step?;
            // A month has at least 28 days.
            i128::from(step.months) * 28 * DAY_NS + i128::from(step.days) * DAY_NS + i128::from(step.nanoseconds)
        }
        _ => return None,
    };
    let distance = (ns(stop)? - ns(start)?).unsigned_abs();
    usize::try_from(distance / step.unsigned_abs().max(1) + 1).ok()
}

fn resized(args: &[Argument<'_>], row: usize) -> usize {
    let one = args.get(2).map_or(8, |value| value.bytes_at(row).max(8));
    bytes_of(args, 0, row).saturating_add(count_of(args, 1, row).saturating_mul(one))
}

fn replaced(args: &[Argument<'_>], row: usize) -> usize {
    let (value, from, to) = (bytes_of(args, 0, row), bytes_of(args, 1, row), bytes_of(args, 2, row));
    let places = match args.first().map_or(0, |list| list.elements_at(row)) {
        // An empty text is found before each letter, and after the last.
        0 => value.checked_div(from).unwrap_or(value + 1),
        elements => elements,
    };
    value.saturating_add(places.saturating_mul(to))
}

fn matched(args: &[Argument<'_>], row: usize) -> usize {
    let (text, to) = (bytes_of(args, 0, row), bytes_of(args, 2, row));
    let is_global = args.get(3).is_some_and(|flags| text_at(flags, row, |flags| flags.contains('g')));
    // A replacement can refer to the match as often as it has room for `\1`; all matches together are at most the whole text.
    let (places, named) = (if is_global { text + 1 } else { 1 }, (to / 2).saturating_mul(text));
    let is_named = args.get(2).is_some_and(|to| text_at(to, row, |to| to.contains(['\\', '$'])));
    let named = if is_named { named } else { 0 };
    text.saturating_add(places.saturating_mul(to)).saturating_add(named)
}

/// Whether the text at `row` satisfies `is_so`.
fn text_at(arg: &Argument<'_>, row: usize, is_so: impl Fn(&str) -> bool) -> bool {
    arg.value_at(row).is_some_and(|value| value.try_as_str().flatten().is_some_and(is_so))
}

fn found(args: &[Argument<'_>], row: usize) -> usize {
    let groups = bytes_of(args, 1, row) / 2 + 1;
    let written = args.get(1).and_then(|pattern| pattern.value_at(row));
    let groups = match written.as_ref().and_then(|pattern| pattern.try_as_str().flatten()) {
        Some(pattern) => pattern.matches('(').count() + 1,
        None => groups,
    };
    bytes_of(args, 0, row).saturating_add(ROW_BYTES).saturating_mul(groups)
}

fn written(args: &[Argument<'_>], row: usize) -> usize {
    let list = args.first();
    let elements = list.map_or(0, |list| list.elements_at(row));
    let bytes = bytes_of(args, 0, row);
    let number = if list.is_some_and(|list| holds_texts(&list.0.data_type())) { 0 } else { (bytes / 8).saturating_mul(NUMBER_BYTES) };
    let between = bytes_of(args, 1, row).saturating_add(bytes_of(args, 2, row)).saturating_mul(elements.max(bytes / 8));
    bytes.saturating_add(number).saturating_add(between)
}

fn holds_texts(data_type: &arrow::datatypes::DataType) -> bool {
    use arrow::datatypes::DataType;
    match data_type {
        DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) => holds_texts(field.data_type()),
        data_type => data_type.is_string(),
    }
}

fn compared(args: &[Argument<'_>], row: usize) -> usize {
    bytes_of(args, 0, row).saturating_mul(bytes_of(args, 1, row)) / STEPS_PER_BYTE
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{Int64Array, StringArray};

    use super::*;

    fn text(text: &str) -> ColumnarValue {
        ColumnarValue::Scalar(ScalarValue::from(text))
    }

    fn number(number: i64) -> ColumnarValue {
        ColumnarValue::Scalar(ScalarValue::from(number))
    }

    fn bytes(function: &str, args: &[ColumnarValue]) -> usize {
        Growth::of(function).bytes(args, 1)
    }

    #[test]
    fn calls_with_huge_numbers_are_as_large_as_they_say() {
        assert_eq!(bytes("repeat", &[text("ab"), number(1_000_000_000)]), 2_000_000_000 + ROW_BYTES);
        assert_eq!(bytes("repeat", &[text("ab"), number(-1)]), ROW_BYTES);
        assert_eq!(bytes("repeat", &[text("ab"), number(i64::MAX)]), usize::MAX);
        assert!(bytes("lpad", &[text("x"), number(1_000_000_000)]) >= 1_000_000_000);
        assert!(bytes("generate_series", &[number(1), number(100_000_000_000)]) >= 800_000_000_000);
        assert_eq!(bytes("generate_series", &[number(10), number(1)]), 2 * ROW_BYTES);
        assert!(bytes("generate_series", &[number(i64::MIN), number(i64::MAX)]) > 1 << 60);
        assert!(bytes("range", &[number(1), number(1_000), number(10)]) < 1_000);
        assert!(bytes("replace", &[text(&"a".repeat(1_000)), text("a"), text(&"b".repeat(1_000))]) >= 1_000_000);
        assert!(bytes("levenshtein", &[text(&"a".repeat(10_000)), text(&"b".repeat(10_000))]) >= 100_000);
    }

    #[test]
    fn rows_are_counted_each_with_its_own_values() {
        let texts = ColumnarValue::Array(Arc::new(StringArray::from(vec!["a", "bb"])));
        let counts = ColumnarValue::Array(Arc::new(Int64Array::from(vec![Some(1_000), None])));
        assert_eq!(Growth::Repeated.bytes(&[texts.clone(), counts], 2), 1_000 + 2 * ROW_BYTES);
        assert_eq!(Growth::Sum.bytes(&[texts, text("xyz")], 2), 3 + 6 + 2 * ROW_BYTES);
    }
}
