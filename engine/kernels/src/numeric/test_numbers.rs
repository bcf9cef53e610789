//! Numbers for the tests of the arithmetic: they look random, but are always the same.

/// With both signs, from -0.5 to 0.5.
pub fn numbers(n: usize, seed: u64) -> Vec<f64> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
    };
    (0..n).map(|_| next()).collect()
}

/// With both signs, and absolute values from about 1e-3 to 1e3.
pub fn numbers_of_sizes(n: usize, seed: u64) -> Vec<f64> {
    numbers(2 * n, seed).chunks_exact(2).map(|pair| pair[0] * 10_f64.powf(pair[1] * 6.0)).collect()
}
