//! Interval literals, as in PostgreSQL.

use arrow::compute::kernels::cast_utils::{IntervalParseConfig, IntervalUnit, parse_interval_month_day_nano_config};
use datafusion::sql::sqlparser::ast::{BinaryOperator, Expr, Interval, Value};
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

use super::significant_tokens::{is_word, significant};
use common::interval_text::interval_of_text;

/// Units that the parser reads as the name of a column, and the names that it accepts.
const UNITS: [(&str, &str); 6] = [
    ("DECADES", "DECADE"),
    ("CENTURIES", "CENTURY"),
    ("MILLENNIA", "MILLENNIUM"),
    ("MILLENNIUMS", "MILLENNIUM"),
    ("QUARTERS", "QUARTER"),
    ("MILLENIUMS", "MILLENNIUM"),
];

pub fn name_units(tokens: &mut [TokenWithSpan]) {
    let significant: Vec<usize> = significant(tokens).map(|(index, _)| index).collect();
    for places in significant.windows(3) {
        let is_literal = is_word(&tokens[places[0]].token, "INTERVAL")
            && matches!(tokens[places[1]].token, Token::Number(..) | Token::SingleQuotedString(_));
        let unit = UNITS.iter().find(|(plural, _)| is_word(&tokens[places[2]].token, plural)).filter(|_| is_literal);
        if let Some((_, singular)) = unit {
            tokens[places[2]].token = Token::make_keyword(singular);
        }
    }
}

/// Rewrites a literal that Arrow reads differently: only with our parser do fractions of months become days.
pub fn read_interval(expr: &mut Expr) {
    let Expr::Interval(interval) = expr else { return };
    // `INTERVAL ('3') DAY`
    while let Expr::Nested(inner) = interval.value.as_mut()
        && matches!(inner.as_ref(), Expr::Value(_) | Expr::Nested(_))
    {
        interval.value = std::mem::replace(inner, Box::new(Expr::value(Value::Null)));
    }
    let is_literal = match interval.value.as_ref() {
        Expr::UnaryOp { expr, .. } => matches!(expr.as_ref(), Expr::Value(_)),
        value => matches!(value, Expr::Value(_)),
    };
    if !is_literal && let Some(unit) = &interval.leading_field {
        // `INTERVAL (a + 1) DAY`
        let one = Expr::Value(Value::SingleQuotedString(format!("1 {unit}")).with_empty_span());
        let one = Expr::Interval(Interval { value: Box::new(one), leading_field: None, ..interval.clone() });
        let number = Expr::Nested(std::mem::replace(&mut interval.value, Box::new(Expr::value(Value::Null))));
        *expr = Expr::Nested(Box::new(Expr::BinaryOp { left: Box::new(number), op: BinaryOperator::Multiply, right: Box::new(one) }));
        return;
    }
    let has_more = interval.last_field.is_some() || interval.leading_precision.is_some() || interval.fractional_seconds_precision.is_some();
    let said = match interval.value.as_ref() {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => text.clone(),
            Value::Number(digits, false) => digits.clone(),
            _ => return,
        },
        _ => return,
    };
    let said = match &interval.leading_field {
        Some(unit) => format!("{said} {unit}"),
        None => said,
    };
    let Some(own) = interval_of_text(&said).filter(|_| !has_more) else { return };
    let config = IntervalParseConfig::new(IntervalUnit::Second);
    if parse_interval_month_day_nano_config(&said, config).is_ok_and(|found| found == own) {
        return;
    }
    let text = format!("{} months {} days {} nanoseconds", own.months, own.days, own.nanoseconds);
    *interval.value = Expr::Value(Value::SingleQuotedString(text).with_empty_span());
    interval.leading_field = None;
}
