//! k-means beside plain loops: the table function, its step and its assignment; and what it refuses.

mod inputs;
mod refused;
mod steps;

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, FixedSizeListArray, Float32Array, Float64Array, RecordBatch};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{Field, Float64Type, Int64Type};

use crate::helpers::{Db, Random, nullable};

/// `rows` points of `width` numbers around five places, end to end.
fn points(rows: usize, width: usize, seed: u64) -> Vec<f64> {
    let mut random = Random(seed);
    let mut points = Vec::with_capacity(rows * width);
    for row in 0..rows {
        let place = (row % 5) as f64 * 3.0;
        points.extend((0..width).map(|_| place + random.below(1_000_000) as f64 / 400_000.0));
    }
    points
}

fn fixed(values: ArrayRef, width: usize, nulls: Option<NullBuffer>) -> ArrayRef {
    let item = Arc::new(Field::new_list_field(values.data_type().clone(), true));
    Arc::new(FixedSizeListArray::try_new(item, width as i32, values, nulls).unwrap())
}

fn vectors(points: &[f64], width: usize) -> ArrayRef {
    fixed(Arc::new(Float64Array::from(points.to_vec())), width, None)
}

/// A table with the column `x`.
fn of_vectors(rows: usize, width: usize) -> (Db, Vec<f64>) {
    let db = Db::new();
    let points = points(rows, width, 7);
    db.load("t", &[], &nullable([("x", vectors(&points, width))]));
    (db, points)
}

#[derive(Debug, Clone, PartialEq)]
struct Clusters {
    centroids: Vec<f64>,
    sizes: Vec<i64>,
    inertias_of_clusters: Vec<f64>,
    inertias: Vec<f64>,
}

/// The rows of `kmeans`.
fn kmeans(db: &Db, call: &str) -> Clusters {
    of_batches(&db.run(&format!("SELECT * FROM {call} ORDER BY cluster")).batches)
}

fn of_batches(batches: &[RecordBatch]) -> Clusters {
    let rows = arrow::compute::concat_batches(&batches[0].schema(), batches).unwrap();
    let numbers = |name: &str| rows[name].as_primitive::<Float64Type>().values().to_vec();
    let lists = |name: &str| rows[name].as_list::<i32>().values().as_primitive::<Float64Type>().values().to_vec();
    assert_eq!(rows["cluster"].as_primitive::<Int64Type>().values().to_vec(), (0..rows.num_rows() as i64).collect::<Vec<_>>());
    let all = lists("inertias");
    let iterations = all.len() / rows.num_rows();
    assert!(all.chunks(iterations).all(|inertias| inertias == &all[..iterations]));
    Clusters {
        centroids: lists("centroid"),
        sizes: rows["size"].as_primitive::<Int64Type>().values().to_vec(),
        inertias_of_clusters: numbers("inertia"),
        inertias: all[..iterations].to_vec(),
    }
}

fn squared(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| (one - other) * (one - other)).sum()
}

fn nearest(point: &[f64], centroids: &[f64]) -> (usize, f64) {
    let distances = centroids.chunks(point.len()).map(|centroid| squared(point, centroid));
    distances.enumerate().min_by(|(_, one), (_, other)| one.total_cmp(other)).unwrap()
}

/// Lloyd's algorithm as a book has it.
fn lloyd(points: &[f64], width: usize, start: &[f64], iterations: usize) -> Clusters {
    let k = start.len() / width;
    let mut clusters = Clusters { centroids: start.to_vec(), sizes: vec![], inertias_of_clusters: vec![], inertias: vec![] };
    for _ in 0..iterations {
        let (mut sums, mut sizes, mut inertias) = (vec![0.0; k * width], vec![0_i64; k], vec![0.0; k]);
        for point in points.chunks(width) {
            let (cluster, distance) = nearest(point, &clusters.centroids);
            sums[cluster * width..][..width].iter_mut().zip(point).for_each(|(sum, number)| *sum += number);
            sizes[cluster] += 1;
            inertias[cluster] += distance;
        }
        for (at, sum) in sums.iter().enumerate().filter(|(at, _)| sizes[at / width] > 0) {
            clusters.centroids[at] = sum / sizes[at / width] as f64;
        }
        clusters.inertias.push(inertias.iter().sum());
        (clusters.sizes, clusters.inertias_of_clusters) = (sizes, inertias);
    }
    clusters
}

fn assert_near(found: &Clusters, expected: &Clusters) {
    let near = |one: &[f64], other: &[f64]| {
        one.len() == other.len() && one.iter().zip(other).all(|(one, other)| (one - other).abs() <= 1e-9 * (1.0 + other.abs()))
    };
    assert!(near(&found.centroids, &expected.centroids), "{found:?}\n{expected:?}");
    assert_eq!(found.sizes, expected.sizes);
    assert!(near(&found.inertias_of_clusters, &expected.inertias_of_clusters), "{found:?}\n{expected:?}");
    assert!(near(&found.inertias, &expected.inertias), "{found:?}\n{expected:?}");
}

