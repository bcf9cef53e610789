//! `kmeans_step` and `kmeans_assign`: one iteration in SQL.

use std::sync::Arc;

use arrow::array::{AsArray, Float32Array};
use arrow::datatypes::{Float64Type, Int64Type};

use super::{Clusters, assert_near, fixed, literal, lloyd, nearest, of_vectors};
use crate::helpers::{Db, nullable};

#[test]
fn steps_in_sql_are_iterations_of_kmeans_and_parts_add_up() {
    let (db, points) = of_vectors(20_000, 3);
    let start = &points[..4 * 3];
    let expected = lloyd(&points, 3, start, 1);
    let step = |sql: &str| {
        let ran = db.run(sql);
        let rows = arrow::compute::concat_batches(&ran.batches[0].schema(), &ran.batches).unwrap();
        let step = rows.column(0).as_struct().clone();
        let sums = step["sums"].as_list::<i32>().values().as_list::<i32>().values().as_primitive::<Float64Type>().values().to_vec();
        let sizes = step["sizes"].as_list::<i32>().values().as_primitive::<Int64Type>().values().to_vec();
        (sums, sizes, step["inertia"].as_primitive::<Float64Type>().values().to_vec())
    };
    for centroids in [literal(start, 3), format!("(SELECT {})", literal(start, 3))] {
        let (sums, sizes, inertia) = step(&format!("SELECT kmeans_step(x, {centroids}) FROM t"));
        let means: Vec<f64> = sums.iter().enumerate().map(|(at, sum)| sum / sizes[at / 3] as f64).collect();
        let found = Clusters { centroids: means, sizes, inertias: inertia, ..expected.clone() };
        assert_near(&found, &expected);
    }
    // Two parts of the table, as two nodes would have them.
    let of_part = |part: &str| step(&format!("SELECT kmeans_step(x, {}) FROM t WHERE x[1] {part}", literal(start, 3)));
    let (one, other) = (of_part("< 4.0"), of_part(">= 4.0"));
    let sizes: Vec<i64> = one.1.iter().zip(&other.1).map(|(one, other)| one + other).collect();
    assert_eq!(sizes, expected.sizes);
    assert!((one.2[0] + other.2[0] - expected.inertias[0]).abs() < 1e-9 * expected.inertias[0]);
}

#[test]
fn a_step_without_rows_is_nothing_added() {
    let db = Db::new();
    db.run("CREATE TABLE t (x DOUBLE[2])");
    let step = "SELECT s['sums'], s['sizes'], s['inertia'] FROM (SELECT kmeans_step(x, [[1.0, 2.0], [3.0, 4.0]]) AS s FROM t)";
    assert_eq!(db.value(step), "[[0.0, 0.0], [0.0, 0.0]]|[0, 0]|0.0");
    db.run("INSERT INTO t VALUES (NULL), ([1.0, 2.5])");
    assert_eq!(db.value(step), "[[1.0, 2.5], [0.0, 0.0]]|[1, 0]|0.25");
    let error = db.error("SELECT kmeans_step(x, [[1.0]]) FROM t").to_string();
    assert_eq!(error, "kmeans_step was given centroids of 1 number and a vector of 2");
}

#[test]
fn a_step_takes_one_list_of_centroids() {
    let db = Db::new();
    db.script("CREATE TABLE t (x DOUBLE[2], c BIGINT); INSERT INTO t VALUES ([1.0, 2.0], 1), ([2.0, 2.0], 2)");
    let error = db.error("SELECT kmeans_step(x, [[c, c]]) FROM t").to_string();
    assert_eq!(error, "kmeans_step takes the same centroids for all rows");
    let by = "SELECT s['sizes'] FROM (SELECT c, kmeans_step(x, [[c, c]]) AS s FROM t GROUP BY c) ORDER BY c";
    assert_eq!(db.rows(by), ["[1]", "[1]"]);
}

#[test]
fn the_nearest_centroid_is_that_of_plain_loops_and_the_first_of_equals() {
    let (db, points) = of_vectors(5_000, 3);
    let narrow: Vec<f32> = points.iter().map(|number| *number as f32).collect();
    db.load("narrow", &[], &nullable([("x", fixed(Arc::new(Float32Array::from(narrow.clone())), 3, None))]));
    let centroids = &points[30..30 + 7 * 3];
    let assigned = |table: &str| db.rows(&format!("SELECT kmeans_assign(x, {}) FROM {table}", literal(centroids, 3)));
    let widened: Vec<f64> = narrow.iter().map(|number| f64::from(*number)).collect();
    for (table, points) in [("t", &points), ("narrow", &widened)] {
        let expected: Vec<String> = points.chunks(3).map(|point| nearest(point, centroids).0.to_string()).collect();
        let (mut found, mut expected) = (assigned(table), expected);
        // Rows of several partitions come in any order.
        found.sort();
        expected.sort();
        assert_eq!(found, expected);
    }
    for (call, expected) in [
        ("kmeans_assign([1.0, 1.0], [[0.0, 0.0], [2.0, 2.0], [1.0, 1.0], [1.0, 1.0]])", "2"),
        ("kmeans_assign([1, 1], [[0, 0], [2, 2]])", "0"),
        ("kmeans_assign(NULL, [[0, 0]])", "NULL"),
        ("kmeans_assign([1, NULL], [[0, 0]])", "NULL"),
        ("kmeans_assign([1, 'NaN'::DOUBLE], [[0, 0]])", "NULL"),
        ("kmeans_assign([1, 2], NULL)", "NULL"),
    ] {
        assert_eq!(db.value(&format!("SELECT {call}")), expected, "{call}");
    }
    for (call, message) in [
        ("kmeans_assign([1.0], [[0.0, 0.0]])", "kmeans_assign was given centroids of 2 numbers and a vector of 1"),
        (
            "kmeans_assign([1.0], [[0.0], [1.0, 2.0]])",
            "kmeans_assign takes lists of one length, and list 2 has 2 numbers where the first has 1",
        ),
        ("kmeans_assign('a', [[0.0]])", "kmeans_assign takes vectors, lists of DOUBLE or REAL, and not VARCHAR"),
        ("kmeans_assign([1.0], [1.0])", "kmeans_assign takes centroids as a list of lists of numbers, and not DECIMAL(2,1)[]"),
        ("kmeans_assign([1.0], [['Infinity'::DOUBLE]])", "kmeans_assign takes finite centroids, and one has inf"),
    ] {
        assert_eq!(db.error(&format!("SELECT {call}")).to_string(), message, "{call}");
    }
}

#[test]
fn each_row_may_have_centroids_of_its_own() {
    let db = Db::new();
    db.run("CREATE TABLE t (x DOUBLE[1], c DOUBLE[][])");
    db.run(
        "INSERT INTO t VALUES ([1.0], [[1.0], [2.0]]), ([1.0], [[1.0], [2.0]]), ([1.0], [[5.0], [2.0]]), ([1.0], NULL), (NULL, [[1.0]])",
    );
    assert_eq!(db.sorted_rows("SELECT kmeans_assign(x, c) FROM t"), ["0", "0", "1", "NULL", "NULL"]);
}
