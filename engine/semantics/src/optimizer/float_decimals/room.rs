//! Extends decimal types to fit the literals of a statement.
//!
//! DataFusion gives decimals a common type of 38 digits (76 if one of them is that long) and keeps the digits behind the point. The digits
//! in front of the point of a column's values usually fit anyway. For a literal it is known whether they do: next to
//! 0.00000000000000000001, 1234567890123456789012.5 did not fit, so the statement could not run at all.

use std::fmt::Display;

use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::logical_expr::{Expr, LogicalPlan};

use crate::functions::nested_types::{fields_of, with_field};

const DIGITS_MAX: i32 = 76;

/// Widens decimals to types that hold all of them, or to DOUBLE if none does. It does so if a literal with as many digits in front of the
/// point as `written` returns does not fit their common type. Returns whether it changed the types.
pub fn make_room(types: &mut [DataType], written: &dyn Fn() -> i32) -> bool {
    let numbers: Vec<usize> = (0..types.len()).filter(|index| !types[*index].is_null()).collect();
    if numbers.len() < 2 {
        return false;
    }
    if numbers.iter().all(|index| types[*index].is_list()) {
        let mut inner: Vec<DataType> = numbers.iter().map(|index| fields_of(&types[*index])[0].data_type().clone()).collect();
        let is_changed = make_room(&mut inner, written);
        for (index, inner) in numbers.into_iter().zip(inner).filter(|_| is_changed) {
            types[index] = with_field(&types[index], 0, inner);
        }
        return is_changed;
    }
    let Some(all) = numbers.iter().map(|index| Digits::of(&types[*index])).collect::<Option<Vec<_>>>() else { return false };
    let whole = all.iter().map(|digits| digits.whole).max().unwrap_or_default();
    let scale = all.iter().map(|digits| digits.scale).max().unwrap_or_default();
    let is_long = types.iter().any(|data_type| matches!(data_type, DataType::Decimal256(..)));
    let most = if is_long { DIGITS_MAX } else { 38 };
    if whole + scale <= most || !is_too_long(types) && written() <= most - scale {
        return false;
    }
    let digits = (u8::try_from(whole + scale), i8::try_from(scale));
    let wanted = match digits {
        (Ok(precision), Ok(scale)) if i32::from(precision) <= DIGITS_MAX => DataType::Decimal256(precision, scale),
        _ => DataType::Float64,
    };
    types.iter_mut().filter(|data_type| data_type.is_decimal()).for_each(|data_type| *data_type = wanted.clone());
    true
}

/// Whether no decimal type has room for both the digits in front of the point and those behind it. Integer types are not considered: few
/// values have as many digits as their type.
fn is_too_long(types: &[DataType]) -> bool {
    let decimals = || types.iter().filter(|data_type| data_type.is_decimal()).filter_map(Digits::of);
    let whole = decimals().map(|digits| digits.whole).max().unwrap_or_default();
    let scale = decimals().map(|digits| digits.scale).max().unwrap_or_default();
    whole + scale > DIGITS_MAX
}

/// The largest number of digits that a literal in the expression has in front of its point; 0 if there is none.
pub fn whole_digits(expr: &Expr) -> i32 {
    match expr {
        Expr::Alias(alias) => whole_digits(&alias.expr),
        Expr::Negative(inner) => whole_digits(inner),
        // A cast to the type of the neighboring numbers.
        Expr::Cast(cast) if cast.field.data_type().is_decimal() || cast.field.data_type().is_list() => whole_digits(&cast.expr),
        Expr::ScalarFunction(call) if call.name() == "make_array" => call.args.iter().map(whole_digits).max().unwrap_or_default(),
        Expr::Literal(value, _) => match value {
            ScalarValue::Int64(Some(number)) => digits_before_point(number.unsigned_abs(), 0),
            ScalarValue::UInt64(Some(number)) => digits_before_point(number, 0),
            ScalarValue::Decimal128(Some(number), _, scale) => digits_before_point(number.unsigned_abs(), *scale),
            ScalarValue::Decimal256(Some(number), _, scale) => digits_before_point(number.wrapping_abs(), *scale),
            _ => 0,
        },
        _ => 0,
    }
}

