//! Values for plans: literals, and casts of literals for types that have no literal.

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::{DataType, i256};
use datafusion::scalar::ScalarValue;

use super::plain::{decimal128, plain};
use super::{TypeAnchors, Unrepresentable, type_of};
use crate::proto::expression::cast::FailureBehavior;
use crate::proto::expression::literal::LiteralType;
use crate::proto::expression::nested::{List as NestedList, NestedType};
use crate::proto::expression::{Cast, Literal, Nested, RexType, literal};
use crate::proto::r#type::{Kind, List as ListType};
use crate::proto::{Expression, Type};

/// A value as an expression. When it is read back, it has the type that `type_of` returns for it.
///
/// # Errors
///
/// Structs, whose fields would lose their names; maps with entries; unions.
pub fn literal(value: &ScalarValue, anchors: &mut TypeAnchors) -> Result<Expression, Unrepresentable> {
    if value.is_null() {
        return Ok(of_literal(LiteralType::Null(type_of(&value.data_type(), true, anchors)?)));
    }
    if let Some(literal) = plain(value) {
        return Ok(of_literal(literal));
    }
    let data_type = value.data_type();
    let other = match value {
        ScalarValue::Dictionary(_, value) | ScalarValue::RunEndEncoded(_, _, value) => return literal(value, anchors),
        ScalarValue::UInt8(Some(number)) => LiteralType::I64((*number).into()),
        ScalarValue::UInt16(Some(number)) => LiteralType::I64((*number).into()),
        ScalarValue::UInt32(Some(number)) => LiteralType::I64((*number).into()),
        ScalarValue::UInt64(Some(number)) => decimal128((*number).into(), 20, 0),
        ScalarValue::Float16(Some(number)) => LiteralType::Fp32(number.to_f32()),
        ScalarValue::Date64(Some(millis)) => instant(*millis, 3, false),
        ScalarValue::TimestampSecond(Some(value), Some(_)) => instant(*value, 0, true),
        ScalarValue::TimestampMillisecond(Some(value), Some(_)) => instant(*value, 3, true),
        ScalarValue::TimestampMicrosecond(Some(value), Some(_)) => instant(*value, 6, true),
        ScalarValue::TimestampNanosecond(Some(value), Some(_)) => instant(*value, 9, true),
        ScalarValue::DurationSecond(Some(value))
        | ScalarValue::DurationMillisecond(Some(value))
        | ScalarValue::DurationMicrosecond(Some(value))
        | ScalarValue::DurationNanosecond(Some(value)) => LiteralType::I64(*value),
        ScalarValue::Decimal256(Some(value), precision, scale) => decimal256(*value, *precision, *scale)?,
        ScalarValue::List(list) => return of_list(&list.value(0), &data_type, anchors),
        ScalarValue::LargeList(list) => return of_list(&list.value(0), &data_type, anchors),
        ScalarValue::FixedSizeList(list) => return of_list(&list.value(0), &data_type, anchors),
        _ => return Err(Unrepresentable::new(format!("a constant of type {data_type}"), "there is no way to write one")),
    };
    cast(of_literal(other), &data_type, anchors)
}

/// Used for a number of rows, for example.
pub fn i64_literal(value: i64) -> Expression {
    of_literal(LiteralType::I64(value))
}

fn of_literal(literal: LiteralType) -> Expression {
    let nullable = matches!(literal, LiteralType::Null(_));
    let literal = Literal { nullable, type_variation_reference: 0, literal_type: Some(literal) };
    Expression { rex_type: Some(RexType::Literal(literal)) }
}

fn instant(value: i64, precision: i32, is_utc: bool) -> LiteralType {
    let instant = literal::PrecisionTimestamp { precision, value };
    if is_utc { LiteralType::PrecisionTimestampTz(instant) } else { LiteralType::PrecisionTimestamp(instant) }
}

/// A decimal with fewer digits if the value fits one, otherwise a text, whose cast is exact too.
fn decimal256(value: i256, precision: u8, scale: i8) -> Result<LiteralType, Unrepresentable> {
    const DIGITS: u32 = 38;
    match value.to_i128().filter(|value| value.unsigned_abs() < 10_u128.pow(DIGITS)) {
        Some(value) if (0..=38).contains(&scale) => Ok(decimal128(value, 38, scale)),
        _ => {
            let text = ScalarValue::Decimal256(Some(value), precision, scale).to_array().and_then(|array| {
                let text = arrow::compute::cast(&array, &DataType::Utf8)?;
                ScalarValue::try_from_array(&text, 0)
            });
            match text {
                Ok(ScalarValue::Utf8(Some(text))) => Ok(LiteralType::String(text)),
                _ => Err(Unrepresentable::new("a constant of more than 38 digits", "it cannot be written as text")),
            }
        }
    }
}

fn cast(input: Expression, data_type: &DataType, anchors: &mut TypeAnchors) -> Result<Expression, Unrepresentable> {
    let cast = Cast {
        r#type: Some(type_of(data_type, false, anchors)?),
        input: Some(Box::new(input)),
        failure_behavior: FailureBehavior::ThrowException as i32,
    };
    Ok(Expression { rex_type: Some(RexType::Cast(Box::new(cast))) })
}

/// A list of literals, or of expressions if an item has no literal.
fn of_list(items: &ArrayRef, data_type: &DataType, anchors: &mut TypeAnchors) -> Result<Expression, Unrepresentable> {
    let list = if items.is_empty() {
        let Type { kind: Some(Kind::List(of)) } = type_of(&as_list(data_type), false, anchors)? else {
            return Err(Unrepresentable::new(format!("an empty {data_type}"), "it is no list"));
        };
        let empty = ListType { r#type: of.r#type, type_variation_reference: 0, nullability: of.nullability };
        of_literal(LiteralType::EmptyList(empty))
    } else {
        let values = (0..items.len()).map(|index| {
            let value = ScalarValue::try_from_array(items, index);
            literal(&value.map_err(|error| Unrepresentable::new("an item of a list", error.strip_backtrace()))?, anchors)
        });
        joined(values.collect::<Result<Vec<_>, Unrepresentable>>()?)
    };
    match data_type {
        DataType::FixedSizeList(..) => cast(list, data_type, anchors),
        _ => Ok(list),
    }
}

fn as_list(data_type: &DataType) -> DataType {
    match data_type {
        DataType::LargeList(item) | DataType::FixedSizeList(item, _) => DataType::List(std::sync::Arc::clone(item)),
        other => other.clone(),
    }
}

fn joined(values: Vec<Expression>) -> Expression {
    let literals: Option<Vec<Literal>> = values
        .iter()
        .map(|value| match &value.rex_type {
            Some(RexType::Literal(literal)) => Some(literal.clone()),
            _ => None,
        })
        .collect();
    match literals {
        Some(values) => of_literal(LiteralType::List(literal::List { values })),
        None => {
            let list = NestedType::List(NestedList { values });
            let nested = Nested { nullable: false, type_variation_reference: 0, nested_type: Some(list) };
            Expression { rex_type: Some(RexType::Nested(nested)) }
        }
    }
}
