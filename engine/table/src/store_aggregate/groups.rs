//! The group of each row, by the codes of its keys.

use std::collections::HashMap;

use arrow::array::{Array, ArrayData, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray, UInt32Array};
use arrow::compute::take;
use arrow::datatypes::{ArrowNativeType, DataType, Int8Type, Int16Type, UInt8Type, UInt16Type};
use arrow::row::{OwnedRow, Row, RowConverter, SortField};
use datafusion::common::{Result, internal_err};
use foldhash::fast::RandomState;

use crate::scan::StoredRows;

/// Combinations of codes that a table has entries for: 4 MiB.
pub const COMBINATIONS_MAX: usize = 1 << 20;
const UNKNOWN: u32 = u32::MAX;

/// Groups of rows by some columns of a scan.
#[derive(Debug)]
pub struct Groups {
    keys: Vec<usize>,
    /// Makes a row of a group's keys.
    converter: RowConverter,
    by_keys: HashMap<Box<[u8]>, usize, RandomState>,
    /// The keys of each group.
    rows: Vec<OwnedRow>,
    row_bytes: usize,
    combinations: Combinations,
}

/// The groups of combinations of codes.
#[derive(Debug, Default)]
struct Combinations {
    /// What the codes of each key mean.
    codings: Vec<Coding>,
    groups: Vec<u32>,
}

#[derive(Debug)]
enum Coding {
    /// The codes are positions in this dictionary.
    Dictionary(ArrayData),
    /// They are distances from the least value.
    Integers { least: i64, greatest: i64 },
}

impl Coding {
    /// `None` if the column has no codes.
    fn of(rows: &StoredRows, key: usize) -> Option<Coding> {
        let stored = rows.stored(key);
        match stored.data_type() {
            DataType::Int8 | DataType::UInt8 | DataType::Int16 | DataType::UInt16 => {
                let (least, greatest) = rows.integer_range(key)?;
                Some(Coding::Integers { least, greatest })
            }
            DataType::Dictionary(..) => Some(Coding::Dictionary(stored.as_any_dictionary().values().to_data())),
            _ => None,
        }
    }

    fn is(&self, other: &Coding) -> bool {
        match (self, other) {
            (Coding::Dictionary(one), Coding::Dictionary(other)) => one.ptr_eq(other),
            (Coding::Integers { least, greatest }, Coding::Integers { least: other, greatest: other_greatest }) => {
                (least, greatest) == (other, other_greatest)
            }
            _ => false,
        }
    }

    /// The number of codes; NULL has the last one.
    fn code_count(&self) -> Option<usize> {
        match self {
            Coding::Dictionary(values) => values.len().checked_add(1),
            Coding::Integers { least, greatest } => usize::try_from(greatest.checked_sub(*least)?.checked_add(2)?).ok(),
        }
    }
}

