//! Products, distances and norms of vectors.
//!
//! Sums run in 32 lanes of `f64`, also for `f32` elements, so the error of a sum of n products is about n/32 roundings and not n;
//! the lanes are the same on every processor. NaN results in NaN. The excess of a longer vector is ignored: callers
//! check lengths. The order of additions is that of pairwise summation over lanes (Higham, Accuracy and Stability of
//! Numerical Algorithms, 4.2).

use super::real::{Real, fused};

/// Eight vector registers of AVX2: enough additions at once to hide their latency.
const LANES: usize = 32;
/// Groups of lanes after which a distance is compared with its limit.
const CHECKED: usize = 4;
/// Sums of squares in this range have lost nothing to overflow or underflow.
const SOUND: std::ops::Range<f64> = 1e-280..1e300;

/// The sum of `a[i] · b[i]`.
pub fn dot<T: Real>(a: &[T], b: &[T]) -> f64 {
    sum(a, b, fused)
}

/// The sum of `(a[i] − b[i])²`.
pub fn l2_squared<T: Real>(a: &[T], b: &[T]) -> f64 {
    squared_unless(a, b, |_| false).unwrap_or(f64::NAN)
}

/// As [`l2_squared`], with identical bits. `None` as soon as it is known to exceed `limit`; NaN does not exceed it.
pub fn l2_squared_within<T: Real>(a: &[T], b: &[T], limit: f64) -> Option<f64> {
    // Squares only increase a sum, also after rounding.
    squared_unless(a, b, |sum| sum > limit)
}

/// `None` if the sum, or a part of it, is `too_much`.
#[inline(always)]
fn squared_unless<T: Real>(a: &[T], b: &[T], too_much: impl Fn(f64) -> bool) -> Option<f64> {
    let add = |a: f64, b: f64, sum: f64| fused(a - b, a - b, sum);
    let length = a.len().min(b.len());
    let ((a, a_rest), (b, b_rest)) = (a[..length].as_chunks::<LANES>(), b[..length].as_chunks::<LANES>());
    let mut four = [0.0; 4];
    for (a, b) in a.chunks(CHECKED).zip(b.chunks(CHECKED)) {
        for (sum, more) in four.iter_mut().zip(in_lanes(a, b, add)) {
            *sum += more;
        }
        if too_much(total(&four)) {
            return None;
        }
    }
    let squared = finish(four, a_rest, b_rest, add);
    if too_much(squared) { None } else { Some(squared) }
}

/// The square root of [`l2_squared`], even if the squares are too large or too small for a double.
pub fn l2_distance<T: Real>(a: &[T], b: &[T]) -> f64 {
    let squared = l2_squared(a, b);
    if SOUND.contains(&squared) || squared.is_nan() {
        return squared.sqrt();
    }
    let differences = a.iter().zip(b).map(|(a, b)| (*a).into() - (*b).into());
    l2_norm(&differences.collect::<Vec<f64>>())
}

/// 1 − cos of the angle, from 0 to 2. NaN for a vector of zeros or with an infinity.
pub fn cosine_distance<T: Real>(a: &[T], b: &[T]) -> f64 {
    let [aa, bb] = [a, b].map(|v| dot(v, v));
    if SOUND.contains(&aa) && SOUND.contains(&bb) {
        return from_cosine(dot(a, b) / (aa.sqrt() * bb.sqrt()));
    }
    let [a, b] = [a, b].map(|v| scaled_to_one(v, max_norm(v)));
    from_cosine(dot(&a, &b) / (dot(&a, &a).sqrt() * dot(&b, &b).sqrt()))
}

/// Rounding may put a cosine slightly outside of its range.
fn from_cosine(cosine: f64) -> f64 {
    1.0 - cosine.clamp(-1.0, 1.0)
}

/// The sum of `a[i]`.
pub fn sum_of<T: Real>(a: &[T]) -> f64 {
    sum(a, a, |a, _, sum| sum + a)
}

/// The sum of `|a[i]|`.
pub fn l1_norm<T: Real>(a: &[T]) -> f64 {
    sum(a, a, |a, _, sum| sum + a.abs())
}

/// The square root of the sum of `a[i]²`, even if the squares are too large or too small for a double.
pub fn l2_norm<T: Real>(a: &[T]) -> f64 {
    let squared = dot(a, a);
    if SOUND.contains(&squared) || squared.is_nan() {
        return squared.sqrt();
    }
    let largest = max_norm(a);
    if largest == 0.0 || !largest.is_finite() {
        return largest;
    }
    let scaled = scaled_to_one(a, largest);
    largest * dot(&scaled, &scaled).sqrt()
}

