//! Sums of integers by group.

use std::sync::Arc;

use arrow::array::{ArrayRef, PrimitiveArray, UInt64Array};
use arrow::datatypes::{DataType, Decimal128Type, Int64Type};
use datafusion::common::{Result, internal_err};

use super::integers::Integers;
use semantics::functions::overflow::out_of_range;

/// With at most so many groups, consecutive rows are added to different sums, so that an addition does not wait for the one before it.
const LANES_OF_GROUPS_MAX: usize = 64;
const LANES: usize = 4;

/// The groups of the rows of a zone.
#[derive(Debug, Clone, Copy)]
pub struct ZoneGroups<'a> {
    /// `None` without keys: all rows are in group 0.
    pub of_rows: Option<&'a [usize]>,
    pub count: usize,
    pub row_count: usize,
    /// The rows of each group, unless there are more groups than rows.
    pub row_counts: Option<&'a [u64]>,
}

impl ZoneGroups<'_> {
    /// Adds to `counts` the rows of each group that are valid.
    pub fn count_rows(&self, nulls: Option<&arrow::buffer::NullBuffer>, counts: &mut Vec<u64>) {
        counts.resize(self.count, 0);
        match (self.of_rows, nulls, self.row_counts) {
            (None, nulls, _) => counts[0] += (self.row_count - nulls.map_or(0, |nulls| nulls.null_count())) as u64,
            (Some(_), None, Some(row_counts)) => counts.iter_mut().zip(row_counts).for_each(|(count, rows)| *count += rows),
            (Some(groups), None, None) => groups.iter().for_each(|group| counts[*group] += 1),
            (Some(groups), Some(nulls), _) => nulls.valid_indices().for_each(|row| counts[groups[row]] += 1),
        }
    }
}

/// The sums of one expression.
#[derive(Debug, Default)]
pub struct GroupSums {
    sums: Vec<i128>,
    /// The values that were added up.
    counts: Vec<u64>,
    lanes: Vec<i64>,
}

impl GroupSums {
    pub fn add(&mut self, integers: &Integers, groups: ZoneGroups<'_>) {
        let (values, nulls) = (integers.values.as_slice(), integers.nulls.as_ref());
        groups.count_rows(nulls, &mut self.counts);
        self.sums.resize(groups.count, 0);
        let fits = integers.bound.checked_mul(values.len() as u64).is_some_and(|bound| bound <= i64::MAX as u64);
        match (groups.of_rows, nulls) {
            (None, None) if fits => self.sums[0] += i128::from(values.iter().sum::<i64>()),
            (None, None) => self.sums[0] += values.iter().copied().map(i128::from).sum::<i128>(),
            (None, Some(nulls)) => self.sums[0] += nulls.valid_indices().map(|row| i128::from(values[row])).sum::<i128>(),
            (Some(of_rows), None) if fits && groups.count <= LANES_OF_GROUPS_MAX => self.add_in_lanes(values, of_rows, groups.count),
            (Some(of_rows), None) => values.iter().zip(of_rows).for_each(|(value, group)| self.sums[*group] += i128::from(*value)),
            (Some(of_rows), Some(nulls)) => {
                nulls.valid_indices().for_each(|row| self.sums[of_rows[row]] += i128::from(values[row]));
            }
        }
    }

    /// The sum of all values must fit 64 bits.
    fn add_in_lanes(&mut self, values: &[i64], groups: &[usize], group_count: usize) {
        self.lanes.clear();
        self.lanes.resize(LANES * group_count, 0);
        let (values, last_values) = values.as_chunks::<LANES>();
        let (groups, last_groups) = groups.as_chunks::<LANES>();
        for (values, groups) in values.iter().zip(groups) {
            for lane in 0..LANES {
                self.lanes[LANES * groups[lane] + lane] += values[lane];
            }
        }
        last_values.iter().zip(last_groups).for_each(|(value, group)| self.lanes[LANES * group] += value);
        let (lanes, _) = self.lanes.as_chunks::<LANES>();
        self.sums.iter_mut().zip(lanes).for_each(|(sum, lanes)| *sum += lanes.iter().copied().map(i128::from).sum::<i128>());
    }

    pub fn size_bytes(&self) -> usize {
        self.sums.capacity() * size_of::<i128>() + (self.counts.capacity() + self.lanes.capacity()) * size_of::<u64>()
    }

