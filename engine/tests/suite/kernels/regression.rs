//! Covariance, correlation and linear regression, beside DataFusion's aggregates of two columns and numpy.

use crate::helpers::Db;

/// Three columns that explain `y`, far from zero and of different sizes; `v` has them as a vector.
fn table() -> Db {
    let db = Db::new();
    db.run(
        "CREATE TABLE t AS SELECT i, g, a, b, c, y, [a, b, c] AS v, CAST([a, b, c] AS DOUBLE[3]) AS w FROM (SELECT i, g, a, b, c, \
         3.5e0 + 2 * a - 0.001e0 * b + 0.5e0 * c + CAST(i * 31 % 17 AS DOUBLE) / 17 AS y FROM (SELECT value AS i, value % 3 AS g, \
         CAST(value * 7919 % 1009 AS DOUBLE) / 10 AS a, CAST(value * 104729 % 997 AS DOUBLE) * 1000 + 1e6 AS b, \
         CAST(value * value % 31 AS DOUBLE) AS c FROM range(1, 2001)))",
    );
    db
}

fn numbers(text: &str) -> Vec<f64> {
    let parts = text.split(|letter: char| !(letter.is_ascii_alphanumeric() || "-.+".contains(letter)));
    parts.filter_map(|part| part.parse().ok()).collect()
}

fn assert_close(found: &str, expected: &str, error: f64) {
    let (found_numbers, expected_numbers) = (numbers(found), numbers(expected));
    assert_eq!(found_numbers.len(), expected_numbers.len(), "{found} and {expected}");
    for (one, other) in found_numbers.iter().zip(&expected_numbers) {
        assert!((one - other).abs() <= error * other.abs().max(1.0), "{found} and {expected}");
    }
}

/// The matrix out of an aggregate of two columns.
fn by_pairs(aggregate: &str) -> String {
    let row = |x: &str| ["a", "b", "c"].map(|y| format!("{aggregate}({x}, {y})")).join(", ");
    format!("[[{}], [{}], [{}]]", row("a"), row("b"), row("c"))
}

#[test]
fn covariances_and_correlations_are_those_of_each_two_columns() {
    let db = table();
    for (matrix, aggregate) in [("covariance_matrix", "covar_samp"), ("correlation_matrix", "corr")] {
        let expected = db.value(&format!("SELECT {} FROM t", by_pairs(aggregate)));
        for arguments in ["a, b, c", "v", "w", "CAST(v AS REAL[])"] {
            let error = if arguments.contains("REAL") { 1e-5 } else { 1e-10 };
            assert_close(&db.value(&format!("SELECT {matrix}({arguments}) FROM t")), &expected, error);
        }
        let expected = db.rows(&format!("SELECT g, {} FROM t GROUP BY g ORDER BY g", by_pairs(aggregate)));
        let found = db.rows(&format!("SELECT g, {matrix}(a, b, c) FROM t GROUP BY g ORDER BY g"));
        let of_vectors = db.rows(&format!("SELECT g, {matrix}(w) FROM t GROUP BY g ORDER BY g"));
        for ((found, of_vectors), expected) in found.iter().zip(&of_vectors).zip(&expected) {
            assert_close(found, expected, 1e-10);
            assert_close(of_vectors, expected, 1e-10);
        }
    }
}

#[test]
fn a_regression_is_that_of_numpy() {
    let db = table();
    // numpy.linalg.lstsq.
    let expected = "4.173933938492809 [1.999805375349021, -0.0010001288655390567, 0.4999555844606551] 0.99999905 2000";
    let columns = "SELECT f.intercept, f.coefficients, f.r2, f.n FROM (SELECT linear_regression(y, a, b, c) AS f FROM t)";
    for sql in [columns, &columns.replace("a, b, c", "v"), &columns.replace("a, b, c", "w")] {
        assert_close(&db.value(sql), expected, 1e-8);
    }
    let one = db.value("SELECT f.coefficients[1], f.intercept, f.r2, f.n FROM (SELECT linear_regression(y, a) AS f FROM t)");
    let expected = db.value("SELECT regr_slope(y, a), regr_intercept(y, a), regr_r2(y, a), regr_count(y, a) FROM t");
    assert_close(&one, &expected, 1e-10);
}

