//! Compares the type of a stored column with the type in a plan.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef, TimeUnit};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fit {
    /// The same, except for the layout and the names of fields inside.
    Same,
    /// Every value of the stored type is one of the plan's type: a cast loses nothing.
    Wider,
    No,
}

pub fn fit(stored: &DataType, named: &DataType) -> Fit {
    if stored == named || plain(stored) == plain(named) {
        return Fit::Same;
    }
    let is_wider = match (stored, named) {
        (DataType::Decimal128(digits, after), DataType::Decimal128(other_digits, other_after)) => {
            let before = |digits: u8, after: i8| i16::from(digits) - i16::from(after);
            *other_after >= *after && before(*other_digits, *other_after) >= before(*digits, *after)
        }
        (DataType::Timestamp(unit, zone), DataType::Timestamp(other_unit, other_zone)) => {
            zone.is_some() == other_zone.is_some() && fineness(*other_unit) >= fineness(*unit)
        }
        (DataType::Float16, DataType::Float32 | DataType::Float64) | (DataType::Float32, DataType::Float64) => true,
        _ => match (bits(stored), bits(named)) {
            (Some((false, width)), Some((_, other_width))) => other_width > width,
            (Some((true, width)), Some((true, other_width))) => other_width > width,
            _ => false,
        },
    };
    if is_wider { Fit::Wider } else { Fit::No }
}

/// The sign and the width of an integer type.
fn bits(data_type: &DataType) -> Option<(bool, u8)> {
    Some(match data_type {
        DataType::Int8 => (true, 8),
        DataType::Int16 => (true, 16),
        DataType::Int32 => (true, 32),
        DataType::Int64 => (true, 64),
        DataType::UInt8 => (false, 8),
        DataType::UInt16 => (false, 16),
        DataType::UInt32 => (false, 32),
        DataType::UInt64 => (false, 64),
        _ => return None,
    })
}

fn fineness(unit: TimeUnit) -> u8 {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 1,
        TimeUnit::Microsecond => 2,
        TimeUnit::Nanosecond => 3,
    }
}

/// The type without what a plan cannot express: a normalized layout, no metadata, everything nullable, and no names inside of lists and
/// maps.
fn plain(data_type: &DataType) -> DataType {
    let item = |field: &FieldRef| Arc::new(Field::new("item", plain(field.data_type()), true));
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 => DataType::Utf8View,
        DataType::Binary | DataType::LargeBinary => DataType::BinaryView,
        DataType::Dictionary(_, values) => plain(values),
        DataType::RunEndEncoded(_, values) => plain(values.data_type()),
        DataType::Decimal32(digits, after) | DataType::Decimal64(digits, after) => DataType::Decimal128(*digits, *after),
        DataType::Timestamp(unit, Some(zone)) if matches!(zone.as_ref(), "+00:00" | "Z" | "Etc/UTC") => {
            DataType::Timestamp(*unit, Some("UTC".into()))
        }
        DataType::List(field) | DataType::LargeList(field) | DataType::ListView(field) | DataType::LargeListView(field) => {
            DataType::List(item(field))
        }
        DataType::FixedSizeList(field, length) => DataType::FixedSizeList(item(field), *length),
        DataType::Struct(fields) => {
            let field = |field: &FieldRef| Field::new(field.name().to_lowercase(), plain(field.data_type()), true);
            DataType::Struct(fields.iter().map(field).collect())
        }
        DataType::Map(entries, _) => DataType::Map(item(&Arc::new(of_pairs(entries))), false),
        other => other.clone(),
    }
}

fn of_pairs(entries: &Field) -> Field {
    let DataType::Struct(fields) = entries.data_type() else { return entries.clone() };
    let pair = ["key", "value"].into_iter().zip(fields).map(|(name, field)| Field::new(name, field.data_type().clone(), true));
    Field::new("entries", DataType::Struct(pair.collect()), false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_fits_one_that_holds_all_its_values() {
        use DataType::*;
        assert_eq!(fit(&Utf8View, &Utf8), Fit::Same);
        assert_eq!(fit(&Int32, &Int64), Fit::Wider);
        assert_eq!(fit(&UInt32, &Int64), Fit::Wider);
        assert_eq!(fit(&Int64, &Int32), Fit::No);
        assert_eq!(fit(&Int8, &UInt64), Fit::No);
        assert_eq!(fit(&Int64, &Float64), Fit::No);
        assert_eq!(fit(&Decimal128(15, 2), &Decimal128(16, 3)), Fit::Wider);
        assert_eq!(fit(&Decimal128(15, 2), &Decimal128(15, 3)), Fit::No);
        assert_eq!(fit(&Date32, &Timestamp(TimeUnit::Second, None)), Fit::No);
        let berlin = Timestamp(TimeUnit::Microsecond, Some("Europe/Berlin".into()));
        assert_eq!(fit(&berlin, &Timestamp(TimeUnit::Microsecond, Some("UTC".into()))), Fit::Wider);
        assert_eq!(fit(&berlin, &Timestamp(TimeUnit::Microsecond, None)), Fit::No);
    }

    #[test]
    fn names_and_nulls_within_lists_do_not_matter() {
        let list = |name: &str, null| DataType::List(Arc::new(Field::new(name, DataType::Utf8View, null)));
        assert_eq!(fit(&list("element", true), &list("item", false)), Fit::Same);
    }
}
