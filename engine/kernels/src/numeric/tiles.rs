//! Tiles of some rows of numbers, column by column: sums along columns then run in vector registers.

use super::elements::transpose;

/// The rows of a tile: some columns of them fit into the cache, and the cost per tile is small.
const ROWS: usize = 256;

/// Calls `take` with tiles of `rows`, which have `width` numbers each.
pub fn of_rows(rows: &[f64], width: usize, mut take: impl FnMut(&mut [f64], usize)) {
    if width == 0 {
        return;
    }
    let mut tile = vec![0.0; ROWS * width];
    for rows in rows.chunks(ROWS * width) {
        let count = rows.len() / width;
        let tile = &mut tile[..count * width];
        transpose(&rows[..count * width], count, width, tile);
        take(tile, count);
    }
}

/// Calls `take` with tiles of `columns`, which have the same length.
pub fn of_columns(columns: &[&[f64]], mut take: impl FnMut(&mut [f64], usize)) {
    let length = columns.iter().map(|column| column.len()).min().unwrap_or_default();
    let mut tile = vec![0.0; ROWS * columns.len()];
    for start in (0..length).step_by(ROWS) {
        let count = ROWS.min(length - start);
        let tile = &mut tile[..count * columns.len()];
        for (to, column) in tile.chunks_exact_mut(count).zip(columns) {
            to.copy_from_slice(&column[start..start + count]);
        }
        take(tile, count);
    }
}
