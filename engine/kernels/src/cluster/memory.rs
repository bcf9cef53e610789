//! The memory of k-means besides the points: an upper bound that is reserved before anything is allocated.

use datafusion::common::Result;

use super::arguments::{Arguments, Init};
use super::lloyd::groups;
use super::points::{Points, TILE_NUMBERS};
use crate::numeric::centroids;
use common::messages::counted;
use common::names::KMEANS;
use common::tensors::refused;

/// For one point that k-means++ or `init => 'random'` has chosen.
const CHOSEN_BYTES: usize = 64;
/// For one piece of points in a pass over them.
const ITEM_BYTES: usize = 64;

pub struct Need {
    k: usize,
    width: usize,
    /// The numbers of the centroids, and of the sums over the points of each.
    centroids: usize,
    sums: usize,
    groups: usize,
    threads: usize,
    pieces: usize,
    /// The number of rows that have a weight.
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

    /// The bytes from the first centroids to the last iteration.
    pub fn bytes(&self) -> Result<usize> {
        // All sums of the groups, and on each thread the sums of the part that it adds.
        let sums = self.sums.checked_mul(self.groups + 1 + self.threads);
        // For each thread: the copy of a piece, which grows by doubling, the columns that are converted before it, and the scores of
        // a tile.
        let tiles = (TILE_NUMBERS + self.width).checked_mul(4 * self.threads);
        let scores = centroids::scores_max(self.k).checked_mul(self.threads);
        // The centroids before and after an iteration, and the first ones.
        let centroids = self.centroids.checked_mul(3);
        let numbers = [sums, tiles, scores, centroids, Some(self.weighted_rows)];
        let numbers = numbers.into_iter().try_fold(0_usize, |all, part| all.checked_add(part?));
        let bytes = numbers.and_then(|numbers| numbers.checked_mul(size_of::<f64>()));
        let lists = self.k.checked_mul(CHOSEN_BYTES).and_then(|chosen| chosen.checked_add(self.pieces * ITEM_BYTES));
        let all = bytes.zip(lists).and_then(|(bytes, lists)| bytes.checked_add(lists));
        all.ok_or_else(|| too_many(self.k, self.width))
    }

    /// The bytes of the result rows; each has all inertias.
    pub fn result_bytes(&self, iterations: usize) -> Result<usize> {
        let of_row = self.width.checked_add(iterations).and_then(|numbers| numbers.checked_add(4));
        let all = of_row.and_then(|numbers| numbers.checked_mul(self.k)).and_then(|numbers| numbers.checked_mul(size_of::<f64>()));
        all.ok_or_else(|| too_many(self.k, self.width))
    }
}

fn too_many(k: usize, width: usize) -> datafusion::common::DataFusionError {
    refused(format!("{KMEANS} cannot hold {} of {}", counted(k, "centroid"), counted(width, "number")), None)
}
