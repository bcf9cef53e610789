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
    assert_eq!(db.value("SELECT correlation_matrix(w), linear_regression(y, a), linear_regression(y, v) FROM t WHERE i < 1"), "NULL|NULL|NULL");
    assert_eq!(db.value("SELECT covariance_matrix(NULL, 1)"), "NULL");
    let error = db.error("SELECT linear_regression(y, a, b) FROM t WHERE i < 3").to_string();
    assert_eq!(error, "linear_regression of 2 rows: they do not determine 3 coefficients");
}

#[test]
fn a_column_that_depends_on_others_is_named() {
    let db = table();
    let rows = "(SELECT *, a - 2 * c AS d, 5e0 AS e FROM t)";
    let error = |arguments: &str| db.error(&format!("SELECT linear_regression(y, {arguments}) FROM {rows}")).to_string();
    assert_eq!(error("a, c, d"), "linear_regression: \"d\" is a combination of the columns before it");
    assert_eq!(error("a, e"), "linear_regression: \"e\" is constant, and so is the intercept");
    assert_eq!(error("[a, c, d]"), "linear_regression: element 3 of \"x1\" is a combination of the columns before it");
    assert_eq!(error("a, a + a"), "linear_regression: \"x2\" is a combination of the columns before it");
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
fn running_windows_have_covariances_and_frames_that_slide_are_refused() {
    let db = table();
    let running = db.rows("SELECT covariance_matrix(a, c) OVER (ORDER BY i) FROM t WHERE i <= 20 ORDER BY i");
    assert_eq!(running[0], "NULL");
    assert_close(&running[19], &db.value("SELECT covariance_matrix(a, c) FROM t WHERE i <= 20"), 1e-12);
    let error = db.error("SELECT covariance_matrix(a, c) OVER (ORDER BY i ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t").to_string();
    assert!(error.ends_with("is not supported"), "{error}");
}
