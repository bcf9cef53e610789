//! What `kmeans` refuses, and how it ends before its time.

use super::{of_vectors, points, vectors};
use crate::cancel::{filled, stops};
use crate::helpers::{Db, nullable, run, small_memory, wait};

#[test]
fn calls_that_make_no_sense_are_refused_with_what_was_found() {
    let (db, _) = of_vectors(10, 2);
    db.run("CREATE TABLE other (s TEXT, n BIGINT, r DOUBLE[], i BIGINT[])");
    db.run("INSERT INTO other VALUES ('a', 1, [1.0], [1]), ('b', 2, [1.0, 2.0], [2])");
    for (call, message) in [
        ("kmeans('t', 'x', 11, 3)", "kmeans cannot make 11 clusters of 10 rows"),
        ("kmeans('t', 'x', 0, 3)", "k of kmeans must be from 1 to 4294967295, not 0"),
        ("kmeans('t', 'x', -1, 3)", "k of kmeans must be from 1 to 4294967295, not -1"),
        ("kmeans('t', 'x', k => 2)", "kmeans has neither iterations nor a tolerance"),
        ("kmeans('t', 'x', iterations => 2)", "kmeans lacks k, the number of clusters"),
        ("kmeans('t', 2, 3)", "kmeans lacks the columns"),
        ("kmeans('t', 'y', 2, 3)", "column \"y\" does not exist"),
        ("kmeans('other', 's', 2, 3)", "column \"s\" has neither numbers nor vectors of DOUBLE or REAL: it is VARCHAR"),
        ("kmeans('other', 'i', 2, 3)", "column \"i\" has neither numbers nor vectors of DOUBLE or REAL: it is BIGINT[]"),
        (
            "kmeans('other', 'n', 'r', 2, 3)",
            "kmeans takes one column of vectors alone, or columns of numbers, and \"r\" is DOUBLE[] beside \"n\"",
        ),
        ("kmeans('other', 'r', 1, 3)", "kmeans takes vectors of one length, and finds one of 1 number and one of 2"),
        ("kmeans('t', 'x', 2, 3, 'forgy')", "init of kmeans cannot be the text 'forgy'"),
        ("kmeans('t', 'x', k => 2, times => 3)", "kmeans has no argument \"times\""),
        ("kmeans('t', 'x', k => 2, k => 3, iterations => 1)", "kmeans has the argument k twice"),
        ("kmeans('t', 'x', k => 2, 3)", "kmeans has 3 behind arguments with names"),
        ("kmeans('t', 'x', 3, 1, [[1.0, 2.0]])", "k of kmeans is 3, and init has 1 centroid"),
        ("kmeans('t', 'x', 1, 1, [[1.0]])", "init of kmeans has centroids of 1 number, and the points have 2"),
        ("kmeans('t', 'x', 2, 1, [[1.0, 2.0], [1.0]])", "kmeans takes lists of one length, and list 2 has 1 number where the first has 2"),
        ("kmeans(3, 'x', 2, 1)", "argument 1 of kmeans must be the name of a table, not 3"),
        ("kmeans()", "kmeans lacks argument 1, the name of a table"),
        ("kmeans(t, 'x', 2, 1)", "argument 1 of kmeans must be the name of a table, not the name t without quotes"),
        ("kmeans('t', x, 2, 1)", "kmeans takes constants, and its argument 2 is the name x without quotes"),
        ("kmeans('t', 'x', 2, 1, (SELECT [[1.0, 2.0]]))", "kmeans takes constants, and its argument 5 is a subquery"),
        ("kmeans('t', 'x', k => 2, iterations => (SELECT 3))", "kmeans takes constants, and its argument iterations is a subquery"),
        ("kmeans('t', 'x', 2, 1, random())", "kmeans takes constants, and its argument 5 is a call of random"),
        ("kmeans('t', 'x', 2.5, 1)", "k of kmeans must be a whole number, not 2.5"),
        ("kmeans('t', 'x', [2], 1)", "k of kmeans must be a whole number, not a list, BIGINT[]"),
    ] {
        assert_eq!(db.error(&format!("SELECT * FROM {call}")).to_string(), message, "{call}");
    }
    let error = db.error("SELECT * FROM generate_series(start => 1, stop => 3)").to_string();
    assert!(error.contains("argument"), "{error}");
}

