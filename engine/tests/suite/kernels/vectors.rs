//! Distances, products and norms of vectors, beside plain loops.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, FixedSizeListArray, Float32Array, Float64Array, Int64Array, ListArray, RecordBatch};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, Float64Type};

use crate::helpers::{Db, Random, nullable};

const ROWS: usize = 10_000;
const WIDTH: usize = 19;

/// Between -1 and 1.
fn random_values(count: usize, seed: u64) -> Vec<f64> {
    let mut random = Random(seed);
    (0..count).map(|_| random.next() as f64 / u64::MAX as f64 * 2.0 - 1.0).collect()
}

fn fixed(values: ArrayRef) -> ArrayRef {
    let item = Arc::new(Field::new_list_field(values.data_type().clone(), true));
    Arc::new(FixedSizeListArray::try_new(item, WIDTH as i32, values, None).unwrap())
}

fn ragged(values: &[f64]) -> ArrayRef {
    let item = Arc::new(Field::new_list_field(DataType::Float64, true));
    let offsets = OffsetBuffer::from_repeated_length(WIDTH, ROWS);
    Arc::new(ListArray::try_new(item, offsets, Arc::new(Float64Array::from(values.to_vec())), None).unwrap())
}

/// `a` and `b` of DOUBLE, `r` as `a` in REAL, `l` as `b` in lists of any length; `id` is the number of the row.
fn vectors() -> (Db, Vec<f64>, Vec<f64>) {
    let (a, b) = (random_values(ROWS * WIDTH, 1), random_values(ROWS * WIDTH, 2));
    let real = Float32Array::from_iter_values(a.iter().map(|value| *value as f32));
    let columns: [(&str, ArrayRef); 5] = [
        ("id", Arc::new(Int64Array::from_iter_values(0..ROWS as i64))),
        ("a", fixed(Arc::new(Float64Array::from(a.clone())))),
        ("b", fixed(Arc::new(Float64Array::from(b.clone())))),
        ("r", fixed(Arc::new(real))),
        ("l", ragged(&b)),
    ];
    let db = Db::new();
    db.load("t", &[], &nullable(columns));
    (db, a, b)
}

