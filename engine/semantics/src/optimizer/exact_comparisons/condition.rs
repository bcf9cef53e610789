//! Rewrites a comparison of a cast value with a constant as a condition on the value itself.

use arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Operator;

use super::conversion::{Conversion, ValidNumbers};

/// The condition is NULL for NULL.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    Is(Operator, ScalarValue),
    /// Between the two, both included.
    Within(ScalarValue, ScalarValue),
    Without(ScalarValue, ScalarValue),
    /// The same for all values.
    Always(bool),
}

/// Which values TRY_CAST does not turn into NULL.
#[derive(Debug, PartialEq)]
pub enum Valid {
    All,
    Where(Condition),
    /// Only evaluating the cast can tell.
    WhereCast,
}

/// Whether DataFusion removes casts from this comparison.
pub fn compares(op: Operator) -> bool {
    use Operator::*;
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom)
}

/// A cast that DataFusion must not remove in its way.
#[derive(Debug)]
pub struct LossyCast {
    from: DataType,
    to: DataType,
    conversion: Conversion,
}

impl LossyCast {
    pub fn of(from: &DataType, to: &DataType, is_try: bool) -> Option<LossyCast> {
        let conversion = Conversion::of(from, to, is_try)?;
        Some(LossyCast { from: from.clone(), to: to.clone(), conversion })
    }

    /// The condition on the value below the cast. `None` if the constant is NULL or does not have the type of the cast.
    pub fn condition(&self, op: Operator, constant: &ScalarValue) -> Option<Condition> {
        let (least, greatest) = self.conversion.inverse(self.number(constant)?)?;
        let (lowest, highest) = (self.conversion.least(), self.conversion.greatest());
        let value = |number| scalar(number, &self.from);
        Some(match op {
            Operator::Eq | Operator::NotEq => match (least.max(lowest), greatest.min(highest)) {
                (least, greatest) if least > greatest => Condition::Always(op == Operator::NotEq),
                (least, greatest) if least == greatest => Condition::Is(op, value(least)?),
                (least, greatest) if op == Operator::Eq => Condition::Within(value(least)?, value(greatest)?),
                (least, greatest) => Condition::Without(value(least)?, value(greatest)?),
            },
            Operator::Lt | Operator::GtEq if least <= lowest => Condition::Always(op == Operator::GtEq),
            Operator::Lt | Operator::GtEq if least > highest => Condition::Always(op == Operator::Lt),
            Operator::Lt | Operator::GtEq => Condition::Is(op, value(least)?),
            Operator::LtEq | Operator::Gt if greatest < lowest => Condition::Always(op == Operator::Gt),
            Operator::LtEq | Operator::Gt if greatest >= highest => Condition::Always(op == Operator::LtEq),
            Operator::LtEq | Operator::Gt => Condition::Is(op, value(greatest)?),
            _ => return None,
        })
    }

    /// The condition under which TRY_CAST is not NULL.
    pub fn valid(&self) -> Valid {
        let (least, greatest) = match self.conversion.valid() {
            ValidNumbers::All => return Valid::All,
            ValidNumbers::Unordered => return Valid::WhereCast,
            ValidNumbers::Within(least, greatest) => (least, greatest),
        };
        match (scalar(least, &self.from), scalar(greatest, &self.from)) {
            _ if least > greatest => Valid::Where(Condition::Always(false)),
            (Some(least), Some(greatest)) => Valid::Where(Condition::Within(least, greatest)),
            _ => Valid::WhereCast,
        }
    }

    pub fn from(&self) -> &DataType {
        &self.from
    }

    fn number(&self, constant: &ScalarValue) -> Option<i128> {
        let of_this_type = match (&constant.data_type(), &self.to) {
            (DataType::Timestamp(unit, _), DataType::Timestamp(wanted, _)) => unit == wanted,
            (data_type, wanted) => data_type == wanted,
        };
        if of_this_type { number(constant) } else { None }
    }
}

fn number(value: &ScalarValue) -> Option<i128> {
    use ScalarValue::*;
    Some(match value {
        Int8(value) => (*value)?.into(),
        Int16(value) => (*value)?.into(),
        Int32(value) | Date32(value) | Decimal32(value, ..) => (*value)?.into(),
        Int64(value) | Decimal64(value, ..) => (*value)?.into(),
        TimestampSecond(value, _) | TimestampMillisecond(value, _) => (*value)?.into(),
        TimestampMicrosecond(value, _) | TimestampNanosecond(value, _) => (*value)?.into(),
        UInt8(value) => (*value)?.into(),
        UInt16(value) => (*value)?.into(),
        UInt32(value) => (*value)?.into(),
        UInt64(value) => (*value)?.into(),
        Decimal128(value, ..) => (*value)?,
        _ => return None,
    })
}

fn scalar(number: i128, data_type: &DataType) -> Option<ScalarValue> {
    let long = || i64::try_from(number).ok();
    Some(match data_type {
        DataType::Int8 => ScalarValue::Int8(Some(number.try_into().ok()?)),
        DataType::Int16 => ScalarValue::Int16(Some(number.try_into().ok()?)),
        DataType::Int32 => ScalarValue::Int32(Some(number.try_into().ok()?)),
        DataType::Int64 => ScalarValue::Int64(Some(long()?)),
        DataType::UInt8 => ScalarValue::UInt8(Some(number.try_into().ok()?)),
        DataType::UInt16 => ScalarValue::UInt16(Some(number.try_into().ok()?)),
        DataType::UInt32 => ScalarValue::UInt32(Some(number.try_into().ok()?)),
        DataType::UInt64 => ScalarValue::UInt64(Some(number.try_into().ok()?)),
        DataType::Date32 => ScalarValue::Date32(Some(number.try_into().ok()?)),
        DataType::Decimal32(precision, scale) => ScalarValue::Decimal32(Some(number.try_into().ok()?), *precision, *scale),
        DataType::Decimal64(precision, scale) => ScalarValue::Decimal64(Some(long()?), *precision, *scale),
        DataType::Decimal128(precision, scale) => ScalarValue::Decimal128(Some(number), *precision, *scale),
        DataType::Timestamp(TimeUnit::Second, zone) => ScalarValue::TimestampSecond(Some(long()?), zone.clone()),
        DataType::Timestamp(TimeUnit::Millisecond, zone) => ScalarValue::TimestampMillisecond(Some(long()?), zone.clone()),
        DataType::Timestamp(TimeUnit::Microsecond, zone) => ScalarValue::TimestampMicrosecond(Some(long()?), zone.clone()),
        DataType::Timestamp(TimeUnit::Nanosecond, zone) => ScalarValue::TimestampNanosecond(Some(long()?), zone.clone()),
        _ => return None,
    })
}
