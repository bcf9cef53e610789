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

/// Decimals of 18 to 26 digits, 15 of them behind the point, and the same digits as DOUBLEs read by the standard library.
fn long_decimals() -> Db {
    let db = Db::new();
    let mut state = 0x5eed_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    let rows: Vec<(String, f64)> = (0..200)
        .map(|row| {
            let digits: String =
                (0..17 + row % 9).map(|place| char::from(b'0' + (next() % if place == 0 { 9 } else { 10 }) as u8)).collect();
            let (whole, fraction) = digits.split_at(digits.len() - 15);
            let written = format!("{}1{whole}.{fraction}", if row % 2 == 0 { "" } else { "-" });
            let double = written.parse().unwrap();
            (written, double)
        })
        .collect();
    db.run("CREATE TABLE t (k INT, m DECIMAL(30,15), h DECIMAL(60,15), x DOUBLE)");
    let values: Vec<String> = rows.iter().enumerate().map(|(k, (text, _))| format!("({k}, {text}, {text}, '{text}')")).collect();
    db.run(&format!("INSERT INTO t VALUES {}", values.join(", ")));
    let doubles: Vec<String> = rows.iter().map(|(_, double)| format!("{double:?}")).collect();
    assert_eq!(db.rows("SELECT x FROM t ORDER BY k"), doubles);
    db
}

fn assert_none_differs(db: &Db, query: &str) {
    assert_eq!(db.value(&format!("SELECT count(*) FROM ({query}) AS q JOIN t USING (k) WHERE d IS DISTINCT FROM x")), "0", "{query}");
    assert_eq!(db.value(&format!("SELECT count(DISTINCT k) FROM ({query}) AS q")), "200", "{query}");
}

#[test]
fn a_decimal_of_any_kind_becomes_the_double_that_its_digits_are_wherever_it_does() {
    let db = long_decimals();
    let exprs = [
        "CAST(# AS DOUBLE)",
        "TRY_CAST(# AS DOUBLE)",
        "arrow_cast(#, 'Float64')",
        "CAST([#] AS DOUBLE[])[1]",
        "TRY_CAST([#] AS DOUBLE[])[1]",
        "CAST([#] AS DOUBLE[1])[1]",
        "CAST({a: [#]} AS STRUCT<a DOUBLE[]>)['a'][1]",
        "TRY_CAST([{a: #}] AS STRUCT<a DOUBLE>[])[1]['a']",
        "arrow_cast(#, 'Dictionary(Int32, !)')::double",
        "TRY_CAST(arrow_cast(#, 'Dictionary(Int32, !)') AS DOUBLE)",
        "arrow_cast(#, 'Dictionary(Int32, !)') + 0e0",
        "([arrow_cast(#, 'Dictionary(Int32, !)')]::double[])[1]",
        "arrow_cast(arrow_cast(#, 'Dictionary(Int32, !)'), 'Dictionary(Int32, Float64)')",
        "# * 1e0",
        "coalesce(NULL::double, #)",
        "CASE WHEN k < 0 THEN x ELSE # END",
        "greatest(#, '-inf'::double)",
        "power(#, 1)",
        "[x, #][2]",
        "sum(#) OVER (PARTITION BY k)::double",
        "lag(CAST(# AS DOUBLE), 0) OVER (ORDER BY k)",
    ];
    for (column, kind) in [("m", "Decimal128(30, 15)"), ("h", "Decimal256(60, 15)")] {
        for expr in exprs {
            assert_none_differs(&db, &format!("SELECT k, {} AS d FROM t", expr.replace('#', column).replace('!', kind)));
        }
        for predicate in ["# = x", "x IN (#)", "x IN (#, 1, 2, 3, 4)", "x BETWEEN # AND #", "[#] = [x]", "array_position([x], #) = 1"] {
            let predicate = predicate.replace('#', column);
            assert_eq!(db.value(&format!("SELECT count(*) FROM t WHERE {predicate}")), "200", "{predicate}");
        }
        for function in ["sqrt(abs(#))", "log(abs(#))", "log(2, abs(#))", "ln(abs(#))", "cbrt(#)", "atan(#)", "power(#, 2)"] {
            let differ = format!("{} IS DISTINCT FROM {}", function.replace('#', column), function.replace('#', "x"));
            assert_eq!(db.value(&format!("SELECT count(*) FROM t WHERE {differ}")), "0", "{differ}");
        }
    }
}