    /// What was added up in all groups, in the type `data_type`, and how many values; NULL in a group without values.
    pub fn states(&self, group_count: usize, data_type: &DataType) -> Result<(ArrayRef, UInt64Array)> {
        let counts: Vec<u64> = (0..group_count).map(|group| self.counts.get(group).copied().unwrap_or_default()).collect();
        let sums = counts.iter().zip(0..).map(|(count, group)| (*count > 0).then(|| self.sums[group]));
        let sums: ArrayRef = match data_type {
            DataType::Int64 => {
                let sums = sums.map(|sum| sum.map(|sum| i64::try_from(sum).map_err(|_| out_of_range("a sum", data_type))).transpose());
                Arc::new(sums.collect::<Result<PrimitiveArray<Int64Type>>>()?)
            }
            DataType::Decimal128(..) => Arc::new(sums.collect::<PrimitiveArray<Decimal128Type>>().with_data_type(data_type.clone())),
            other => return internal_err!("integers are not added up as {other}"),
        };
        Ok((sums, counts.iter().map(|count| (*count > 0).then_some(*count)).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Array, AsArray};
    use arrow::buffer::NullBuffer;

    fn integers(values: Vec<i64>, nulls: Option<Vec<bool>>) -> Integers {
        let bound = values.iter().map(|value| value.unsigned_abs()).max().unwrap_or_default();
        Integers { values, nulls: nulls.map(NullBuffer::from), bound }
    }

    fn without_keys(row_count: usize) -> ZoneGroups<'static> {
        ZoneGroups { of_rows: None, count: 1, row_count, row_counts: None }
    }

    #[test]
    fn sums_of_few_and_of_many_groups_are_those_of_a_plain_loop() {
        for (group_count, factor) in [(1, 1), (3, 1), (64, 1), (65, 1), (1000, 1), (3, i64::MAX / 1000), (2000, 1)] {
            let values: Vec<i64> = (0..1001).map(|row| (row * 7919 % 1013 - 500) * factor).collect();
            let groups: Vec<usize> = (0..1001).map(|row| row * 31 % group_count).collect();
            let valid: Vec<bool> = (0..1001).map(|row| row % 3 != 1).collect();
            let mut expected = vec![(0i128, 0u64); group_count];
            for (row, group) in groups.iter().enumerate() {
                expected[*group].0 += i128::from(values[row]) * (1 + i128::from(valid[row]));
                expected[*group].1 += 1 + u64::from(valid[row]);
            }
            let mut row_counts = vec![0; group_count];
            groups.iter().for_each(|group| row_counts[*group] += 1);
            let row_counts = (group_count <= 1001).then_some(row_counts.as_slice());
            let zone = ZoneGroups { of_rows: Some(&groups), count: group_count, row_count: 1001, row_counts };
            let mut sums = GroupSums::default();
            sums.add(&integers(values.clone(), None), zone);
            sums.add(&integers(values, Some(valid)), zone);
            let (found, counts) = sums.states(group_count, &DataType::Decimal128(38, 2)).unwrap();
            let found = found.as_primitive::<Decimal128Type>().iter().zip(&counts);
            let found: Vec<(i128, u64)> = found.map(|(sum, count)| (sum.unwrap_or_default(), count.unwrap_or_default())).collect();
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_sum_that_exceeds_its_type_is_an_error() {
        let mut sums = GroupSums::default();
        sums.add(&integers(vec![i64::MAX, -1], None), without_keys(2));
        assert_eq!(sums.states(1, &DataType::Int64).unwrap().0.as_primitive::<Int64Type>().value(0), i64::MAX - 1);
        sums.add(&integers(vec![2], None), without_keys(1));
        assert!(sums.states(1, &DataType::Int64).is_err());
        assert!(sums.states(1, &DataType::Decimal128(38, 0)).is_ok());
    }

    #[test]
    fn a_group_without_values_has_no_sum() {
        let mut sums = GroupSums::default();
        sums.add(&integers(vec![0, 0], Some(vec![false, false])), without_keys(2));
        let (found, counts) = sums.states(2, &DataType::Int64).unwrap();
        assert_eq!((found.null_count(), counts.null_count()), (2, 2));
    }
}
