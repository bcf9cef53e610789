//! What kernels say of arguments that mean nothing: names in texts, and calls that are there twice.

use crate::helpers::Db;

fn db() -> Db {
    let db = Db::new();
    db.script(
        "CREATE SCHEMA s2;
         CREATE TABLE \"M X\" (i BIGINT, j BIGINT, block TENSOR(DOUBLE, 1, 1));
         CREATE TABLE \"a.b\" (i BIGINT, j BIGINT, block TENSOR(DOUBLE, 1, 1));
         CREATE TABLE s2.\"Their X\" (i BIGINT, j BIGINT, block TENSOR(DOUBLE, 1, 1));
         CREATE TABLE s2.plain (i BIGINT, j BIGINT, block TENSOR(DOUBLE, 1, 1));
         INSERT INTO \"M X\" VALUES (0, 0, [1]);
         INSERT INTO \"a.b\" VALUES (0, 0, [2]);
         INSERT INTO s2.\"Their X\" VALUES (0, 0, [3]);
         INSERT INTO s2.plain VALUES (0, 0, [4]);
         CREATE TABLE t (\"My Col\" DOUBLE, x DOUBLE, v DOUBLE[2], s VARCHAR);
         INSERT INTO t VALUES (1, 1, [1, 2], 'a'), (2, 5, [3, 4], 'b')",
    );
    db
}

#[test]
fn a_table_is_named_as_in_from_or_by_its_very_name() {
    let db = db();
    for (name, norm) in [
        ("M X", "1.0"),
        ("\"M X\"", "1.0"),
        ("main.M X", "1.0"),
        ("MAIN.\"M X\"", "1.0"),
        ("a.b", "2.0"),
        ("\"a.b\"", "2.0"),
        ("main.\"a.b\"", "2.0"),
        ("s2.Their X", "3.0"),
        ("s2.\"Their X\"", "3.0"),
        ("S2.Their X", "3.0"),
        ("quiver.s2.\"Their X\"", "3.0"),
        ("quiver.s2.Their X", "3.0"),
        ("QUIVER.S2.Their X", "3.0"),
        ("s2.plain", "4.0"),
        ("S2.PLAIN", "4.0"),
        ("s2.\"plain\"", "4.0"),
    ] {
        assert_eq!(db.value(&format!("SELECT max_norm FROM matrix_norm('{name}')")), norm, "{name}");
    }
}

#[test]
fn a_table_that_is_not_there_is_shown_as_its_name_was_read() {
    let db = db();
    let error_parts = |name: &str| {
        let error = db.error(&format!("SELECT * FROM matrix_norm('{name}')"));
        (error.to_string(), error.hint().unwrap_or_default().to_string())
    };
    for (name, message, read) in [
        ("s2.Far Off", "table \"s2.Far Off\" does not exist", "'s2.Far Off' was read as the table \"Far Off\" of the schema s2;"),
        ("Nobody", "table \"nobody\" does not exist", "'Nobody' was read as the table nobody;"),
        ("\"No Body\"", "table \"No Body\" does not exist", "'\"No Body\"' was read as the table \"No Body\";"),
        ("S2.PLANE", "table \"s2.plane\" does not exist", "'S2.PLANE' was read as the table plane of the schema s2;"),
        ("1abc", "table \"1abc\" does not exist", "'1abc' was read as the table \"1abc\";"),
    ] {
        let (found, hint) = error_parts(name);
        assert_eq!(found, message, "{name}");
        assert!(hint.starts_with(read) && hint.contains("double quotes"), "{name}: {hint}");
    }
    // A name that is near says more than how this one was read.
    for (name, near) in [("Plan", "plain"), ("S2.Plaine", "plain"), ("s2.My X", "M X"), ("quiver.s2.Theirs X", "Their X")] {
        assert_eq!(error_parts(name).1, format!("did you mean \"{near}\"?"), "{name}");
    }
    // What reads in one way alone is said as FROM says it.
    assert_eq!(error_parts("s2.plan"), ("table \"s2.plan\" does not exist".to_string(), "did you mean \"plain\"?".to_string()));
    assert_eq!(error_parts("s2.plan").0, db.error("SELECT * FROM s2.plan").to_string());
}

#[test]
fn a_column_is_named_with_quotes_or_without() {
    let db = db();
    for column in ["My Col", "\"My Col\"", "X", "\"x\""] {
        assert_eq!(db.value(&format!("SELECT sum(size) FROM kmeans('t', '{column}', 1, 1)")), "2", "{column}");
    }
    for (first, second, name) in
        [("x", "x", "x"), ("x", "\"x\"", "x"), ("X", "x", "x"), ("My Col", "\"My Col\"", "My Col"), ("v", "\"v\"", "v")]
    {
        let error = db.error(&format!("SELECT * FROM kmeans('t', '{first}', '{second}', 1, 1)"));
        assert_eq!(error.to_string(), format!("kmeans names the column \"{name}\" twice"), "{first} and {second}");
    }
    for column in ["my col", "\"my col\""] {
        let error = db.error(&format!("SELECT * FROM kmeans('t', '{column}', 1, 1)"));
        assert_eq!((error.to_string().as_str(), error.hint()), ("column \"my col\" does not exist", Some("did you mean \"My Col\"?")));
    }
}

#[test]
fn a_vector_beside_a_number_is_refused_with_a_way_to_take_both() {
    let db = db();
    let error = db.error("SELECT * FROM kmeans('t', 'x', 'v', 1, 1)");
    assert_eq!(error.to_string(), "kmeans takes one column of vectors alone, or columns of numbers, and \"v\" is DOUBLE[2] beside \"x\"");
    assert_eq!(error.hint(), Some("name one column alone, or make one vector of both in a view: array_append(v, x)"));
    db.run("CREATE VIEW both_columns AS SELECT array_append(v, x) AS v FROM t");
    assert_eq!(db.value("SELECT centroid FROM kmeans('both_columns', 'v', 1, 1)"), "[2.0, 3.0, 3.0]");
}

#[test]
fn a_wrong_call_that_is_there_twice_is_said_as_one_that_is_there_once() {
    let db = db();
    for call in ["linear_regression(x)", "dot(v, s)", "quantile_cont(s, 0.5)", "sum(s)", "linear_regression(x) OVER (ORDER BY x)"] {
        let once = db.error(&format!("SELECT {call} FROM t")).to_string();
        assert_eq!(db.error(&format!("SELECT {call}, {call} FROM t")).to_string(), once, "{call}");
        assert_eq!(db.error(&format!("SELECT *, {call}, {call} FROM t")).to_string(), once, "{call} beside all columns");
    }
}

#[test]
fn matrices_of_whole_numbers_are_refused_with_the_cast_that_makes_them_double() {
    let db = Db::new();
    db.run("CREATE TABLE w (i BIGINT, j BIGINT, block TENSOR(INTEGER, 2, 2))");
    db.run("INSERT INTO w VALUES (0, 0, [1, 2, 3, 4])");
    for call in ["matrix_transpose(block)", "matrix_vector(block, [1, 2])", "matrix_multiply(block, block)"] {
        let error = db.error(&format!("SELECT {call} FROM w"));
        assert!(error.to_string().ends_with(" takes matrices of DOUBLE or REAL, and not TENSOR(INTEGER, 2, 2)"), "{error}");
        assert_eq!(error.hint(), Some("CAST(x AS TENSOR(DOUBLE, 2, 2)) makes such a matrix of it"));
    }
    let error = db.error("SELECT sum_product(block, block) FROM w").to_string();
    assert_eq!(error, "sum_product: it takes matrices of DOUBLE or REAL, and was given TENSOR(INTEGER, 2, 2)");
    let error = db.error("SELECT * FROM matrix_norm('w')");
    assert_eq!(error.hint(), Some("cast them in a view, or when they are stored: CAST(block AS TENSOR(DOUBLE, 2, 2)) AS block"));
    db.run("CREATE VIEW d AS SELECT i, j, CAST(block AS TENSOR(DOUBLE, 2, 2)) AS block FROM w");
    assert_eq!(db.value("SELECT max_norm FROM matrix_norm('d')"), "4.0");
}