fn doubles(batches: &[RecordBatch], column: usize) -> Vec<f64> {
    let of_batch = |batch: &RecordBatch| batch.column(column).as_primitive::<Float64Type>().values().to_vec();
    batches.iter().flat_map(of_batch).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

fn cosine(a: &[f64], b: &[f64]) -> f64 {
    1.0 - dot(a, b) / (dot(a, a).sqrt() * dot(b, b).sqrt())
}

/// That the column has what the oracle says of each row of `a` and `b`.
fn assert_each(found: &[f64], a: &[f64], b: &[f64], tolerance: f64, oracle: impl Fn(&[f64], &[f64]) -> f64) {
    assert_eq!(found.len(), a.len() / WIDTH);
    for ((found, a), b) in found.iter().zip(a.chunks(WIDTH)).zip(b.chunks(WIDTH).cycle()) {
        let expected = oracle(a, b);
        assert!((found - expected).abs() <= tolerance * (1.0 + expected.abs()), "{found} is not {expected}");
    }
}

#[test]
fn products_and_distances_are_those_of_plain_loops() {
    let (db, a, b) = vectors();
    let calls = "dot(a, b), l2_distance(a, b), cosine_distance(a, b), dot(a, l), l2_distance(l, a), cosine_distance(r, l)";
    let ran = db.run(&format!("SELECT {calls} FROM t ORDER BY id"));
    for (column, oracle) in [(0, dot as fn(&[f64], &[f64]) -> f64), (1, distance), (2, cosine), (3, dot), (4, distance)] {
        assert_each(&doubles(&ran.batches, column), &a, &b, 1e-13, oracle);
    }
    assert_each(&doubles(&ran.batches, 5), &a, &b, 1e-6, cosine);
}

#[test]
fn a_constant_vector_is_compared_with_each_row() {
    let (db, a, _) = vectors();
    let query = random_values(WIDTH, 3).iter().map(|value| format!("{value:.3}")).collect::<Vec<_>>();
    let numbers: Vec<f64> = query.iter().map(|text| text.parse().unwrap()).collect();
    let query = query.join(", ");
    let ran = db.run(&format!("SELECT l2_distance(a, [{query}]), dot([{query}], a), l2_distance(r, [{query}]) FROM t ORDER BY id"));
    assert_each(&doubles(&ran.batches, 0), &a, &numbers, 1e-13, distance);
    assert_each(&doubles(&ran.batches, 1), &a, &numbers, 1e-13, dot);
    let narrowed: Vec<f64> = a.iter().map(|value| f64::from(*value as f32)).collect();
    // The literal is not rounded to REAL.
    assert_each(&doubles(&ran.batches, 2), &narrowed, &numbers, 1e-13, distance);
}

#[test]
fn norms_are_those_of_plain_loops() {
    let (db, a, b) = vectors();
    let ran = db.run("SELECT l1_norm(a), l2_norm(a), norm(a), max_norm(a), l2_norm(l) FROM t ORDER BY id");
    let l1 = |a: &[f64], _: &[f64]| a.iter().map(|value| value.abs()).sum::<f64>();
    assert_each(&doubles(&ran.batches, 0), &a, &b, 1e-13, l1);
    assert_each(&doubles(&ran.batches, 1), &a, &b, 1e-13, |a, _| dot(a, a).sqrt());
    assert_each(&doubles(&ran.batches, 2), &a, &b, 1e-13, |a, _| dot(a, a).sqrt());
    assert_each(&doubles(&ran.batches, 3), &a, &b, 0.0, |a, _| a.iter().fold(0.0, |most, value| value.abs().max(most)));
    assert_each(&doubles(&ran.batches, 4), &a, &b, 1e-13, |_, b| dot(b, b).sqrt());
}

#[test]
fn lists_of_integers_and_decimals_are_vectors() {
    let db = Db::new();
    assert_eq!(db.value("SELECT l2_distance([1, 2], [1.0, 4.0])"), "2.0");
    assert_eq!(db.value("SELECT dot([1.5, 2], [2, 4])"), "11.0");
    assert_eq!(db.value("SELECT cosine_distance([1.0, 0.0], [0.0, 1.0])"), "1.0");
    assert_eq!(db.value("SELECT l1_norm([]), max_norm([3, -4]), norm([3, -4])"), "0.0|4.0|5.0");
}

#[test]
fn null_vectors_and_null_elements_give_null_and_nan_gives_nan() {
    let db = Db::new();
    db.run("CREATE TABLE t (id INT, v DOUBLE[2], w DOUBLE[])");
    db.run("INSERT INTO t VALUES (1, [1, 2], [3, 4]), (2, NULL, [3, 4]), (3, [1, 2], NULL), (4, [1, NULL], [3, 4])");
    db.run("INSERT INTO t VALUES (5, [CAST('NaN' AS DOUBLE), 2], [3, 4])");
    assert_eq!(db.rows("SELECT dot(v, w) FROM t ORDER BY id"), ["11.0", "NULL", "NULL", "NULL", "NaN"]);
    assert_eq!(db.rows("SELECT l2_norm(v) IS NULL FROM t ORDER BY id"), ["false", "true", "false", "true", "false"]);
    assert_eq!(db.value("SELECT l2_distance(NULL, [1, 2])"), "NULL");
    assert_eq!(db.value("SELECT cosine_distance([0, 0], [1, 2])"), "NaN");
    // NaN is greater than every number, as everywhere.
    assert_eq!(db.value("SELECT count(*) FROM t WHERE dot(v, w) > 1e300"), "1");
}

#[test]
fn vectors_of_different_lengths_are_refused_with_both() {
    let db = Db::new();
    db.run("CREATE TABLE t (v DOUBLE[3], w DOUBLE[])");
    db.run("INSERT INTO t VALUES ([1, 2, 3], [1, 2])");
    let planned = db.error("SELECT l2_distance(v, CAST([1, 2] AS DOUBLE[2])) FROM t").to_string();
    assert_eq!(planned, "l2_distance takes two vectors of one length, and these have 3 and 2 elements");
    let ran = db.error("SELECT dot(w, v) FROM t").to_string();
    assert_eq!(ran, "dot takes two vectors of one length, and these have 2 and 3 elements");
}

#[test]
fn what_is_no_vector_is_refused_by_its_type() {
    let db = Db::new();
    let error = db.error("SELECT l2_norm(['a'])").to_string();
    assert_eq!(error, "l2_norm takes vectors, lists of DOUBLE or REAL, and not VARCHAR[]");
    let error = db.error("SELECT dot(1, [2])").to_string();
    assert_eq!(error, "dot takes vectors, lists of DOUBLE or REAL, and not BIGINT");
    let error = db.error("SELECT l2_distance([1])").to_string();
    assert_eq!(error, "l2_distance takes two vectors, and was given 1 argument");
}

#[test]
fn a_filter_of_a_distance_finds_the_rows_that_a_loop_finds() {
    let (db, a, b) = vectors();
    let near = a.chunks(WIDTH).zip(b.chunks(WIDTH)).filter(|(a, b)| distance(a, b) < 2.5).count();
    assert_eq!(db.value("SELECT count(*) FROM t WHERE l2_distance(a, b) < 2.5"), near.to_string());
}
