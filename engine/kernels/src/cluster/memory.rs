//! What k-means holds beside the points: an upper bound, asked for before anything is made.

use datafusion::common::Result;

use super::arguments::{Arguments, Init};
use super::lloyd::groups;
use super::points::{Points, TILE_NUMBERS};
use crate::numeric::centroids;
use common::messages::counted;
use common::names::KMEANS;
use common::tensors::refused;

/// Of one point among those that k-means++ has chosen, or `init => 'random'`.
const CHOSEN_BYTES: usize = 64;
/// Of a piece of points in a pass over them.
const ITEM_BYTES: usize = 64;

pub struct Need {
    k: usize,
    width: usize,
    /// Of centroids, and of sums over the points of each.
    centroids: usize,
    sums: usize,
    groups: usize,
    threads: usize,
    pieces: usize,
    /// Of which a weight is kept.
    weighted_rows: usize,
}

impl Need {
    pub fn of(points: &Points, arguments: &Arguments, threads: usize) -> Result<Need> {
        let (k, width) = (arguments.k, points.width());
        let groups = groups(points, k).len();
        let sums = width.checked_add(2).and_then(|numbers| numbers.checked_mul(k));
        let centroids = centroids::numbers_max(k, width);
        let (Some(sums), Some(centroids)) = (sums, centroids) else { return Err(too_many(k, width)) };
        let weighted_rows = if matches!(arguments.init, Init::PlusPlus) { points.rows() } else { 0 };
        Ok(Need { k, width, centroids, sums, groups, threads: threads.max(1), pieces: points.pieces().len(), weighted_rows })
    }

    /// From the first centroids to the last iteration.
    pub fn bytes(&self) -> Result<usize> {
        // Those of the groups, all together, and on each thread those of the part that it adds.
        let sums = self.sums.checked_mul(self.groups + 1 + self.threads);
        // The scores of a tile are as many for each thread as this bound; what is copied of a piece grows by doubling, and columns
        // are converted before.
        let tiles = (TILE_NUMBERS + self.width).checked_mul(4 * self.threads);
        let scores = centroids::scores_max(self.k).checked_mul(self.threads);
        // Those before and after an iteration, and the first ones.
        let centroids = self.centroids.checked_mul(3);
        let numbers = [sums, tiles, scores, centroids, Some(self.weighted_rows)];
        let numbers = numbers.into_iter().try_fold(0_usize, |all, part| all.checked_add(part?));
        let bytes = numbers.and_then(|numbers| numbers.checked_mul(size_of::<f64>()));
        let lists = self.k.checked_mul(CHOSEN_BYTES).and_then(|chosen| chosen.checked_add(self.pieces * ITEM_BYTES));
        let all = bytes.zip(lists).and_then(|(bytes, lists)| bytes.checked_add(lists));
        all.ok_or_else(|| too_many(self.k, self.width))
    }

    /// Of the rows that go out, each of which has all inertias.
    pub fn result_bytes(&self, iterations: usize) -> Result<usize> {
        let of_row = self.width.checked_add(iterations).and_then(|numbers| numbers.checked_add(4));
        let all = of_row.and_then(|numbers| numbers.checked_mul(self.k)).and_then(|numbers| numbers.checked_mul(size_of::<f64>()));
        all.ok_or_else(|| too_many(self.k, self.width))
    }
}

fn too_many(k: usize, width: usize) -> datafusion::common::DataFusionError {
    refused(format!("{KMEANS} cannot hold {} of {}", counted(k, "centroid"), counted(width, "number")), None)
}