/// The largest `|a[i]|`, 0 for an empty vector.
pub fn max_norm<T: Real>(a: &[T]) -> f64 {
    // The bits of nonnegative numbers are in the order of the numbers, with NaN last.
    let mut lanes = [0_i64; LANES];
    let (groups, rest) = a.as_chunks::<LANES>();
    let bits = |x: T| x.into().abs().to_bits() as i64;
    for group in groups {
        for (lane, x) in lanes.iter_mut().zip(group) {
            *lane = bits(*x).max(*lane);
        }
    }
    let most = rest.iter().map(|x| bits(*x)).chain(lanes).max();
    f64::from_bits(most.unwrap_or_default() as u64)
}

/// Scales the largest element to 1. Division by 0 or infinity yields NaN.
fn scaled_to_one<T: Real>(a: &[T], largest: f64) -> Vec<f64> {
    a.iter().map(|x| (*x).into() / largest).collect()
}

/// `add` gets an element of each vector and the sum so far.
#[inline(always)]
fn sum<T: Real>(a: &[T], b: &[T], add: impl Fn(f64, f64, f64) -> f64) -> f64 {
    let length = a.len().min(b.len());
    let ((a, a_rest), (b, b_rest)) = (a[..length].as_chunks::<LANES>(), b[..length].as_chunks::<LANES>());
    let four = if a.is_empty() { [0.0; 4] } else { in_lanes(a, b, &add) };
    finish(four, a_rest, b_rest, add)
}

/// The sum in four parts. It is not inlined: if the compiler sees the use of the four parts, it keeps all lanes in
/// registers of two.
#[inline(never)]
fn in_lanes<T: Real>(a: &[[T; LANES]], b: &[[T; LANES]], add: impl Fn(f64, f64, f64) -> f64) -> [f64; 4] {
    let mut lanes = [0.0; LANES];
    for (a, b) in a.iter().zip(b) {
        for lane in 0..LANES {
            lanes[lane] = add(a[lane].into(), b[lane].into(), lanes[lane]);
        }
    }
    in_four(&lanes)
}

#[inline(always)]
fn in_four(lanes: &[f64; LANES]) -> [f64; 4] {
    let sixteen: [f64; 16] = std::array::from_fn(|lane| lanes[lane] + lanes[lane + 16]);
    let eight: [f64; 8] = std::array::from_fn(|lane| sixteen[lane] + sixteen[lane + 8]);
    std::array::from_fn(|lane| eight[lane] + eight[lane + 4])
}

#[inline(always)]
fn total(four: &[f64; 4]) -> f64 {
    (four[0] + four[2]) + (four[1] + four[3])
}

/// The sum of the four parts and of the rest after full groups.
#[inline(always)]
fn finish<T: Real>(mut four: [f64; 4], a: &[T], b: &[T], add: impl Fn(f64, f64, f64) -> f64) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<4>(), b.as_chunks::<4>());
    for (a, b) in a.iter().zip(b) {
        for lane in 0..4 {
            four[lane] = add(a[lane].into(), b[lane].into(), four[lane]);
        }
    }
    a_rest.iter().zip(b_rest).fold(total(&four), |sum, (a, b)| add((*a).into(), (*b).into(), sum))
}

#[cfg(test)]
mod tests {
    use super::super::test_numbers::numbers_of_sizes;
    use super::*;

    /// Twice the precision: products and sums with their rounding errors (Dekker, Knuth).
    fn exact_dot(a: &[f64], b: &[f64]) -> f64 {
        let (mut sum, mut lost) = (0.0_f64, 0.0_f64);
        for (a, b) in a.iter().zip(b) {
            let product = a * b;
            lost += a.mul_add(*b, -product);
            let next = sum + product;
            let part = next - sum;
            lost += (sum - (next - part)) + (product - part);
            sum = next;
        }
        sum + lost
    }

    const SIZES: [usize; 12] = [0, 1, 2, 3, 31, 32, 33, 50, 127, 128, 129, 1000];

    #[test]
    fn products_and_distances_are_those_of_twice_the_precision() {
        for n in SIZES {
            let (a, b) = (numbers_of_sizes(n, 1), numbers_of_sizes(n, 2));
            let difference: Vec<f64> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
            let bound = |a: &[f64], b: &[f64]| 1e-15 * (n as f64 / 32.0 + 6.0) * a.iter().zip(b).map(|(a, b)| (a * b).abs()).sum::<f64>();
            assert!((dot(&a, &b) - exact_dot(&a, &b)).abs() <= bound(&a, &b), "{n}");
            let expected = exact_dot(&difference, &difference);
            assert!((l2_squared(&a, &b) - expected).abs() <= bound(&difference, &difference), "{n}");
            assert!((l2_distance(&a, &b) - expected.sqrt()).abs() <= 1e-14 * expected.sqrt(), "{n}");
            assert!((l2_norm(&a) - exact_dot(&a, &a).sqrt()).abs() <= 1e-14 * l2_norm(&a), "{n}");
            let largest = a.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
            assert_eq!(max_norm(&a), largest);
            let ones = vec![1.0; n];
            let absolute: Vec<f64> = a.iter().map(|x| x.abs()).collect();
            assert!((l1_norm(&a) - exact_dot(&absolute, &ones)).abs() <= bound(&a, &ones), "{n}");
            assert!((sum_of(&a) - exact_dot(&a, &ones)).abs() <= bound(&a, &ones), "{n}");
        }
    }

