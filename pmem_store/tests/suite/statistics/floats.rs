//! Bounds of floating-point numbers: NaN, the two zeros, infinities.

use std::sync::Arc;

use arrow::array::*;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Float64Type};
use pmem_store::ZONE_ROWS;

use super::zones_of;

/// The bound of the first zone.
fn value(bound: &ArrayRef) -> f64 {
    bound.as_primitive::<Float64Type>().value(0)
}

#[test]
fn a_nan_makes_the_bounds_of_its_zone_unknown_and_is_flagged() {
    for nan in [f64::NAN, -f64::NAN] {
        let mut values = vec![1.0; ZONE_ROWS + 2];
        values[77] = nan;
        let values: ArrayRef = Arc::new(Float64Array::from(values));
        for column in [cast(&values, &DataType::Float32).unwrap(), values] {
            let zones = zones_of(column);
            assert!(zones.has_nan.value(0) && !zones.has_nan.value(1));
            assert!(zones.min.is_null(0) && zones.max.is_null(0) && zones.min.is_valid(1));
            assert!(!zones.min_exact.value(0) && !zones.max_exact.value(0) && zones.min_exact.value(1));
        }
    }
}

#[test]
fn a_nan_under_a_null_does_not_count() {
    let values = Float64Array::new(vec![1.0, f64::NAN].into(), Some(vec![true, false].into()));
    let zones = zones_of(Arc::new(values));
    assert!(!zones.has_nan.value(0));
    assert_eq!(value(&zones.max), 1.0);
}

#[test]
fn a_zero_bound_covers_both_zeros_and_is_not_exact() {
    for zeros in [[0.0, 0.0], [-0.0, -0.0], [0.0, -0.0], [-0.0, 0.0]] {
        let zones = zones_of(Arc::new(Float64Array::from(zeros.to_vec())));
        assert_eq!(value(&zones.min).to_bits(), (-0.0f64).to_bits());
        assert_eq!(value(&zones.max).to_bits(), 0.0f64.to_bits());
        assert!(!zones.min_exact.value(0) && !zones.max_exact.value(0));
    }
    let zones = zones_of(Arc::new(Float32Array::from(vec![-0.0, 5.0])));
    assert!(!zones.min_exact.value(0) && zones.max_exact.value(0));
}

#[test]
fn infinities_are_exact_bounds() {
    let zones = zones_of(Arc::new(Float64Array::from(vec![1.0, f64::INFINITY, f64::NEG_INFINITY])));
    assert_eq!((value(&zones.min), value(&zones.max)), (f64::NEG_INFINITY, f64::INFINITY));
    assert!(zones.min_exact.value(0) && zones.max_exact.value(0));
}
