//! How many rows a set of relations gives.
//!
//! The rows of a set do not depend on the order in which it is joined: the product of the rows of its relations, divided for each class of
//! equal columns by the number of values that the column with most of them has, once for each further relation. This is the model of System R
//! (Selinger et al. 1979): the values of one side are among those of the other, and conditions are independent. Two relations that are equal
//! in several columns, as by a key of several columns, have no more combinations than one of them has rows.

use datafusion::common::Result;
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};

use super::graph::{GraphColumn, JoinGraph, Relations};

/// The share of pairs that pass a condition of which nothing is known.
const FILTER: f64 = 0.3;
const EQUALITY: f64 = 0.05;

pub struct Cardinalities {
    rows: Vec<f64>,
    /// A share of the pairs, and the relations that it needs.
    shares: Vec<(Relations, f64)>,
    /// Classes: their relations, and the number of values.
    classes: Vec<(Relations, f64)>,
    /// Equalities of other expressions: the relations of both sides.
    equalities: Vec<[Relations; 2]>,
}

impl Cardinalities {
    /// `None` if nothing is known of the rows of a relation.
    pub fn of(graph: &JoinGraph) -> Result<Option<Cardinalities>> {
        let context = StatisticsContext::new();
        let mut statistics = Vec::with_capacity(graph.relations.len());
        let mut rows = Vec::with_capacity(graph.relations.len());
        for relation in &graph.relations {
            let of_relation = context.compute(relation.as_ref(), &StatisticsArgs::new())?;
            let Some(count) = of_relation.num_rows.get_value() else { return Ok(None) };
            rows.push((*count).max(1) as f64);
            statistics.push(of_relation);
        }
        let distinct = |column: &GraphColumn| -> f64 {
            let of_column = statistics[column.relation].column_statistics.get(column.column);
            let count = of_column.and_then(|column| column.distinct_count.get_value().copied());
            count.map_or(rows[column.relation], |count| (count as f64).min(rows[column.relation])).max(1.0)
        };
        let classes: Vec<(Relations, f64)> = graph
            .classes
            .iter()
            .map(|class| {
                let relations = class.iter().fold(0, |all, column| all | 1 << column.relation);
                (relations, class.iter().map(&distinct).fold(1.0, f64::max))
            })
            .collect();
        let mut shares: Vec<(Relations, f64)> = graph.filters.iter().map(|filter| (filter.relations(), FILTER)).collect();
        for equality in &graph.equalities {
            let [one, other] = &equality.sides;
            let values = match (&one.columns[..], &other.columns[..]) {
                ([a], [b]) => distinct(a).max(distinct(b)),
                _ => 1.0 / EQUALITY,
            };
            shares.push((one.relations() | other.relations(), 1.0 / values));
        }
        shares.extend(keys_of_several_columns(&classes, &rows));
        let equalities = graph.equalities.iter().map(|equality| [equality.sides[0].relations(), equality.sides[1].relations()]).collect();
        Ok(Some(Cardinalities { rows, shares, classes, equalities }))
    }

    pub fn rows(&self, set: Relations) -> f64 {
        let mut rows: f64 = members(set).map(|relation| self.rows[relation]).product();
        for (relations, values) in &self.classes {
            let joined = (relations & set).count_ones().saturating_sub(1);
            rows /= values.powi(joined as i32);
        }
        for (relations, share) in &self.shares {
            if relations & set == *relations {
                rows *= share;
            }
        }
        rows.max(1.0)
    }

    /// The share of rows that the keys of `build` leave in the scans of `probe`, if no relation of `probe` has all keys: then no scan can test
    /// whether they occur together. `None` if one has them all.
    pub fn share_of_scans(&self, build: Relations, probe: Relations) -> Option<f64> {
        let classes = self.classes.iter().filter(|(relations, _)| relations & build != 0).map(|(relations, _)| relations & probe);
        let equalities = self.equalities.iter().map(|[one, other]| match (one & build, other & build) {
            (0, 0) => 0,
            (0, _) => one & probe,
            _ => other & probe,
        });
        let (mut all, mut any) = (probe, 0);
        for relations in classes.chain(equalities).filter(|relations| *relations != 0) {
            all &= relations;
            any |= relations;
        }
        let share = |relation: usize| self.rows(build | 1 << relation) / self.rows(1 << relation);
        (all == 0).then(|| members(any).map(share).fold(1.0, f64::min))
    }
}

fn members(set: Relations) -> impl Iterator<Item = usize> {
    (0..Relations::BITS as usize).filter(move |relation| set & 1 << relation != 0)
}

/// For relations that share several classes, by how much the combinations of their values are fewer than all. Once for relations that are
/// connected in this way already.
fn keys_of_several_columns(classes: &[(Relations, f64)], rows: &[f64]) -> Vec<(Relations, f64)> {
    let mut corrections = Vec::new();
    let mut group: Vec<usize> = (0..rows.len()).collect();
    for a in 0..rows.len() {
        for b in a + 1..rows.len() {
            let both = 1 << a | 1 << b;
            let shared: Vec<f64> = classes.iter().filter(|class| class.0 & both == both).map(|class| class.1).collect();
            let combinations: f64 = shared.iter().product();
            let most = rows[a].min(rows[b]).max(shared.iter().copied().fold(1.0, f64::max));
            if shared.len() > 1 && combinations > most && group[a] != group[b] {
                let (from, to) = (group[b], group[a]);
                group.iter_mut().filter(|group| **group == from).for_each(|group| *group = to);
                corrections.push((both, combinations / most));
            }
        }
    }
    corrections
}
