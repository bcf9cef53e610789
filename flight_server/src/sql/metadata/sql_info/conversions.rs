//! The supported conversions of CAST between types, as `SqlSupportsConvert` numbers them.

use std::collections::BTreeMap;

use arrow_flight::sql::SqlSupportsConvert;
use arrow_flight::sql::SqlSupportsConvert::*;

const INTEGERS: &[SqlSupportsConvert] = &[SqlConvertTinyint, SqlConvertSmallint, SqlConvertInteger, SqlConvertBigint];
const DECIMALS: &[SqlSupportsConvert] = &[SqlConvertDecimal, SqlConvertNumeric];
const FLOATS: &[SqlSupportsConvert] = &[SqlConvertReal, SqlConvertFloat];
const BOOLEAN: &[SqlSupportsConvert] = &[SqlConvertBit];
const TEXTS: &[SqlSupportsConvert] = &[SqlConvertChar, SqlConvertVarchar, SqlConvertLongvarchar];
const BYTES: &[SqlSupportsConvert] = &[SqlConvertBinary, SqlConvertVarbinary, SqlConvertLongvarbinary];
const DATE: &[SqlSupportsConvert] = &[SqlConvertDate];
const TIME: &[SqlSupportsConvert] = &[SqlConvertTime];
const TIMESTAMP: &[SqlSupportsConvert] = &[SqlConvertTimestamp];
const INTERVALS: &[SqlSupportsConvert] = &[SqlConvertIntervalDayTime, SqlConvertIntervalYearMonth];

type Group = &'static [SqlSupportsConvert];

/// Groups of types, and the types that each can be cast to. Conversions that work for some values only are left out, except that a text
/// can be cast to everything.
const CONVERSIONS: &[(Group, &[Group])] = &[
    (INTEGERS, &[INTEGERS, DECIMALS, FLOATS, BOOLEAN, TEXTS]),
    (DECIMALS, &[INTEGERS, DECIMALS, FLOATS, TEXTS]),
    (FLOATS, &[INTEGERS, DECIMALS, FLOATS, BOOLEAN, TEXTS]),
    (BOOLEAN, &[INTEGERS, FLOATS, BOOLEAN, TEXTS]),
    (TEXTS, &[INTEGERS, DECIMALS, FLOATS, BOOLEAN, TEXTS, BYTES, DATE, TIME, TIMESTAMP, INTERVALS]),
    (BYTES, &[BYTES, TEXTS]),
    (DATE, &[DATE, TIMESTAMP, TEXTS]),
    (TIME, &[TIME, TEXTS]),
    (TIMESTAMP, &[TIMESTAMP, DATE, TIME, TEXTS]),
    (INTERVALS, &[INTERVALS, TEXTS]),
];

pub fn conversions() -> BTreeMap<i32, Vec<i32>> {
    let mut map = BTreeMap::new();
    for (from, to) in CONVERSIONS {
        let mut to: Vec<i32> = to.iter().copied().flatten().map(|to| *to as i32).collect();
        to.sort_unstable();
        map.extend(from.iter().map(|from| (*from as i32, to.clone())));
    }
    map
}