#[test]
fn decimals_in_grouping_sets_become_the_nearest_doubles_and_the_columns_keep_their_names() {
    let db = long_decimals();
    for sets in ["ROLLUP (k, #)", "CUBE (k, #)", "GROUPING SETS ((k, #), (k), ())"] {
        for expr in ["CAST(m AS DOUBLE)", "m + 0e0", "TRY_CAST(h AS DOUBLE)", "CAST([CAST(m AS DOUBLE)] AS DOUBLE[])[1]"] {
            let sets = sets.replace('#', expr);
            assert_none_differs(&db, &format!("SELECT k, {expr} AS d FROM t GROUP BY {sets} HAVING grouping(k) + grouping({expr}) = 0"));
        }
    }
    db.run("CREATE TABLE one AS SELECT * FROM t WHERE k = 0");
    let found = db.rows("SELECT m::double, k, grouping(m::double), count(*) FROM one GROUP BY CUBE (m::double, k) ORDER BY 3, 2");
    let x = db.value("SELECT x FROM one");
    assert_eq!(found, [format!("{x}|0|0|1"), format!("{x}|NULL|0|1"), "NULL|0|1|1".to_string(), "NULL|NULL|1|1".to_string()]);
}

#[test]
fn decimals_that_are_written_into_double_columns_are_the_nearest() {
    let db = long_decimals();
    let create = "CREATE OR REPLACE TABLE u (k INT, d DOUBLE, l DOUBLE[], v DOUBLE[1])";
    for column in ["m", "h"] {
        for statements in [
            "INSERT INTO u SELECT k, #, [#], [#] FROM t",
            "INSERT INTO u (k) SELECT k FROM t; UPDATE u SET d = t.#, l = [t.#], v = [t.#] FROM t WHERE t.k = u.k",
            "MERGE INTO u USING t ON u.k = t.k WHEN NOT MATCHED THEN INSERT VALUES (t.k, t.#, [t.#], [t.#])",
            "INSERT INTO u (k) SELECT k FROM t; MERGE INTO u USING t ON u.k = t.k WHEN MATCHED THEN UPDATE SET d = t.#, l = [t.#], v = [t.#]",
        ] {
            db.run(create);
            for statement in statements.replace('#', column).split("; ") {
                db.run(statement);
            }
            for read in ["d", "l[1]", "v[1]"] {
                assert_none_differs(&db, &format!("SELECT k, {read} AS d FROM u"));
            }
        }
        db.run(&format!("CREATE OR REPLACE TABLE u AS SELECT k, [{column}]::double[] AS l FROM t"));
        assert_none_differs(&db, "SELECT k, l[1] AS d FROM u");
    }
}

#[test]
fn decimals_of_files_whose_columns_are_declared_double_are_the_nearest() {
    let db = long_decimals();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("decimals.parquet");
    db.run(&format!("COPY (SELECT k, m AS d, [h] AS l, {{a: m}} AS s FROM t) TO '{}'", path.display()));
    let columns = "k INT, d DOUBLE, l DOUBLE[], s STRUCT<a DOUBLE>";
    db.run(&format!("CREATE EXTERNAL TABLE files ({columns}) STORED AS PARQUET LOCATION '{}'", path.display()));
    db.run(&format!("CREATE TABLE u ({columns})"));
    db.run(&format!("COPY u FROM '{}'", path.display()));
    for table in ["files", "u"] {
        for read in ["d", "l[1]", "s['a']"] {
            assert_none_differs(&db, &format!("SELECT k, {read} AS d FROM {table}"));
        }
        assert_eq!(db.value(&format!("SELECT count(*) FROM t JOIN {table} AS f USING (k) WHERE f.d = t.x")), "200");
        let x = db.value("SELECT x FROM t WHERE k = 7");
        assert_eq!(db.value(&format!("SELECT count(*) FROM {table} WHERE d = CAST('{x}' AS DOUBLE) AND d IN (1.5, {x})")), "1");
    }
}

