//! Dates in other notations than ISO 8601: `31/01/2024`, `1.31.2024 9:05`, `2024/01/31`.

use arrow::compute::kernels::cast_utils::Parser;
use arrow::datatypes::Date32Type;

use super::{SeenTypes, is_finer_than, is_instant};

/// The order of the parts of a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DateOrder {
    YearFirst,
    DayFirst,
    MonthFirst,
}

/// Whether digits, a sign, digits and the same sign again begin the text, as in `31.1.2024`.
pub(super) fn has_three_parts(bytes: &[u8]) -> bool {
    let digits = |from: usize| from + bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let first = digits(0);
    match bytes.get(first) {
        Some(sign @ (b'/' | b'.' | b'-')) => bytes.get(digits(first + 1)) == Some(sign),
        _ => false,
    }
}

pub(super) fn classify_other_date(text: &str) -> SeenTypes {
    let orders = [
        (DateOrder::YearFirst, SeenTypes::NOT_YEAR_FIRST),
        (DateOrder::DayFirst, SeenTypes::NOT_DAY_FIRST),
        (DateOrder::MonthFirst, SeenTypes::NOT_MONTH_FIRST),
    ];
    let unfit = orders.into_iter().filter(|(order, _)| iso_date(text, *order).is_none()).map(|(_, unfit)| unfit).collect::<Vec<_>>();
    if unfit.len() == orders.len() {
        return SeenTypes::TEXT;
    }
    let seen = if text.contains(':') { SeenTypes::OTHER_TIMESTAMP } else { SeenTypes::OTHER_DATE };
    unfit.into_iter().fold(seen, SeenTypes::with)
}

/// A date or timestamp whose parts are in this order, as in ISO 8601. The year has four digits.
pub fn iso_date(text: &str, order: DateOrder) -> Option<String> {
    let (date, time) = match text.find([' ', 'T']) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let sign = date.chars().find(|char| !char.is_ascii_digit())?;
    let parts = date.split(sign).collect::<Vec<_>>();
    let [first, second, third] = parts[..] else { return None };
    let (year, month, day) = match order {
        DateOrder::YearFirst => (first, second, third),
        DateOrder::DayFirst => (third, second, first),
        DateOrder::MonthFirst => (third, first, second),
    };
    let is_short = |part: &str| matches!(part.len(), 1 | 2);
    if year.len() != 4 || !is_short(month) || !is_short(day) {
        return None;
    }
    let iso = format!("{year}-{month:0>2}-{day:0>2}");
    Date32Type::parse(&iso)?;
    let Some(time) = time else { return Some(iso) };
    let hour = if time.as_bytes().get(1) == Some(&b':') { "0" } else { "" };
    let iso = format!("{iso} {hour}{time}");
    let is_plain = time.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b':' | b'.'));
    (is_plain && iso.len() >= "2013-01-31 10:00".len() && !is_finer_than(6, time) && is_instant(&iso)).then_some(iso)
}
