//! The cheapest tree of joins.
//!
//! Up to [`EXACT_MAX`] relations all trees without a cross product are compared, by dynamic programming over the sets of relations
//! (Moerkotte and Neumann 2006, algorithm DPsub). With more, the two sets whose join has the fewest rows are joined, again and again (greedy
//! operator ordering, Fegaras 1998).

use std::sync::Arc;

use super::cardinality::Cardinalities;
use super::graph::{JoinGraph, JoinTree, Relations};

/// 3^10 pairs of sets take about a millisecond.
const EXACT_MAX: usize = 10;

#[derive(Debug, Clone)]
pub struct CostedTree {
    pub tree: JoinTree,
    pub cost: f64,
    rows: f64,
}

/// `None` if the relations are not connected by equalities.
pub fn best_tree(graph: &JoinGraph, cardinalities: &Cardinalities) -> Option<CostedTree> {
    if graph.relations.len() <= EXACT_MAX { exact(graph, cardinalities) } else { greedy(graph, cardinalities) }
}

fn relation(number: usize, cardinalities: &Cardinalities) -> CostedTree {
    CostedTree { tree: JoinTree::Relation(number), cost: 0.0, rows: cardinalities.rows(1 << number) }
}

/// The side with fewer rows comes first, as build side.
fn joined(a: &CostedTree, b: &CostedTree, rows: f64, cardinalities: &Cardinalities) -> CostedTree {
    let cost = a.cost + b.cost + cardinalities.join_cost((a.tree.relations(), a.rows), (b.tree.relations(), b.rows), rows);
    let (build, probe) = if a.rows <= b.rows { (a, b) } else { (b, a) };
    CostedTree { tree: JoinTree::Join(Arc::new(build.tree.clone()), Arc::new(probe.tree.clone())), cost, rows }
}

fn exact(graph: &JoinGraph, cardinalities: &Cardinalities) -> Option<CostedTree> {
    let all: Relations = (1 << graph.relations.len()) - 1;
    let mut best: Vec<Option<CostedTree>> = vec![None; all as usize + 1];
    // The subsets of a set are smaller numbers.
    for set in 1..=all {
        if set.is_power_of_two() {
            best[set as usize] = Some(relation(set.trailing_zeros() as usize, cardinalities));
            continue;
        }
        let rows = cardinalities.rows(set);
        let lowest = set & set.wrapping_neg();
        let mut part = (set - 1) & set;
        let mut cheapest: Option<(Relations, f64)> = None;
        while part != 0 {
            let rest = set & !part;
            if part & lowest != 0
                && let (Some(a), Some(b)) = (&best[part as usize], &best[rest as usize])
                && graph.is_connected(part, rest)
            {
                let cost = a.cost + b.cost + cardinalities.join_cost((part, a.rows), (rest, b.rows), rows);
                if cheapest.is_none_or(|(_, least)| cost < least) {
                    cheapest = Some((part, cost));
                }
            }
            part = (part - 1) & set;
        }
        if let Some((part, _)) = cheapest
            && let (Some(a), Some(b)) = (&best[part as usize], &best[(set & !part) as usize])
        {
            best[set as usize] = Some(joined(a, b, rows, cardinalities));
        }
    }
    best.pop().flatten()
}

fn greedy(graph: &JoinGraph, cardinalities: &Cardinalities) -> Option<CostedTree> {
    let mut trees: Vec<CostedTree> = (0..graph.relations.len()).map(|number| relation(number, cardinalities)).collect();
    while trees.len() > 1 {
        let mut least: Option<(usize, usize, f64)> = None;
        for a in 0..trees.len() {
            for b in a + 1..trees.len() {
                let sets = (trees[a].tree.relations(), trees[b].tree.relations());
                if graph.is_connected(sets.0, sets.1) {
                    let rows = cardinalities.rows(sets.0 | sets.1);
                    if least.is_none_or(|(_, _, fewest)| rows < fewest) {
                        least = Some((a, b, rows));
                    }
                }
            }
        }
        let (a, b, rows) = least?;
        let right = trees.swap_remove(b);
        let left = trees.swap_remove(a);
        trees.push(joined(&left, &right, rows, cardinalities));
    }
    trees.pop()
}
