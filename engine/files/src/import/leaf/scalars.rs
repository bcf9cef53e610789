//! Parses texts as all types except decimals.

use std::sync::Arc;

use arrow::array::timezone::Tz;
use arrow::array::{
    ArrayBuilder, ArrayRef, ArrowPrimitiveType, BinaryViewBuilder, BooleanBuilder, NullBuilder, PrimitiveBuilder, StringViewBuilder,
};
use arrow::compute::kernels::cast_utils::{Parser, parse_interval_day_time, parse_interval_month_day_nano, parse_interval_year_month};
use arrow::datatypes::*;

use super::Leaf;
use crate::import::infer::parse_instant;
use semantics::functions::casts::Moment;

pub(super) fn leaf_for(data_type: &DataType) -> Option<Box<dyn Leaf>> {
    macro_rules! parsed {
        ($type:ty) => {
            number::<$type>(data_type, |text| <$type as Parser>::parse(text))
        };
    }
    match data_type {
        DataType::Null => Some(Box::new(NullBuilder::new())),
        DataType::Boolean => Some(Box::new(BooleanBuilder::new())),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Some(Box::new(StringViewBuilder::new())),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            Some(Box::new(BinaryViewBuilder::new()))
        }
        DataType::Int8 => number::<Int8Type>(data_type, |text| text.parse().ok()),
        DataType::Int16 => number::<Int16Type>(data_type, |text| text.parse().ok()),
        DataType::Int32 => number::<Int32Type>(data_type, |text| text.parse().ok()),
        DataType::Int64 => number::<Int64Type>(data_type, |text| text.parse().ok()),
        DataType::UInt8 => number::<UInt8Type>(data_type, |text| text.parse().ok()),
        DataType::UInt16 => number::<UInt16Type>(data_type, |text| text.parse().ok()),
        DataType::UInt32 => number::<UInt32Type>(data_type, |text| text.parse().ok()),
        DataType::UInt64 => number::<UInt64Type>(data_type, |text| text.parse().ok()),
        DataType::Float16 => parsed!(Float16Type),
        DataType::Float32 => number::<Float32Type>(data_type, |text| within_range(Float32Type::parse(text)?, text, f32::is_infinite)),
        DataType::Float64 => number::<Float64Type>(data_type, |text| within_range(Float64Type::parse(text)?, text, f64::is_infinite)),
        DataType::Date32 => parsed!(Date32Type),
        DataType::Date64 => parsed!(Date64Type),
        DataType::Time32(TimeUnit::Second) => parsed!(Time32SecondType),
        DataType::Time32(TimeUnit::Millisecond) => parsed!(Time32MillisecondType),
        DataType::Time64(TimeUnit::Microsecond) => parsed!(Time64MicrosecondType),
        DataType::Time64(TimeUnit::Nanosecond) => parsed!(Time64NanosecondType),
        DataType::Interval(IntervalUnit::YearMonth) => number::<IntervalYearMonthType>(data_type, |t| parse_interval_year_month(t).ok()),
        DataType::Interval(IntervalUnit::DayTime) => number::<IntervalDayTimeType>(data_type, |t| parse_interval_day_time(t).ok()),
        DataType::Interval(IntervalUnit::MonthDayNano) => {
            number::<IntervalMonthDayNanoType>(data_type, |t| parse_interval_month_day_nano(t).ok())
        }
        DataType::Timestamp(unit, zone) => timestamp(data_type, *unit, zone.as_deref()),
        _ => None,
    }
}

/// A number too large for the type parses as infinity; only the word may mean that.
fn within_range<F: Copy>(value: F, text: &str, is_infinite: fn(F) -> bool) -> Option<F> {
    let is_word = text.ends_with(|c: char| c.is_ascii_alphabetic());
    (!is_infinite(value) || is_word).then_some(value)
}

fn number<T: ArrowPrimitiveType>(
    data_type: &DataType,
    parse: impl Fn(&str) -> Option<T::Native> + Send + 'static,
) -> Option<Box<dyn Leaf>> {
    let builder = PrimitiveBuilder::<T>::new().with_data_type(data_type.clone());
    Some(Box::new(Parsed { builder, parse }))
}

