//! Copies boxes of cells between a chunk and a region. Cells are bytes of one width here: no copy knows their type.

/// A box of cells in a buffer in row-major order of some shape: where it begins, and the distance of neighbours along each dimension, in
/// cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Strided {
    pub start: i64,
    pub strides: Vec<i64>,
}

impl Strided {
    /// Whether these cells follow each other in the buffer.
    pub fn is_contiguous(&self, counts: &[u64]) -> bool {
        let mut distance = 1;
        counts.iter().zip(&self.strides).rev().all(|(count, stride)| {
            let is_next = *count == 1 || *stride == distance;
            distance *= *count as i64;
            is_next
        })
    }
}

/// The distances of neighbours in a buffer in row-major order.
pub fn strides(shape: impl DoubleEndedIterator<Item = u64>) -> Vec<i64> {
    let mut distance = 1_i64;
    let mut strides: Vec<i64> = shape
        .rev()
        .map(|size| {
            let stride = distance;
            distance = distance.saturating_mul(size as i64);
            stride
        })
        .collect();
    strides.reverse();
    strides
}

/// Copies cells of `width` bytes, which is 1, 2, 4 or 8. Both boxes have `counts` cells along each dimension and lie in their buffers.
pub fn copy_box(source: (&[u8], &Strided), target: (&mut [u8], &Strided), counts: &[u64], width: usize) {
    if counts.contains(&0) {
        return;
    }
    match width {
        1 => copy_cells::<1>(source, target, counts),
        2 => copy_cells::<2>(source, target, counts),
        4 => copy_cells::<4>(source, target, counts),
        _ => copy_cells::<8>(source, target, counts),
    }
}

fn copy_cells<const WIDTH: usize>(source: (&[u8], &Strided), target: (&mut [u8], &Strided), counts: &[u64]) {
    let (from, source) = source;
    let (to, target) = target;
    // Dimensions that are contiguous in both buffers are one run.
    let mut inner = counts.len();
    let mut run = 1_i64;
    while inner > 0 && [source, target].iter().all(|side| counts[inner - 1] == 1 || side.strides[inner - 1] == run) {
        inner -= 1;
        run *= counts[inner] as i64;
    }
    let run_bytes = run as usize * WIDTH;
    let mut position = vec![0_u64; inner];
    let (mut from_cell, mut to_cell) = (source.start, target.start);
    loop {
        let (from_byte, to_byte) = (from_cell as usize * WIDTH, to_cell as usize * WIDTH);
        match run {
            // A copy of one cell has a width that the compiler knows.
            1 => to[to_byte..to_byte + WIDTH].copy_from_slice(&from[from_byte..from_byte + WIDTH]),
            _ => to[to_byte..to_byte + run_bytes].copy_from_slice(&from[from_byte..from_byte + run_bytes]),
        }
        let mut at = inner;
        loop {
            if at == 0 {
                return;
            }
            at -= 1;
            position[at] += 1;
            from_cell += source.strides[at];
            to_cell += target.strides[at];
            if position[at] < counts[at] {
                break;
            }
            from_cell -= source.strides[at] * counts[at] as i64;
            to_cell -= target.strides[at] * counts[at] as i64;
            position[at] = 0;
        }
    }
}

/// Writes `pattern`, one cell, over the whole buffer.
pub fn fill(target: &mut [u8], pattern: &[u8]) {
    if pattern.iter().all(|byte| *byte == pattern[0]) {
        return target.fill(pattern[0]);
    }
    target.chunks_exact_mut(pattern.len()).for_each(|cell| cell.copy_from_slice(pattern));
}