/// Centroids as SQL has them.
fn literal(centroids: &[f64], width: usize) -> String {
    let row = |row: &[f64]| format!("[{}]", row.iter().map(|number| format!("{number:e}")).collect::<Vec<_>>().join(", "));
    format!("[{}]", centroids.chunks(width).map(row).collect::<Vec<_>>().join(", "))
}

#[test]
fn iterations_are_those_of_plain_loops() {
    let (db, points) = of_vectors(20_000, 4);
    let start: Vec<f64> = points[..6 * 4].to_vec();
    for iterations in [1, 4] {
        let found = kmeans(&db, &format!("kmeans('t', 'x', init => {}, iterations => {iterations})", literal(&start, 4)));
        assert_near(&found, &lloyd(&points, 4, &start, iterations));
    }
}

#[test]
fn a_cluster_without_points_keeps_its_centroid() {
    let (db, points) = of_vectors(500, 2);
    let start = [0.0, 0.0, 1e6, -1e6];
    let found = kmeans(&db, &format!("kmeans('t', 'x', init => {}, iterations => 2)", literal(&start, 2)));
    assert_eq!((&found.centroids[2..], found.sizes[1], found.inertias_of_clusters[1]), (&start[2..], 0, 0.0));
    assert_near(&found, &lloyd(&points, 2, &start, 2));
}

#[test]
fn results_are_the_same_with_any_number_of_threads_and_any_copy() {
    let (db, _) = of_vectors(60_000, 3);
    for init in ["kmeans++", "random"] {
        let call = format!("kmeans('t', 'x', k => 7, iterations => 5, init => '{init}', seed => 11)");
        let expected = kmeans(&db, &call);
        for setting in ["threads = 1", "threads = 2", "precopy = 'on'", "precopy = 'off'"] {
            db.run(&format!("SET {setting}"));
            assert_eq!(kmeans(&db, &call), expected, "{init} with {setting}");
        }
        let other = kmeans(&db, &call.replace("11", "12"));
        assert_ne!(other.centroids, expected.centroids);
    }
}

#[test]
fn the_first_centroids_are_different_rows() {
    let (db, points) = of_vectors(300, 2);
    for init in ["kmeans++", "random"] {
        let found = kmeans(&db, &format!("kmeans('t', 'x', k => 300, iterations => 1, init => '{init}')"));
        assert_eq!((found.inertias[0], found.sizes.iter().max()), (0.0, Some(&1)), "{init}");
        let sorted = |points: &[f64]| {
            let mut rows: Vec<Vec<u64>> = points.chunks(2).map(|row| row.iter().map(|number| number.to_bits()).collect()).collect();
            rows.sort();
            rows
        };
        assert_eq!(sorted(&found.centroids), sorted(&points), "{init}");
    }
}

#[test]
fn rows_that_are_all_the_same_make_clusters_too() {
    let db = Db::new();
    db.load("t", &[], &nullable([("x", vectors(&[1.5; 20], 2))]));
    for init in ["kmeans++", "random"] {
        let found = kmeans(&db, &format!("kmeans('t', 'x', k => 3, iterations => 2, init => '{init}')"));
        assert_eq!((found.sizes, found.inertias), (vec![10, 0, 0], vec![0.0]), "{init}: it ends when nothing moves");
    }
}

#[test]
fn careful_seeding_finds_places_that_lie_apart() {
    let db = Db::new();
    let mut random = Random(9);
    let points: Vec<f64> = (0..2_000).flat_map(|row| [(row % 8) as f64 * 1e3, random.below(1_000) as f64 / 1e3]).collect();
    db.load("t", &[], &nullable([("x", vectors(&points, 2))]));
    for seed in 0..10 {
        let found = kmeans(&db, &format!("kmeans('t', 'x', k => 8, tolerance => 0.0, seed => {seed})"));
        assert_eq!(found.sizes, [250; 8], "seed {seed}");
    }
}

#[test]
fn it_ends_when_no_centroid_moves_farther_than_the_tolerance() {
    let (db, points) = of_vectors(5_000, 2);
    let start = literal(&points[..6], 2);
    let all = lloyd(&points, 2, &points[..6], 60);
    let ways = |from: &[f64], to: &[f64]| from.chunks(2).zip(to.chunks(2)).map(|(from, to)| squared(from, to).sqrt()).fold(0.0, f64::max);
    let moved: Vec<f64> =
        (1..60).map(|n| ways(&lloyd(&points, 2, &points[..6], n).centroids, &lloyd(&points, 2, &points[..6], n + 1).centroids)).collect();
    let tolerance = 0.01;
    let expected = 2 + moved.iter().position(|way| *way <= tolerance).unwrap();
    let found = kmeans(&db, &format!("kmeans('t', 'x', init => {start}, tolerance => {tolerance})"));
    assert_eq!(found.inertias.len(), expected);
    let found = kmeans(&db, &format!("kmeans('t', 'x', init => {start}, tolerance => 0)"));
    assert_near(&Clusters { inertias: vec![], ..found }, &Clusters { inertias: vec![], ..all });
}