/// [`whole_digits`] of the literals in a column of the plan.
pub fn whole_digits_of_column(plan: &LogicalPlan, column: usize) -> i32 {
    let most = |digits: &mut dyn Iterator<Item = i32>| digits.max().unwrap_or_default();
    match plan {
        LogicalPlan::Projection(projection) => projection.expr.get(column).map_or(0, whole_digits),
        LogicalPlan::Values(values) => most(&mut values.values.iter().filter_map(|row| row.get(column)).map(whole_digits)),
        LogicalPlan::Union(union) => most(&mut union.inputs.iter().map(|input| whole_digits_of_column(input, column))),
        LogicalPlan::SubqueryAlias(alias) => whole_digits_of_column(&alias.input, column),
        LogicalPlan::Distinct(distinct) => whole_digits_of_column(distinct.input(), column),
        _ => 0,
    }
}

fn digits_before_point(unscaled: impl Display, scale: i8) -> i32 {
    let digits = unscaled.to_string();
    match digits.as_str() {
        "0" => 0,
        digits => digits.len() as i32 - i32::from(scale),
    }
}

/// The digits of a type in front of the point and behind it.
struct Digits {
    whole: i32,
    scale: i32,
}

impl Digits {
    fn of(data_type: &DataType) -> Option<Digits> {
        use DataType::*;
        let (precision, scale) = match data_type {
            Decimal32(precision, scale) | Decimal64(precision, scale) => (*precision, *scale),
            Decimal128(precision, scale) | Decimal256(precision, scale) => (*precision, *scale),
            // DataFusion uses the same numbers.
            Int8 | UInt8 => (3, 0),
            Int16 | UInt16 => (5, 0),
            Int32 | UInt32 => (10, 0),
            Int64 | UInt64 => (20, 0),
            _ => return None,
        };
        Some(Digits { whole: i32::from(precision) - i32::from(scale), scale: i32::from(scale) })
    }
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::DataType::{Decimal128, Decimal256, Float64, Int32, Int64, Null, Utf8};
    use datafusion::logical_expr::lit;

    use super::*;

    fn made(mut types: Vec<DataType>, written: i32) -> Option<Vec<DataType>> {
        make_room(&mut types, &|| written).then_some(types)
    }

    #[test]
    fn decimals_become_longer_where_a_number_that_is_written_has_no_room() {
        let (small, great) = (Decimal128(20, 20), Decimal128(23, 1));
        let both = Decimal256(42, 20);
        assert_eq!(made(vec![small.clone(), great.clone(), Null], 22), Some(vec![both.clone(), both.clone(), Null]));
        assert_eq!(made(vec![small.clone(), great.clone()], 18), None, "18 digits have room beside 20 of 38");
        assert_eq!(made(vec![small.clone(), Int64], 19), Some(vec![Decimal256(40, 20), Int64]));
        let list = |item: &DataType| DataType::new_list(item.clone(), true);
        assert_eq!(made(vec![list(&small), list(&great)], 22), Some(vec![list(&both), list(&both)]));
    }

    #[test]
    fn no_decimal_of_so_many_digits_is_a_double() {
        assert_eq!(made(vec![Decimal256(60, 60), Decimal128(23, 1), Int32], 22), Some(vec![Float64, Float64, Int32]));
        let doubles = Some(vec![Float64, Float64]);
        assert_eq!(made(vec![Decimal256(60, 60), Decimal128(23, 1)], 0), doubles, "a row may have 22 digits beside 60 of 76");
        assert_eq!(made(vec![Decimal256(60, 60), Decimal128(17, 1)], 16), None, "16 digits have room beside 60 of 76");
        assert_eq!(made(vec![Decimal256(60, 60), Int64], 16), None, "a whole number of 20 digits is rare");
        assert_eq!(made(vec![Decimal256(60, 60), Int64], 17), doubles.map(|_| vec![Float64, Int64]));
    }

    #[test]
    fn types_that_have_room_for_each_other_and_what_is_no_number_stay() {
        for types in [vec![Decimal128(20, 10), Int64], vec![Decimal128(38, 38)], vec![Decimal128(38, 38), Utf8], vec![Int64, Int64], vec![]]
        {
            assert_eq!(made(types.clone(), 40), None, "{types:?}");
        }
    }

    #[test]
    fn digits_in_front_of_the_point_are_those_of_the_number_and_not_of_its_type() {
        let decimal = |unscaled: i128, scale: i8| lit(ScalarValue::Decimal128(Some(unscaled), 38, scale));
        for (expr, digits) in [
            (decimal(-12_345, 2), 3),
            (decimal(5, 20), -19),
            (decimal(0, 20), 0),
            (Expr::Negative(Box::new(decimal(100, 0))), 3),
            (lit(1234_i64), 4),
            (lit("12345"), 0),
        ] {
            assert_eq!(whole_digits(&expr), digits, "{expr}");
        }
    }
}