const SMALL: &str = "0.00000000000000000001";
const GREAT: &str = "1234567890123456789012.5";

#[test]
fn numbers_of_very_different_sizes_keep_all_their_digits() {
    let db = Db::new();
    db.run("CREATE TABLE c (k INT, m DECIMAL(38,20))");
    db.run(&format!("INSERT INTO c VALUES (1, {SMALL}), (2, NULL)"));
    let great = "1234567890123456789012.50000000000000000000";
    for (query, expected) in [
        (format!("SELECT [{SMALL}, {GREAT}]"), format!("[{SMALL}, {great}]")),
        (format!("SELECT [[{SMALL}], [1.5, -{GREAT}]]"), format!("[[{SMALL}], [1.50000000000000000000, -{great}]]")),
        (format!("SELECT [{SMALL}, 9223372036854775807]"), format!("[{SMALL}, 9223372036854775807.00000000000000000000]")),
        (format!("SELECT max(x) FROM (VALUES ({SMALL}), ({GREAT})) AS v(x)"), great.to_string()),
        (format!("SELECT max(x) FROM (SELECT {SMALL} AS x UNION ALL SELECT 1.5 UNION ALL SELECT {GREAT}) AS u"), great.to_string()),
        (format!("SELECT CASE WHEN k = 1 THEN m ELSE {GREAT} END FROM c WHERE k = 2"), great.to_string()),
        (format!("SELECT CASE WHEN k = 1 THEN m ELSE {GREAT} END FROM c WHERE k = 1"), SMALL.to_string()),
        (format!("SELECT coalesce(m, {GREAT}) FROM c WHERE k = 2"), great.to_string()),
        (format!("SELECT greatest(m, {GREAT}) FROM c WHERE k = 1"), great.to_string()),
        (format!("SELECT m + {GREAT} FROM c WHERE k = 1"), "1234567890123456789012.50000000000000000001".to_string()),
        (format!("SELECT count(*) FROM c WHERE m IN ({GREAT}, {SMALL})"), "1".to_string()),
        (format!("SELECT count(*) FROM c WHERE m < {GREAT} AND m <> {GREAT} AND m BETWEEN -{GREAT} AND {GREAT}"), "1".to_string()),
        (format!("SELECT CASE m WHEN {GREAT} THEN 'great' ELSE 'small' END FROM c WHERE k = 1"), "small".to_string()),
        (format!("SELECT [{SMALL}, {GREAT}]::double[]"), "[1e-20, 1.2345678901234568e21]".to_string()),
    ] {
        assert_eq!(db.rows(&query), [expected], "{query}");
    }
}

#[test]
fn a_list_has_room_for_a_number_of_sixty_digits_behind_the_point() {
    let db = Db::new();
    let tiny = format!("0.{}1", "0".repeat(59));
    assert_eq!(db.value(&format!("SELECT [{tiny}, 1.5][2]")), format!("1.5{}", "0".repeat(59)));
    assert_eq!(db.value(&format!("SELECT [{tiny}e0, {GREAT}]")), "[1e-60, 1.2345678901234568e21]");
}

#[test]
fn a_number_longer_than_every_decimal_is_refused_and_a_double_with_an_exponent() {
    let db = Db::new();
    let zeros = "0".repeat(77);
    for number in [format!("0.{zeros}1"), format!("1{zeros}.5"), format!("1{zeros}")] {
        let error = db.error(&format!("SELECT {number}"));
        assert!(error.to_string().contains("digits is no DECIMAL, which has 76 at most"), "{error}");
        assert!(error.hint().is_some_and(|hint| hint.contains("put e0 behind it")), "{error}");
    }
    assert_eq!(db.value(&format!("SELECT 0.{zeros}1e0")), "1e-78");
    assert_eq!(db.value(&format!("SELECT {zeros}1")), "1");
}
