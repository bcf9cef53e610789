//! Sets of rows as bytes: the distances between ascending rows as LEB128 numbers, or a portable Roaring bitmap where that is shorter.

use roaring::RoaringBitmap;

const DISTANCES: u8 = 0;
const ROARING: u8 = 1;
/// Below this, the distances are never much longer than a bitmap.
const BITMAP_ROWS_MIN: usize = 64;

/// `rows` are ascending and different.
pub fn put_rows(bytes: &mut Vec<u8>, rows: &[u32]) {
    let start = bytes.len();
    bytes.push(DISTANCES);
    let mut last = 0;
    for row in rows {
        let mut distance = row - last;
        last = *row;
        while distance >= 0x80 {
            bytes.push(distance as u8 | 0x80);
            distance >>= 7;
        }
        bytes.push(distance as u8);
    }
    if rows.len() < BITMAP_ROWS_MIN {
        return;
    }
    // Rows that were ascending make a bitmap.
    let Ok(mut bitmap) = RoaringBitmap::from_sorted_iter(rows.iter().copied()) else { return };
    bitmap.optimize();
    if bitmap.serialized_size() < bytes.len() - start - 1 {
        bytes.truncate(start);
        bytes.push(ROARING);
        // Writing to memory cannot fail.
        let _ = bitmap.serialize_into(&mut *bytes);
    }
}

/// Calls `visit` with each row, ascending. `None` if the bytes are no such set, or have a row that is not below `row_count`.
pub fn visit_rows(bytes: &[u8], row_count: u32, mut visit: impl FnMut(u32)) -> Option<()> {
    match bytes.split_first()? {
        (&DISTANCES, bytes) => {
            let (mut last, mut distance, mut shift) = (0u32, 0u32, 0);
            for byte in bytes {
                distance |= u32::from(byte & 0x7f).checked_shl(shift)?;
                if byte & 0x80 != 0 {
                    shift += 7;
                    continue;
                }
                last = last.checked_add(distance).filter(|row| *row < row_count)?;
                visit(last);
                (distance, shift) = (0, 0);
            }
        }
        (&ROARING, bytes) => {
            let bitmap = RoaringBitmap::deserialize_from(bytes).ok()?;
            bitmap.max().is_none_or(|row| row < row_count).then(|| bitmap.iter().for_each(visit))?;
        }
        _ => return None,
    }
    Some(())
}

/// The rows, ascending.
pub fn rows(bytes: &[u8], row_count: u32) -> Option<Vec<u32>> {
    let mut rows = Vec::with_capacity(bytes.len() / 2 + 1);
    visit_rows(bytes, row_count, |row| rows.push(row))?;
    Some(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_whatever_their_density() {
        for step in [1usize, 2, 7, 129, 70_000] {
            for count in [0usize, 1, 63, 64, 1_000, 50_000] {
                let wanted: Vec<u32> = (0..count).map(|at| (at * step) as u32).filter(|row| *row < 2_000_000_000).collect();
                let mut bytes = Vec::new();
                put_rows(&mut bytes, &wanted);
                assert_eq!(rows(&bytes, u32::MAX).as_ref(), Some(&wanted));
                let last = wanted.last().copied().unwrap_or(0);
                assert_eq!(rows(&bytes, last).is_none(), !wanted.is_empty());
            }
        }
        let mut dense = Vec::new();
        put_rows(&mut dense, &(0..1_000_000).collect::<Vec<_>>());
        assert!(dense.len() < 1_000, "{}", dense.len());
    }

    #[test]
    fn bytes_that_are_no_rows_are_no_panic() {
        for bytes in [&[][..], &[2], &[0, 0x80], &[0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], &[1], &[1, 1, 2, 3]] {
            let _ = rows(bytes, 100);
        }
        assert_eq!(rows(&[0, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], 100), None);
    }
}
