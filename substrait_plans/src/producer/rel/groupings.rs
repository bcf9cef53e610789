//! Expands GROUPING SETS, ROLLUP and CUBE to lists of sets.

use datafusion::logical_expr::utils::powerset;
use datafusion::logical_expr::{Expr, GroupingSet};

use crate::refusal::Refusal;

/// With more columns a reader of our own cannot tell the sets apart.
const KEYS_MAX: usize = 32;
/// The keys of a CUBE, which has 2^keys sets: 4,096 is the limit of DataFusion.
const CUBE_KEYS_MAX: usize = 12;

pub struct GroupingSets<'a> {
    /// Each key once, in the order of the aggregate's columns.
    pub keys: Vec<&'a Expr>,
    /// For each set the indices of its keys.
    pub members: Vec<Vec<usize>>,
}

impl<'a> GroupingSets<'a> {
    pub fn of(set: &'a GroupingSet) -> Result<GroupingSets<'a>, Refusal> {
        let keys = set.distinct_expr();
        let (what, most) = match set {
            GroupingSet::Cube(_) => ("CUBE", CUBE_KEYS_MAX),
            GroupingSet::Rollup(_) => ("ROLLUP", KEYS_MAX),
            GroupingSet::GroupingSets(_) => ("GROUPING SETS", KEYS_MAX),
        };
        if keys.len() > most {
            return Err(Refusal::new(format!("{what} of {} columns", keys.len()), format!("{most} are the most")));
        }
        let place = |expr: &Expr| {
            let place = keys.iter().position(|key| *key == expr);
            place.ok_or_else(|| Refusal::new("GROUPING SETS", "a set has a column that the aggregate has not"))
        };
        let members = match set {
            GroupingSet::GroupingSets(sets) => {
                sets.iter().map(|set| set.iter().map(place).collect()).collect::<Result<Vec<Vec<usize>>, Refusal>>()?
            }
            GroupingSet::Rollup(_) => (0..=keys.len()).rev().map(|most| (0..most).collect()).collect(),
            GroupingSet::Cube(_) => {
                let places: Vec<usize> = (0..keys.len()).collect();
                powerset(&places)?.into_iter().map(|set| set.into_iter().copied().collect()).collect()
            }
        };
        Ok(GroupingSets { keys, members })
    }

    /// DataFusion's ids: one bit for each key that the set omits, with the last key's as the lowest, and above these bits how often the
    /// same set came before.
    pub fn ids(&self) -> Vec<u64> {
        let mut masks: Vec<u64> = Vec::with_capacity(self.members.len());
        let mut ids = Vec::with_capacity(self.members.len());
        for members in &self.members {
            let mask = (0..self.keys.len()).fold(0, |mask, key| (mask << 1) | u64::from(!members.contains(&key)));
            let before = masks.iter().filter(|other| **other == mask).count() as u64;
            ids.push(mask | (before << self.keys.len()));
            masks.push(mask);
        }
        ids
    }
}

#[cfg(test)]
mod tests {
    use datafusion::logical_expr::col;

    use super::*;

    #[test]
    fn a_set_is_numbered_by_the_keys_it_is_without() {
        let rollup = GroupingSet::Rollup(vec![col("a"), col("b")]);
        let sets = GroupingSets::of(&rollup).unwrap();
        assert_eq!(sets.members, [vec![0, 1], vec![0], vec![]]);
        assert_eq!(sets.ids(), [0b00, 0b01, 0b11]);
        let cube = GroupingSet::Cube(vec![col("a"), col("b")]);
        let mut ids = GroupingSets::of(&cube).unwrap().ids();
        ids.sort_unstable();
        assert_eq!(ids, [0b00, 0b01, 0b10, 0b11]);
    }

    #[test]
    fn a_set_that_is_there_twice_has_two_numbers() {
        let twice = GroupingSet::GroupingSets(vec![vec![col("a")], vec![col("b")], vec![col("a")]]);
        let sets = GroupingSets::of(&twice).unwrap();
        assert_eq!(sets.members, [vec![0], vec![1], vec![0]]);
        assert_eq!(sets.ids(), [0b01, 0b10, 0b101]);
    }
}
