//! Infinities and the one NaN; `sqllogictests/slt/floats.slt` has what SQL alone shows.

use super::helpers::Db;

#[test]
fn a_nan_with_a_sign_is_stored_as_the_one_that_is_greater_than_all() {
    let db = Db::new();
    let values = arrow::array::Float64Array::from(vec![-f64::NAN, 1.0]);
    let rows = arrow::array::RecordBatch::try_from_iter([("d", std::sync::Arc::new(values) as arrow::array::ArrayRef)]).unwrap();
    db.load("t", &[], &rows);
    assert_eq!(db.value("SELECT count(*) FROM t WHERE d > 5"), "1");
}

#[test]
fn percentiles_of_floats_know_infinities_and_nan() {
    let db = Db::new();
    db.run("CREATE TABLE x (g int, f double)");
    db.run("INSERT INTO x VALUES (1, '-inf'), (2, 'NaN'), (2, '1'), (3, '-inf'), (3, 'inf'), (4, '1'), (4, '2')");
    let by_group = |percentile: &str| {
        db.rows(&format!("SELECT g, percentile_cont({percentile}) WITHIN GROUP (ORDER BY f) FROM x GROUP BY g ORDER BY g"))
    };
    assert_eq!(by_group("1.0"), ["1|-inf", "2|NaN", "3|inf", "4|2.0"]);
    assert_eq!(by_group("0.0"), ["1|-inf", "2|1.0", "3|-inf", "4|1.0"]);
    assert_eq!(by_group("0.5")[3], "4|1.5");
    assert_eq!(db.value("SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY f) > 0 FROM x WHERE g = 3"), "true");
}

/// A DOUBLE whose digits, as a decimal and divided by a power of ten, were another one.
const WRITTEN: &str = "-22.632464605522294";

#[test]
fn a_double_that_is_written_with_all_its_digits_is_stored_and_found() {
    let db = Db::new();
    for (direct, values) in [(true, format!("({WRITTEN})")), (false, format!("({WRITTEN})")), (true, format!("(1.5 - 1.5 + {WRITTEN})"))] {
        db.run("CREATE OR REPLACE TABLE t (x DOUBLE, y DOUBLE DEFAULT -22.632464605522294, z DOUBLE[], CHECK (y = -22.632464605522294))");
        db.run(&format!("SET quiver.direct_inserts = {direct}"));
        db.run(&format!("INSERT INTO t (x) VALUES {values}"));
        db.run(&format!("UPDATE t SET z = [{WRITTEN}, 0.5]"));
        assert_eq!(db.rows("SELECT * FROM t"), [format!("{WRITTEN}|{WRITTEN}|[{WRITTEN}, 0.5]")], "{direct} {values}");
        for predicate in ["x = #", "x IN (#, 1.5)", "x BETWEEN # AND #", "NOT x > #", "z[1] = #", "x = CAST('#' AS DOUBLE)"] {
            let predicate = predicate.replace('#', WRITTEN);
            assert_eq!(db.value(&format!("SELECT count(*) FROM t WHERE {predicate}")), "1", "{predicate}");
        }
    }
}

#[test]
fn casts_of_decimals_are_the_nearest_floats_in_constants_columns_and_lists() {
    let db = Db::new();
    db.run("CREATE TABLE d (narrow DECIMAL(17,15), wide DECIMAL(38,20), huge DECIMAL(76,30), l DECIMAL(17,15)[])");
    db.run(&format!("INSERT INTO d VALUES ({WRITTEN}, {WRITTEN}, {WRITTEN}, [{WRITTEN}, NULL]), (NULL, NULL, NULL, NULL)"));
    for column in ["narrow", "wide", "huge", "l[1]", WRITTEN, "(1.5 - 1.5 + -22.632464605522294)"] {
        let found = db.rows(&format!("SELECT {column}::double, TRY_CAST({column} AS DOUBLE), {column}::real FROM d WHERE narrow < 0"));
        assert_eq!(found, [format!("{WRITTEN}|{WRITTEN}|-22.632465")], "{column}");
    }
    assert_eq!(db.rows("SELECT narrow::double FROM d ORDER BY 1"), [WRITTEN, "NULL"]);
    assert_eq!(db.value(&format!("SELECT count(*) FROM d WHERE narrow = CAST('{WRITTEN}' AS DOUBLE)")), "1");
    let list = format!("[{WRITTEN}, NULL]");
    for cast in ["l::double[]", "l::double[2]", "CAST([-22.632464605522294, NULL] AS DOUBLE[])", "[-22.632464605522294, NULL]::double[2]"] {
        assert_eq!(db.value(&format!("SELECT {cast} FROM d WHERE narrow < 0")), list, "{cast}");
    }
    assert_eq!(db.value("SELECT CAST({a: -22.632464605522294} AS STRUCT<a DOUBLE>)"), format!("{{a: {WRITTEN}}}"));
    // Half way between two REALs as a double, and a little less as it is written.
    assert_eq!(db.value("SELECT 1.000000059604644775390624::real = 1::real AND 1.000000059604644775390626::real > 1::real"), "true");
}

#[test]
fn kernels_take_the_doubles_that_are_written() {
    let db = Db::new();
    db.run("CREATE TABLE t AS SELECT CAST('22.632464605522294' AS DOUBLE) AS x");
    assert_eq!(db.value("SELECT histogram(x, [0, 22.632464605522294, 30]) FROM t"), "[0, 1]");
    // As it was assigned, before the centroid moves.
    let inertia = "SELECT inertias[1] FROM kmeans('t', 'x', init => [[22.632464605522294]], iterations => 1)";
    assert_eq!(db.value(inertia), "0.0");
    assert_eq!(db.value("SELECT l2_distance([x, 0], [22.632464605522294, 0]) FROM t"), "0.0");
}