    #[test]
    fn single_precision_is_summed_in_double() {
        for n in SIZES {
            let (a, b) = (numbers_of_sizes(n, 3), numbers_of_sizes(n, 4));
            let [a, b]: [Vec<f32>; 2] = [a, b].map(|v| v.into_iter().map(|x| x as f32).collect());
            let [wide_a, wide_b]: [Vec<f64>; 2] = [&a, &b].map(|v| v.iter().map(|x| f64::from(*x)).collect());
            assert_eq!(dot(&a, &b), dot(&wide_a, &wide_b));
            assert_eq!(l2_squared(&a, &b), l2_squared(&wide_a, &wide_b));
            assert_eq!(max_norm(&a), max_norm(&wide_a));
        }
    }

    #[test]
    fn a_distance_is_abandoned_exactly_when_it_exceeds_the_limit() {
        for n in SIZES {
            let (a, b) = (numbers_of_sizes(n, 5), numbers_of_sizes(n, 6));
            let squared = l2_squared(&a, &b);
            assert_eq!(l2_squared_within(&a, &b, f64::INFINITY), Some(squared));
            assert_eq!(l2_squared_within(&a, &b, squared), Some(squared));
            assert_eq!(l2_squared_within(&a, &b, squared.next_down()), None);
            assert_eq!(l2_squared_within(&a, &b, -1.0), None);
        }
        assert!(l2_squared_within(&[f64::NAN; 300], &[0.0; 300], 1.0).is_some_and(f64::is_nan));
    }

    #[test]
    fn cosine_distance_is_that_of_the_angle() {
        assert_eq!(cosine_distance(&[1.0, 0.0], &[0.0, 3.0]), 1.0);
        assert_eq!(cosine_distance(&[3.0, 4.0], &[-6.0, -8.0]), 2.0);
        for n in SIZES.into_iter().skip(1) {
            let a = numbers_of_sizes(n, 7);
            assert!(cosine_distance(&a, &a) <= 1e-15, "{n}");
            assert!(cosine_distance(&a, &a) >= 0.0, "{n}");
        }
        assert!((cosine_distance(&[1.0_f32, 0.0], &[1.0, 1.0]) - (1.0 - 0.5_f64.sqrt())).abs() < 1e-15);
    }

    #[test]
    fn squares_out_of_range_do_not_spoil_a_norm() {
        for scale in [1e200, 1e-200, 1e-308, 5e-324] {
            assert_eq!(l2_norm(&[3.0 * scale, 4.0 * scale]), 5.0 * scale);
            assert_eq!(l2_distance(&[3.0 * scale, 1.0 * scale], &[0.0, 5.0 * scale]), 5.0 * scale);
            assert!((cosine_distance(&[scale, 0.0], &[scale, scale]) - (1.0 - 0.5_f64.sqrt())).abs() < 1e-15);
        }
        assert_eq!((l2_norm::<f64>(&[]), l2_norm(&[0.0, -0.0]), l2_norm(&[1.0, f64::NEG_INFINITY])), (0.0, 0.0, f64::INFINITY));
    }

    #[test]
    fn nan_is_never_lost() {
        for at in [0, 31, 40, 99] {
            let mut a = numbers_of_sizes(100, 8);
            a[at] = f64::NAN;
            let b = numbers_of_sizes(100, 9);
            for found in
                [dot(&a, &b), l2_squared(&a, &b), l2_distance(&a, &b), cosine_distance(&a, &b), l1_norm(&a), l2_norm(&a), max_norm(&a)]
            {
                assert!(found.is_nan(), "{at}");
            }
        }
        assert!(cosine_distance(&[0.0, 0.0], &[1.0, 2.0]).is_nan());
        assert!(cosine_distance(&[f64::INFINITY, 0.0], &[1.0, 2.0]).is_nan());
        assert!(cosine_distance::<f64>(&[], &[]).is_nan());
        assert!(dot(&[f64::INFINITY], &[0.0]).is_nan());
    }
}
