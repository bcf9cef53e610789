//! INTERVALs as in PostgreSQL: the same texts are accepted, and intervals are compared by length, with 30 days a month and 24 hours a day.
//! Arrow compares months, then days, then the rest.
//!
//! - [`length`] — the number by which they are compared, sorted, grouped and joined; [`compared`] and [`grouped`] insert it
//! - [`lists`] — functions of lists that have intervals inside
//! - [`parts`] — `extract` and `date_part`
//! - [`scale`] — products and quotients with numbers

mod compared;
mod grouped;
mod length;
mod lists;
mod parts;
mod scale;

use arrow::datatypes::{DataType, IntervalUnit};

pub use compared::compared_by_length;
pub use grouped::in_groups_of_length;
pub use length::{lengths, with_lengths_of_keys};
pub use lists::of_intervals;
pub use parts::part_of_interval;
pub use scale::IntervalOperators;

pub fn is_interval(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Interval(IntervalUnit::MonthDayNano))
}

/// Whether values are intervals, or have some inside of lists, structs and maps.
pub fn has_intervals(data_type: &DataType) -> bool {
    match data_type {
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) | DataType::Map(item, _) => {
            has_intervals(item.data_type())
        }
        DataType::Struct(fields) => fields.iter().any(|field| has_intervals(field.data_type())),
        other => is_interval(other),
    }
}