#[test]
fn tables_without_rows_are_refused() {
    let db = Db::new();
    db.run("CREATE TABLE t (x DOUBLE[2], a DOUBLE)");
    for rows in 0..2 {
        for column in ["x", "a"] {
            let error = db.error(&format!("SELECT * FROM kmeans('t', '{column}', 1, 3)")).to_string();
            assert_eq!(error, "kmeans finds no rows: there is none, or each has a NULL", "{column}, {rows} rows");
        }
        db.run("INSERT INTO t VALUES (NULL, NULL)");
    }
}

#[test]
fn rows_that_are_not_finite_are_counted() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let db = Db::new();
        let mut points = points(1_000, 2, 1);
        points[20] = bad;
        points[21] = bad;
        points[901] = bad;
        db.load("t", &[], &nullable([("x", vectors(&points, 2))]));
        for call in ["kmeans('t', 'x', 3, 4)", "kmeans('t', 'x', 3, 4, 'random')", "kmeans('t', 'x', 2, 1, [[0.0, 0.0], [5.0, 5.0]])"] {
            let error = db.error(&format!("SELECT * FROM {call}")).to_string();
            assert_eq!(error, "kmeans takes finite numbers, and 2 of 1000 rows have NaN or infinity", "{call} with {bad}");
        }
        let error = db.error("SELECT kmeans_step(x, [[0.0, 0.0]]) FROM t").to_string();
        assert_eq!(error, "kmeans_step takes finite numbers, and 2 of 1000 rows have NaN or infinity", "{bad}");
    }
    let db = Db::new();
    db.load("t", &[], &nullable([("x", vectors(&[1e200, 0.0, -1e200, 0.0], 2))]));
    let error = db.error("SELECT * FROM kmeans('t', 'x', 1, 1)").to_string();
    assert!(error.starts_with("the numbers are too large for kmeans"), "{error}");
}

#[test]
fn copies_and_centroids_stay_within_the_memory_of_the_query() {
    let db = Db::with(small_memory(24));
    db.load("t", &[], &nullable([("x", vectors(&points(500_000, 8, 1), 8))]));
    db.run("SET precopy = 'on'");
    let error = db.error("SELECT * FROM kmeans('t', 'x', init => [[0,0,0,0,0,0,0,0]], iterations => 3)").to_string();
    assert!(error.contains("memory limit") && error.contains("kmeans"), "{error}");
    db.run("SET precopy = 'auto'");
    let ran = db.run("SELECT size FROM kmeans('t', 'x', init => [[0,0,0,0,0,0,0,0]], iterations => 2)");
    assert_eq!(ran.rows(), ["500000"]);
    assert!(ran.report.peak_memory_bytes < 8 << 20, "rows that are mapped take no memory: {}", ran.report.peak_memory_bytes);
    let error = db.error("SELECT * FROM kmeans('t', 'x', 100000, 3, 'random')").to_string();
    assert!(error.contains("memory limit"), "{error}");
}

#[test]
fn a_user_clusters_only_what_it_may_read() {
    let (db, _) = of_vectors(100, 2);
    db.script("CREATE USER ann PASSWORD 'pw'; CREATE VIEW v AS SELECT * FROM t");
    let session = db.engine.session_as(&db.engine.identity("ann").unwrap()).unwrap();
    let as_ann = |sql: &str| wait(run(&session, sql));
    for table in ["t", "v"] {
        let call = as_ann(&format!("SELECT size FROM kmeans('{table}', 'x', 1, 1)")).unwrap_err();
        assert_eq!(call.to_string(), as_ann(&format!("SELECT * FROM {table}")).unwrap_err().to_string());
    }
    db.run("GRANT INSERT ON t TO ann");
    let call = as_ann("SELECT size FROM kmeans('t', 'x', 1, 1)").unwrap_err();
    assert_eq!(call.to_string(), as_ann("SELECT * FROM t").unwrap_err().to_string());
    db.run("GRANT SELECT ON t TO ann");
    assert_eq!(as_ann("SELECT size FROM kmeans('t', 'x', 1, 1)").unwrap().rows(), ["100"]);
}

#[test]
fn clustering_that_nobody_waits_for_stops() {
    let db = filled();
    db.load("p", &[], &nullable([("x", vectors(&points(200_000, 16, 4), 16))]));
    for (name, init) in [("q-lloyd", "random"), ("q-plusplus", "kmeans++")] {
        stops(&db, name, &format!("SELECT * FROM kmeans('p', 'x', k => 3000, iterations => 1000000, init => '{init}')"));
    }
}