impl Groups {
    /// `types`: the declared types of the keys.
    pub fn new(keys: Vec<usize>, types: &[DataType]) -> Result<Groups> {
        let fields = types.iter().map(|data_type| SortField::new(data_type.clone())).collect();
        let converter = RowConverter::new(fields)?;
        let by_keys = HashMap::default();
        Ok(Groups { keys, converter, by_keys, rows: Vec::new(), row_bytes: 0, combinations: Combinations::default() })
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    pub fn size_bytes(&self) -> usize {
        2 * self.row_bytes + self.rows.len() * 4 * size_of::<OwnedRow>() + self.combinations.groups.capacity() * size_of::<u32>()
    }

    /// Writes the group of each row to `groups`, and makes new ones.
    pub fn assign(&mut self, rows: &StoredRows, groups: &mut Vec<usize>) -> Result<()> {
        groups.clear();
        let codings = self.keys.iter().map(|key| Coding::of(rows, *key)).collect::<Option<Vec<_>>>();
        let count = codings.iter().flatten().try_fold(1usize, |count, coding| count.checked_mul(coding.code_count()?));
        match (codings, count) {
            (Some(codings), Some(count)) if count <= COMBINATIONS_MAX => {
                self.combinations.begin(codings, count);
                let stored: Vec<&ArrayRef> = self.keys.iter().map(|key| rows.stored(*key)).collect();
                combine(&stored, &self.combinations.codings, groups);
                self.resolve(rows, groups)
            }
            _ => self.assign_by_keys(rows, groups),
        }
    }

    /// Replaces combinations by their groups.
    fn resolve(&mut self, rows: &StoredRows, groups: &mut [usize]) -> Result<()> {
        let known = &mut self.combinations.groups;
        let mut new = Vec::new();
        for (row, combination) in (0u32..).zip(groups.iter()) {
            match known.get_mut(*combination) {
                Some(group) if *group == UNKNOWN => {
                    // Its group comes below.
                    *group = 0;
                    new.push((row, *combination));
                }
                Some(_) => {}
                None => return internal_err!("a value is outside of the bounds of its segment"),
            }
        }
        if !new.is_empty() {
            let indices = UInt32Array::from_iter_values(new.iter().map(|(row, _)| *row));
            let keys = self.keys.iter().map(|key| rows.decode(*key, &take(rows.stored(*key), &indices, None)?));
            let keys = self.converter.convert_columns(&keys.collect::<Result<Vec<_>>>()?)?;
            for (keys, (_, combination)) in keys.iter().zip(new) {
                let group = self.group_of(keys);
                self.combinations.groups[combination] = u32::try_from(group).unwrap_or(UNKNOWN);
            }
        }
        let known = &self.combinations.groups;
        groups.iter_mut().for_each(|group| *group = known[*group].as_usize());
        Ok(())
    }

    fn assign_by_keys(&mut self, rows: &StoredRows, groups: &mut Vec<usize>) -> Result<()> {
        let keys = self.keys.iter().map(|key| rows.decoded(*key)).collect::<Result<Vec<_>>>()?;
        let keys = self.converter.convert_columns(&keys)?;
        groups.extend(keys.iter().map(|keys| self.group_of(keys)));
        Ok(())
    }

    fn group_of(&mut self, keys: Row<'_>) -> usize {
        if let Some(group) = self.by_keys.get(keys.data()) {
            return *group;
        }
        let group = self.rows.len();
        self.rows.push(keys.owned());
        self.row_bytes += keys.data().len();
        self.by_keys.insert(keys.data().into(), group);
        group
    }

    /// The keys of all groups, which are forgotten.
    pub fn take(&mut self) -> Result<Vec<ArrayRef>> {
        self.by_keys.clear();
        self.combinations = Combinations::default();
        self.row_bytes = 0;
        let rows = std::mem::take(&mut self.rows);
        Ok(self.converter.convert_rows(rows.iter().map(OwnedRow::row))?)
    }
}

impl Combinations {
    /// Keeps the groups that are known if the codes mean what they meant before.
    fn begin(&mut self, codings: Vec<Coding>, count: usize) {
        let is_same = self.codings.len() == codings.len() && self.codings.iter().zip(&codings).all(|(one, other)| one.is(other));
        if !is_same {
            self.codings = codings;
            self.groups.clear();
            self.groups.resize(count, UNKNOWN);
        }
    }
}

/// Writes the number of each row's combination of codes to `combinations`.
fn combine(stored: &[&ArrayRef], codings: &[Coding], combinations: &mut Vec<usize>) {
    for (column, coding) in stored.iter().zip(codings) {
        // There are few combinations of all columns.
        let count = coding.code_count().unwrap_or_default();
        let least = if let Coding::Integers { least, .. } = coding { *least } else { 0 };
        // A value is not less than the least of its segment.
        let distance = |value: i64| value.wrapping_sub(least) as usize;
        match column.data_type() {
            DataType::Int8 => add_codes(column.as_primitive::<Int8Type>(), |value| distance(value.into()), count, combinations),
            DataType::Int16 => add_codes(column.as_primitive::<Int16Type>(), |value| distance(value.into()), count, combinations),
            DataType::UInt8 => add_codes(column.as_primitive::<UInt8Type>(), |value| distance(value.into()), count, combinations),
            DataType::UInt16 => add_codes(column.as_primitive::<UInt16Type>(), |value| distance(value.into()), count, combinations),
            _ => {
                let codes = column.as_any_dictionary().keys();
                match codes.data_type() {
                    DataType::UInt8 => add_codes(codes.as_primitive::<UInt8Type>(), usize::from, count, combinations),
                    _ => add_codes(codes.as_primitive::<UInt16Type>(), usize::from, count, combinations),
                }
            }
        }
    }
}

/// The codes of the next column, of which there are `count`.
fn add_codes<T: ArrowPrimitiveType>(
    column: &PrimitiveArray<T>,
    code: impl Fn(T::Native) -> usize,
    count: usize,
    combinations: &mut Vec<usize>,
) {
    let is_first = combinations.is_empty();
    let values = column.values();
    match (column.nulls(), is_first) {
        (None, true) => combinations.extend(values.iter().map(|value| code(*value))),
        (None, false) => combinations
            .iter_mut()
            .zip(values)
            .for_each(|(combination, value)| *combination = combination.wrapping_mul(count).wrapping_add(code(*value))),
        (Some(nulls), _) => {
            let codes = values.iter().zip(nulls).map(|(value, is_valid)| if is_valid { code(*value) } else { count - 1 });
            match is_first {
                true => combinations.extend(codes),
                false => combinations
                    .iter_mut()
                    .zip(codes)
                    .for_each(|(combination, code)| *combination = combination.wrapping_mul(count).wrapping_add(code)),
            }
        }
    }
}
