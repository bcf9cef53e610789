//! Whether rows are in order, as far as nobody has declared it.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, make_comparator, new_empty_array};
use arrow::compute::concat;
use arrow::datatypes::{
    DataType, Date32Type, Int8Type, Int16Type, Int32Type, Int64Type, TimeUnit, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type,
};
use datafusion::common::Result;
use pmem_store::Tier;

use super::part::ScanPart;
use super::partition::ScanUnit;

/// Whether the rows of the parts, deleted ones included, are in ascending order of a column of integers without NULLs. The bounds of zones say it
/// where they are not; otherwise the column is read, unless it lies in an object store: no statement waits for that to be planned.
pub fn is_ascending(parts: &[Arc<ScanPart>], column: usize) -> Result<bool> {
    let is_near = |part: &Arc<ScanPart>| part.segment().is_some_and(|segment| segment.tier() != Tier::Object);
    if !parts.iter().all(|part| is_near(part) && part.null_count(column) == Some(0)) || !have_zones_in_order(parts, column) {
        return Ok(false);
    }
    let mut last = i64::MIN;
    for part in parts {
        for batch in 0..part.batch_count() {
            let batch = part.stored_batch(batch, &[column])?;
            match ends_of_ascending(batch.column(0)) {
                Some((first, end)) if last <= first => last = end,
                None if batch.num_rows() == 0 => {}
                _ => return Ok(false),
            }
        }
    }
    Ok(true)
}

/// Whether no zone begins below the one before it.
fn have_zones_in_order(parts: &[Arc<ScanPart>], column: usize) -> bool {
    let zones = parts.iter().map(|part| part.zones(column).map(|zones| zones.min));
    let Some(zones) = zones.collect::<Option<Vec<ArrayRef>>>() else { return false };
    let zones: Vec<&dyn Array> = zones.iter().map(AsRef::as_ref).collect();
    let Ok(least) = concat(&zones) else { return false };
    let options = Default::default();
    let Ok(compare) = make_comparator(&least, &least, options) else { return false };
    least.null_count() == 0 && (1..least.len()).all(|zone| compare(zone - 1, zone).is_le())
}

/// The first and the last value of an array in ascending order; `None` for one that is in another order, empty, or of other values than integers.
fn ends_of_ascending(array: &ArrayRef) -> Option<(i64, i64)> {
    fn ends<T: ArrowPrimitiveType<Native: Into<i64>>>(array: &ArrayRef) -> Option<(i64, i64)> {
        let values = array.as_primitive::<T>().values();
        let ends = ((*values.first()?).into(), (*values.last()?).into());
        values.is_sorted().then_some(ends)
    }
    match array.data_type() {
        DataType::Int8 => ends::<Int8Type>(array),
        DataType::Int16 => ends::<Int16Type>(array),
        DataType::Int32 => ends::<Int32Type>(array),
        DataType::Int64 => ends::<Int64Type>(array),
        DataType::UInt8 => ends::<UInt8Type>(array),
        DataType::UInt16 => ends::<UInt16Type>(array),
        DataType::UInt32 => ends::<UInt32Type>(array),
        DataType::Date32 => ends::<Date32Type>(array),
        DataType::Timestamp(TimeUnit::Second, _) => ends::<TimestampSecondType>(array),
        DataType::Timestamp(TimeUnit::Millisecond, _) => ends::<TimestampMillisecondType>(array),
        DataType::Timestamp(TimeUnit::Microsecond, _) => ends::<TimestampMicrosecondType>(array),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => ends::<TimestampNanosecondType>(array),
        _ => None,
    }
}

/// The values that the last row of a unit has, and also the first row of the next unit, ascending. `units` are in the order of the table.
pub fn shared_values(parts: &[Arc<ScanPart>], units: &[ScanUnit], column: usize, declared: &DataType) -> Result<ArrayRef> {
    let value = |unit: &ScanUnit, row: usize| {
        let part = &parts[unit.part];
        let batch = part.stored_batch(unit.batch, &[column])?;
        part.restore(&batch.column(0).slice(row, 1), column, declared)
    };
    let mut shared: Vec<ArrayRef> = Vec::new();
    for pair in units.windows(2).filter(|pair| pair.iter().all(|unit| unit.end > unit.start)) {
        let (last, first) = (value(&pair[0], pair[0].end - 1)?, value(&pair[1], pair[1].start)?);
        if last.to_data() == first.to_data() && shared.last().is_none_or(|before| before.to_data() != last.to_data()) {
            shared.push(last);
        }
    }
    let shared: Vec<&dyn Array> = shared.iter().map(AsRef::as_ref).collect();
    if shared.is_empty() { Ok(new_empty_array(declared)) } else { Ok(concat(&shared)?) }
}
