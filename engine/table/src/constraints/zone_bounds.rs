//! The range of keys in each zone of a part, as bytes in the order of the values.

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};

use super::key::{Key, comparable, ordered_bytes};
use crate::scan::ScanPart;
use common::types::restore;

/// What is known about one column in one zone.
#[derive(Debug, Clone, PartialEq)]
pub enum Zone {
    Unknown,
    /// All rows are NULL.
    Nulls,
    Between(Box<[u8]>, Box<[u8]>),
}

impl Zone {
    /// Whether a row of the zone may have a value in `min..=max`.
    pub fn meets(&self, min: &[u8], max: &[u8]) -> bool {
        match self {
            Zone::Unknown => true,
            Zone::Nulls => false,
            Zone::Between(least, greatest) => least.as_ref() <= max && min <= greatest.as_ref(),
        }
    }
}

/// By key column, then by zone.
#[derive(Debug)]
pub struct ZoneBounds {
    columns: Vec<Vec<Zone>>,
}

impl ZoneBounds {
    pub fn of(part: &ScanPart, key: &Key) -> Result<ZoneBounds> {
        let columns = key.columns.iter().zip(key.types());
        let columns = columns.map(|(column, declared)| zones_of(part, *column, declared));
        Ok(ZoneBounds { columns: columns.collect::<Result<_>>()? })
    }

    pub fn zone_count(&self) -> usize {
        self.columns.first().map_or(0, Vec::len)
    }

    pub fn zone(&self, column: usize, zone: usize) -> &Zone {
        &self.columns[column][zone]
    }
}

fn zones_of(part: &ScanPart, column: usize, declared: &DataType) -> Result<Vec<Zone>> {
    let count = part.zone_count();
    if let Some(value) = part.constant(column) {
        return Ok(vec![constant(value, declared)?; count]);
    }
    let Some(zones) = part.zones(column) else { return Ok(vec![Zone::Unknown; count]) };
    if zones.min.data_type() == &DataType::Null {
        return Ok(vec![Zone::Unknown; count]);
    }
    let bytes = |bound: &ArrayRef| ordered_bytes(&comparable(&restore(bound, declared)?));
    let (mins, maxes) = (bytes(&zones.min)?, bytes(&zones.max)?);
    let rows = part.zone_rows();
    let zone = |zone: usize| {
        if zones.null_count.value(zone) == rows.value(zone) {
            Zone::Nulls
        } else if zones.has_nan.value(zone) || zones.min.is_null(zone) || zones.max.is_null(zone) {
            Zone::Unknown
        } else {
            Zone::Between(mins.row(zone).as_ref().into(), maxes.row(zone).as_ref().into())
        }
    };
    Ok((0..count).map(zone).collect())
}

fn constant(value: &ScalarValue, declared: &DataType) -> Result<Zone> {
    if value.is_null() {
        return Ok(Zone::Nulls);
    }
    let array = restore(&value.to_array()?, declared)?;
    let bytes = ordered_bytes(&comparable(&array))?;
    let bytes: Box<[u8]> = bytes.row(0).as_ref().into();
    Ok(Zone::Between(bytes.clone(), bytes))
}
