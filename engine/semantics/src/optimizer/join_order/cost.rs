//! What a tree of joins costs.
//!
//! The rows of a build side are put into a table. The rows of the probe side go through one join after the other, up to the next build side.
//! The keys of a build side filter the scans of its probe side, so that what goes through the joins below has only the rows that will find a
//! partner above. Keys of several columns do so only if one scan has them all; otherwise each column filters its own scan.

use std::sync::Arc;

use super::cardinality::Cardinalities;
use super::graph::{JoinTree, Relations};

/// What it costs to put a row into the table of a build side, beside a row that goes through a join.
const BUILD: f64 = 2.0;

#[derive(Debug, Clone)]
pub struct CostedTree {
    pub tree: JoinTree,
    pub relations: Relations,
    pub rows: f64,
    /// Of the build sides.
    fixed: f64,
    /// Of the rows that go through the joins. Keys from above make them fewer.
    piped: f64,
}

impl CostedTree {
    pub fn relation(number: usize, cardinalities: &Cardinalities) -> CostedTree {
        let relations = 1 << number;
        CostedTree { tree: JoinTree::Relation(number), relations, rows: cardinalities.rows(relations), fixed: 0.0, piped: 0.0 }
    }

    /// `rows` is what the join gives. The side with fewer rows is the build side, and the first one of the tree.
    pub fn joined(a: &CostedTree, b: &CostedTree, rows: f64, cardinalities: &Cardinalities) -> CostedTree {
        let (build, probe) = if a.rows <= b.rows { (a, b) } else { (b, a) };
        let (fixed, piped) = costs(build, probe, rows, cardinalities);
        let tree = JoinTree::Join(Arc::new(build.tree.clone()), Arc::new(probe.tree.clone()));
        CostedTree { tree, relations: a.relations | b.relations, rows, fixed, piped }
    }

    pub fn cost(&self) -> f64 {
        self.fixed + self.piped
    }

    /// The cost of the join that [`CostedTree::joined`] makes.
    pub fn cost_joined(a: &CostedTree, b: &CostedTree, rows: f64, cardinalities: &Cardinalities) -> f64 {
        let (build, probe) = if a.rows <= b.rows { (a, b) } else { (b, a) };
        let (fixed, piped) = costs(build, probe, rows, cardinalities);
        fixed + piped
    }

    pub fn of(tree: &JoinTree, cardinalities: &Cardinalities) -> CostedTree {
        match tree {
            JoinTree::Relation(number) => CostedTree::relation(*number, cardinalities),
            JoinTree::Join(left, right) => {
                let (left, right) = (CostedTree::of(left, cardinalities), CostedTree::of(right, cardinalities));
                let rows = cardinalities.rows(left.relations | right.relations);
                CostedTree::joined(&left, &right, rows, cardinalities)
            }
        }
    }
}

fn costs(build: &CostedTree, probe: &CostedTree, rows: f64, cardinalities: &Cardinalities) -> (f64, f64) {
    let kept = match cardinalities.share_of_scans(build.relations, probe.relations) {
        Some(share) => share.max(rows / probe.rows),
        None => rows / probe.rows,
    };
    let kept = kept.min(1.0);
    (build.cost() + build.rows * BUILD + probe.fixed, probe.piped * kept + rows)
}