#[test]
fn rows_with_a_null_are_left_out() {
    let db = Db::new();
    db.run("CREATE TABLE t (id INT, y DOUBLE, x DOUBLE, v DOUBLE[2])");
    db.run("INSERT INTO t VALUES (1, 1, 2, [1, 2]), (2, NULL, 3, [7, 7]), (3, 4, NULL, NULL)");
    db.run("INSERT INTO t VALUES (4, 3, 1, [2, 5]), (5, 9, 9, [3, NULL]), (6, 8, 4, [5, 9])");
    let expected = db.value("SELECT covariance_matrix(y, x) FROM t WHERE id IN (1, 4, 5, 6)");
    assert_eq!(db.value("SELECT covariance_matrix(y, x) FROM t"), expected);
    let expected = db.value("SELECT covariance_matrix(v) FROM t WHERE id IN (1, 2, 4, 6)");
    assert_eq!(db.value("SELECT covariance_matrix(v) FROM t"), expected);
    assert_eq!(db.value("SELECT f.n FROM (SELECT linear_regression(y, x) AS f FROM t)"), "4");
    assert_eq!(db.value("SELECT f.n FROM (SELECT linear_regression(y, v) AS f FROM t)"), "3");
    let filtered = db.value("SELECT covariance_matrix(y, x) FILTER (WHERE id > 1) FROM t");
    assert_eq!(filtered, db.value("SELECT covariance_matrix(y, x) FROM t WHERE id > 1"));
}

#[test]
fn few_rows_have_no_covariance_and_no_rows_no_regression() {
    let db = table();
    assert_eq!(db.value("SELECT covariance_matrix(a, b) FROM t WHERE i = 1"), "NULL");
    assert_eq!(
        db.value("SELECT correlation_matrix(w), linear_regression(y, a), linear_regression(y, v) FROM t WHERE i < 1"),
        "NULL|NULL|NULL"
    );
    assert_eq!(db.value("SELECT covariance_matrix(NULL, 1)"), "NULL");
    let error = db.error("SELECT linear_regression(y, a, b) FROM t WHERE i < 3").to_string();
    assert_eq!(error, "linear_regression of 2 rows: they do not determine 3 coefficients");
    let error = db.error("SELECT linear_regression(y, a) FROM t WHERE i < 2").to_string();
    assert_eq!(error, "linear_regression of 1 row: it does not determine 2 coefficients");
}

#[test]
fn a_column_that_depends_on_others_is_named() {
    let db = table();
    let rows = "(SELECT *, a - 2 * c AS d, 5e0 AS e FROM t)";
    let error = |arguments: &str| db.error(&format!("SELECT linear_regression(y, {arguments}) FROM {rows}")).to_string();
    assert_eq!(error("a, c, d"), "linear_regression: \"d\" is a combination of the columns before it");
    assert_eq!(error("a, e"), "linear_regression: \"e\" is constant, and so is the intercept");
    assert_eq!(error("[a, c, a]"), "linear_regression: \"a\" is a combination of the columns before it");
    assert_eq!(error("[a, c, a - c]"), "linear_regression: element 3 of the vector is a combination of the columns before it");
    assert_eq!(error("array_append(v, a)"), "linear_regression: element 4 of the vector is a combination of the columns before it");
    assert_eq!(error("a, a + a"), "linear_regression: its argument 3 is a combination of the columns before it");
    db.run("CREATE TABLE twice AS SELECT y, [a, a] AS vv FROM t");
    let stored = db.error("SELECT linear_regression(y, vv) FROM twice").to_string();
    assert_eq!(stored, "linear_regression: element 2 of \"vv\" is a combination of the columns before it");
    // What two aggregates have in common is computed once, under a name that nobody gave.
    let shared = db.error(&format!("SELECT linear_regression(y, [a, 2 * a]), covariance_matrix([a, 2 * a]) FROM {rows}")).to_string();
    assert_eq!(shared, "linear_regression: element 2 of the vector is a combination of the columns before it");
}

#[test]
fn nan_makes_nan_of_what_it_takes_part_in() {
    let db = Db::new();
    db.run("CREATE TABLE t (x DOUBLE, y DOUBLE)");
    db.run("INSERT INTO t VALUES (1, 2), (2, 'NaN'), (4, 5)");
    let found = db.value("SELECT covariance_matrix(x, y) FROM t");
    assert!(found.starts_with("[[2.333333333333333") && found.ends_with(", NaN], [NaN, NaN]]"), "{found}");
    assert_eq!(db.value("SELECT linear_regression(y, x) FROM t"), "{intercept: NaN, coefficients: [NaN], r2: NaN, n: 3}");
}

#[test]
fn what_cannot_be_gathered_is_refused() {
    let db = table();
    let error = |call: &str| db.error(&format!("SELECT {call} FROM t")).to_string();
    assert_eq!(error("covariance_matrix(a, 'x')"), "each argument of covariance_matrix is a number, and not VARCHAR");
    assert_eq!(error("covariance_matrix(['x'])"), "covariance_matrix takes vectors, lists of DOUBLE or REAL, and not VARCHAR[]");
    assert_eq!(error("covariance_matrix(v, a)"), "each argument of covariance_matrix is a number, and not DOUBLE[]");
    assert_eq!(error("linear_regression(y)"), "linear_regression takes a number and those that explain it, and was given 1 argument");
    let ragged = error("covariance_matrix(CASE WHEN i % 2 = 0 THEN [a, b] ELSE v END)");
    assert!(ragged.starts_with("covariance_matrix takes vectors of one length, and these have"), "{ragged}");
    assert_eq!(error("covariance_matrix(DISTINCT a, b)"), "DISTINCT in covariance_matrix is not supported");
}

