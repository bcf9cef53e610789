//! The cheapest tree of joins.
//!
//! Up to [`EXACT_MAX`] relations all trees without a cross product are compared, by dynamic programming over the sets of relations
//! (Moerkotte and Neumann 2006, algorithm DPsub). With more, the two sets whose join has the fewest rows are joined, again and again (greedy
//! operator ordering, Fegaras 1998).

use super::cardinality::Cardinalities;
use super::cost::CostedTree;
use super::graph::{JoinGraph, Relations};

/// 3^10 are 59,049 pairs of sets.
const EXACT_MAX: usize = 10;

/// `None` if the relations are not connected by equalities.
pub fn best_tree(graph: &JoinGraph, cardinalities: &Cardinalities) -> Option<CostedTree> {
    if graph.relations.len() <= EXACT_MAX { exact(graph, cardinalities) } else { greedy(graph, cardinalities) }
}

fn exact(graph: &JoinGraph, cardinalities: &Cardinalities) -> Option<CostedTree> {
    let all: Relations = (1 << graph.relations.len()) - 1;
    let mut best: Vec<Option<CostedTree>> = vec![None; all as usize + 1];
    // The subsets of a set are smaller numbers.
    for set in 1..=all {
        if set.is_power_of_two() {
            best[set as usize] = Some(CostedTree::relation(set.trailing_zeros() as usize, cardinalities));
            continue;
        }
        let rows = cardinalities.rows(set);
        let lowest = set & set.wrapping_neg();
        let mut part = (set - 1) & set;
        let mut cheapest: Option<(Relations, f64)> = None;
        while part != 0 {
            let rest = set & !part;
            // Each pair once.
            if part & lowest != 0
                && let (Some(a), Some(b)) = (&best[part as usize], &best[rest as usize])
                && graph.is_connected(part, rest)
            {
                let cost = CostedTree::cost_joined(a, b, rows, cardinalities);
                if cheapest.is_none_or(|(_, least)| cost < least) {
                    cheapest = Some((part, cost));
                }
            }
            part = (part - 1) & set;
        }
        let Some((part, _)) = cheapest else { continue };
        if let (Some(a), Some(b)) = (&best[part as usize], &best[(set & !part) as usize]) {
            best[set as usize] = Some(CostedTree::joined(a, b, rows, cardinalities));
        }
    }
    best.pop().flatten()
}

fn greedy(graph: &JoinGraph, cardinalities: &Cardinalities) -> Option<CostedTree> {
    let mut trees: Vec<CostedTree> = (0..graph.relations.len()).map(|number| CostedTree::relation(number, cardinalities)).collect();
    while trees.len() > 1 {
        let mut least: Option<(usize, usize, f64)> = None;
        for a in 0..trees.len() {
            for b in a + 1..trees.len() {
                let sets = (trees[a].relations, trees[b].relations);
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
        trees.push(CostedTree::joined(&left, &right, rows, cardinalities));
    }
    trees.pop()
}