fn timestamp(data_type: &DataType, unit: TimeUnit, zone: Option<&str>) -> Option<Box<dyn Leaf>> {
    // Texts without an offset are in the column's zone; in a column without one, an offset is
    // converted to UTC.
    let zone: Tz = zone.unwrap_or("+00:00").parse().ok()?;
    let parse = move |text: &str| {
        let (seconds, nanos) = parse_instant(&zone, text)?;
        Moment { seconds, nanoseconds: i64::from(nanos) }.in_unit(unit)
    };
    match unit {
        TimeUnit::Second => number::<TimestampSecondType>(data_type, parse),
        TimeUnit::Millisecond => number::<TimestampMillisecondType>(data_type, parse),
        TimeUnit::Microsecond => number::<TimestampMicrosecondType>(data_type, parse),
        TimeUnit::Nanosecond => number::<TimestampNanosecondType>(data_type, parse),
    }
}

struct Parsed<T: ArrowPrimitiveType, F> {
    builder: PrimitiveBuilder<T>,
    parse: F,
}

impl<T, F> Leaf for Parsed<T, F>
where
    T: ArrowPrimitiveType,
    F: Fn(&str) -> Option<T::Native> + Send,
{
    fn push(&mut self, text: &str) -> bool {
        let value = (self.parse)(text.trim_ascii());
        if let Some(value) = value {
            self.builder.append_value(value);
        }
        value.is_some()
    }

    fn push_null(&mut self) {
        self.builder.append_null();
    }

    fn len(&self) -> usize {
        ArrayBuilder::len(&self.builder)
    }

    fn finish(&mut self) -> ArrayRef {
        Arc::new(self.builder.finish())
    }
}

macro_rules! forward_to_builder {
    () => {
        fn push_null(&mut self) {
            self.append_null();
        }

        fn len(&self) -> usize {
            ArrayBuilder::len(self)
        }

        fn finish(&mut self) -> ArrayRef {
            Arc::new(Self::finish(self))
        }
    };
}

/// A column that is not read: its texts are passed over, whatever they are.
impl Leaf for NullBuilder {
    fn push(&mut self, _text: &str) -> bool {
        self.append_null();
        true
    }

    fn push_null(&mut self) {
        self.append_null();
    }

    fn len(&self) -> usize {
        ArrayBuilder::len(self)
    }

    /// `NullBuilder::finish` keeps its length.
    fn finish(&mut self) -> ArrayRef {
        Arc::new(std::mem::take(self).finish())
    }
}

impl Leaf for StringViewBuilder {
    fn push(&mut self, text: &str) -> bool {
        // It fails only for a text of 4 GiB, which no record can hold.
        self.try_append_value(text).is_ok()
    }

    forward_to_builder!();
}

impl Leaf for BinaryViewBuilder {
    /// `\x` and hex digits as PostgreSQL writes them; any other text stands for its own bytes.
    fn push(&mut self, text: &str) -> bool {
        let Some(digits) = text.strip_prefix("\\x") else {
            return self.try_append_value(text).is_ok();
        };
        let bytes: Option<Vec<u8>> = digits
            .as_bytes()
            .chunks(2)
            .map(|pair| {
                let pair = str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?;
                u8::from_str_radix(pair, 16).ok()
            })
            .collect();
        bytes.is_some_and(|bytes| self.try_append_value(bytes).is_ok())
    }

    forward_to_builder!();
}

impl Leaf for BooleanBuilder {
    fn push(&mut self, text: &str) -> bool {
        let text = text.trim_ascii();
        let is = |words: &[&str]| words.iter().any(|word| text.eq_ignore_ascii_case(word));
        if is(&["true", "t", "yes", "y", "on", "1"]) {
            self.append_value(true);
        } else if is(&["false", "f", "no", "n", "off", "0"]) {
            self.append_value(false);
        } else {
            return false;
        }
        true
    }

    forward_to_builder!();
}