#[test]
fn frames_of_windows_have_covariances() {
    let db = table();
    let running = db.rows("SELECT covariance_matrix(a, c) OVER (ORDER BY i) FROM t WHERE i <= 20 ORDER BY i");
    assert_eq!(running[0], "NULL");
    assert_close(&running[19], &db.value("SELECT covariance_matrix(a, c) FROM t WHERE i <= 20"), 1e-12);
    let sliding =
        "SELECT covariance_matrix(a, c) OVER (ORDER BY i ROWS BETWEEN 9 PRECEDING AND CURRENT ROW) FROM t WHERE i <= 60 ORDER BY i";
    let sliding = db.rows(sliding);
    assert_eq!((sliding.len(), sliding[0].as_str()), (60, "NULL"));
    for last in [5, 10, 11, 47, 60] {
        let alone = db.value(&format!("SELECT covariance_matrix(a, c) FROM t WHERE i BETWEEN {last} - 9 AND {last}"));
        assert_close(&sliding[last - 1], &alone, 1e-9);
    }
}

#[test]
fn a_frame_that_slides_has_the_regression_of_its_rows() {
    let db = table();
    let frame = "ORDER BY i ROWS BETWEEN 9 PRECEDING AND 10 FOLLOWING";
    let rows = db.rows(&format!("SELECT linear_regression(y, [a, c]) OVER ({frame}) FROM t ORDER BY i"));
    for i in [1, 2, 10, 11, 500, 1990, 2000] {
        let alone = format!("SELECT linear_regression(y, [a, c]) FROM t WHERE i BETWEEN {i} - 9 AND {i} + 10");
        assert_close(&rows[i - 1], &db.value(&alone), 1e-9);
    }
}

#[test]
fn frames_with_gaps_and_a_filter_have_the_covariances_of_their_rows() {
    let db = table();
    let there = "i % 100 > 40";
    let frame = "ORDER BY i RANGE BETWEEN 20 PRECEDING AND 10 PRECEDING";
    let sql = format!("SELECT covariance_matrix(a, c) FILTER (WHERE i % 5 <> 0) OVER ({frame}) FROM t WHERE {there} ORDER BY i");
    let (rows, ends) = (db.rows(&sql), db.rows(&format!("SELECT i FROM t WHERE {there} ORDER BY i")));
    assert_eq!(rows.len(), ends.len());
    // Frames are empty where a gap begins, and have rows again after it.
    for row in (0..rows.len()).step_by(7).chain([rows.len() - 1]) {
        let inside = format!("{there} AND i % 5 <> 0 AND i BETWEEN {0} - 20 AND {0} - 10", ends[row]);
        let alone = db.value(&format!("SELECT covariance_matrix(a, c) FROM t WHERE {inside}"));
        assert_eq!(rows[row] == "NULL", alone == "NULL", "the frame of row {}", ends[row]);
        assert_close(&rows[row], &alone, 1e-9);
    }
}

#[test]
fn aggregates_that_cannot_take_back_a_row_have_frames_that_slide() {
    let db = Db::new();
    db.run("CREATE TABLE t (id BIGINT, s VARCHAR, m TENSOR(DOUBLE, 1, 1), v DOUBLE[1])");
    db.run("INSERT INTO t VALUES (1, 'c', [1], [1]), (2, 'a', [2], [2]), (3, NULL, [3], NULL), (4, 'b', [4], [9])");
    let frames =
        |call: &str| db.rows(&format!("SELECT {call} OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t ORDER BY id"));
    assert_eq!(frames("quantile_disc(s, 0.5)"), ["c", "a", "a", "b"]);
    assert_eq!(frames("string_agg(s, ',')"), ["c", "c,a", "a", "b"]);
    assert_eq!(frames("sum_product(m, m)"), ["[1.0]", "[5.0]", "[13.0]", "[25.0]"]);
    let steps = frames("kmeans_step(v, [[0], [10]])");
    assert_eq!(steps[1], "{sums: [[3.0], [0.0]], sizes: [2, 0], inertia: 5.0}");
    assert_eq!(steps[3], "{sums: [[0.0], [9.0]], sizes: [0, 1], inertia: 1.0}");
    let to_the_end = "SELECT string_agg(s, ',') OVER (ORDER BY id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) FROM t ORDER BY id";
    assert_eq!(db.rows(to_the_end), ["c,a,b", "a,b", "b", "b"]);
}