#[test]
fn arguments_are_told_by_place_or_by_name_in_any_case() {
    let (db, _) = of_vectors(500, 2);
    let expected = kmeans(&db, "kmeans('t', 'x', 3, 10, 'random', 5)");
    for call in [
        "kmeans('t', 'x', k => 3, iterations => 10, init => 'random', seed => 5)",
        "kmeans('t', 'x', seed => 5, INIT => 'RANDOM', Iterations := 5 + 5, \"k\" => 3)",
        "KMeans('t', 'x', 3, iterations => 10, init => 'random', seed => 5)",
    ] {
        assert_eq!(kmeans(&db, call), expected, "{call}");
    }
    db.run("CREATE VIEW v AS SELECT * FROM kmeans('t', 'x', k => 3, iterations => 10, init => 'random', seed => 5)");
    assert_eq!(kmeans(&db, "v"), expected);
}

#[test]
fn the_report_says_what_was_copied_before() {
    let (db, points) = of_vectors(10_000, 2);
    let narrow: Vec<f32> = points.iter().map(|number| *number as f32).collect();
    db.load("narrow", &[], &nullable([("x", fixed(Arc::new(Float32Array::from(narrow)), 2, None))]));
    let bytes = 10_000 * 2 * 8;
    let report = |precopy: &str, call: &str| {
        db.run(&format!("SET precopy = {precopy}"));
        let report = db.run(&format!("SELECT * FROM {call}")).report;
        (report.precopied_bytes, report.reread_bytes)
    };
    assert_eq!(
        report("off", "kmeans('t', 'x', 2, 3)"),
        (0, 3 * bytes),
        "the passes after the first: one for the second centroid, three iterations"
    );
    assert_eq!(report("on", "kmeans('t', 'x', 2, 3)"), (bytes, 0));
    assert_eq!(report("auto", "kmeans('t', 'x', 2, 3)"), (0, 3 * bytes), "in memory a copy is no quicker to read");
    assert_eq!(report("auto", "kmeans('narrow', 'x', 2, 3)"), (bytes, 0), "converted once");
    assert_eq!(
        report("off", "kmeans('narrow', 'x', 2, 3)"),
        (0, 3 * bytes),
        "the passes after the first: one for the second centroid, three iterations"
    );
    assert_eq!(report("on", "kmeans('t', 'x', init => [[0.0, 0.0]], iterations => 1)"), (0, 0), "one pass");
    assert_eq!(report("on", "t LIMIT 1"), (0, 0));
    assert_eq!(db.value("SHOW precopy"), "precopy|on");
    db.run("RESET precopy");
    assert_eq!(db.value("SHOW precopy"), "precopy|auto");
    assert_eq!(db.error("SET precopy = sometimes").to_string(), "there is no precopy \"sometimes\"");
}

#[test]
fn explain_shows_the_operator_with_its_arguments_and_its_input() {
    let (db, _) = of_vectors(10_000, 2);
    let plan = db.run("EXPLAIN SELECT size FROM kmeans('t', 'x', k => 3, iterations => 4)").text();
    let operator = "KMeansExec: columns=[x], k=3, iterations=4, tolerance=0, init=kmeans++, seed=0";
    assert!(plan.contains(operator) && plan.contains("StoreScan table=main.t, columns=[x]"), "{plan}");
    let analyzed = db.run("EXPLAIN ANALYZE SELECT size FROM kmeans('t', 'x', k => 3, iterations => 1)").text();
    assert!(analyzed.contains(operator.split(',').next().unwrap()), "{analyzed}");
    // Amounts are shortened for people.
    for metric in ["iterations=1", "points=10.00 K", "bytes_touched="] {
        assert!(analyzed.contains(metric), "{metric}: {analyzed}");
    }
}

#[test]
fn columns_of_the_result_are_chosen_joined_and_filtered_as_of_any_table() {
    let (db, points) = of_vectors(1_000, 2);
    let all = kmeans(&db, "kmeans('t', 'x', 4, 3)");
    assert_eq!(
        db.rows("SELECT cluster, size FROM kmeans('t', 'x', 4, 3) WHERE cluster >= 2 ORDER BY cluster DESC LIMIT 1"),
        [format!("3|{}", all.sizes[3])]
    );
    let last = "SELECT size, cluster FROM kmeans('t', 'x', 4, 3) GROUP BY size, cluster ORDER BY 1 * 0, cluster DESC LIMIT 1";
    assert_eq!(db.rows(last), [format!("{}|3", all.sizes[3])]);
    let assigned = "SELECT c, count(*) FROM (SELECT kmeans_assign(x, (SELECT array_agg(centroid ORDER BY cluster) FROM kmeans('t', 'x', 4, 3))) AS c FROM t) GROUP BY c ORDER BY c";
    let mut sizes = [0; 4];
    points.chunks(2).for_each(|point| sizes[nearest(point, &all.centroids).0] += 1);
    let expected: Vec<String> = sizes.iter().enumerate().map(|(cluster, size)| format!("{cluster}|{size}")).collect();
    assert_eq!(db.rows(assigned), expected);
}
