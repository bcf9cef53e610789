//! The numbers of a query: while it runs and at its end.

use futures::StreamExt;

use engine::{EngineOptions, StatementKind};

use super::helpers::{Db, numbers, options, wait};

#[test]
fn progress_grows_from_nothing_to_all_rows() {
    let db = Db::with(EngineOptions { threads: Some(1), ..options() });
    db.load("t", &[], &numbers(0, 200_000));
    wait(async {
        let mut output = db.session.execute("SELECT s FROM t").await.unwrap();
        assert_eq!((output.report().rows_scanned, output.report().rows_returned), (0, 0));
        let mut before = 0;
        while let Some(batch) = output.next().await {
            batch.unwrap();
            let report = output.report();
            assert!(report.rows_scanned >= before && report.rows_scanned <= report.rows_total, "{report:?}");
            before = report.rows_scanned;
        }
        let report = output.report();
        assert_eq!((report.rows_scanned, report.rows_total, report.rows_returned), (200_000, 200_000, 200_000));
    });
}

#[test]
fn time_stands_still_once_a_query_has_ended() {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 50_000));
    wait(async {
        let mut output = db.session.execute("SELECT sum(id) FROM t").await.unwrap();
        while output.next().await.is_some() {}
        let report = output.report();
        assert!(report.elapsed_ms >= report.planning_ms && report.planning_ms > 0.0, "{report:?}");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        assert_eq!(output.report(), report);
        assert!(output.next().await.is_none());
    });
}

#[test]
fn each_statement_says_what_kind_it_is() {
    let db = Db::new();
    for (sql, kind) in [
        ("CREATE TABLE t (a int)", StatementKind::Ddl),
        ("CREATE TABLE u AS SELECT 1 AS a", StatementKind::Write),
        ("INSERT INTO t VALUES (1)", StatementKind::Write),
        ("SELECT * FROM t", StatementKind::Query),
        ("EXPLAIN SELECT * FROM t", StatementKind::Query),
        ("SHOW TABLES", StatementKind::Query),
        ("DESCRIBE t", StatementKind::Query),
        ("SET threads = 2", StatementKind::Set),
        ("CREATE VIEW v AS SELECT 1 AS a", StatementKind::Ddl),
        ("DROP VIEW v", StatementKind::Ddl),
        ("DROP TABLE t", StatementKind::Ddl),
    ] {
        assert_eq!(db.run(sql).kind, kind, "{sql}");
    }
}

#[test]
fn every_write_yields_the_number_of_its_rows() {
    let db = Db::new();
    let csv = db.file("t.csv");
    for (sql, rows) in [
        ("CREATE TABLE t AS SELECT value AS a FROM generate_series(1, 10) AS g(value)".to_owned(), "10"),
        ("INSERT INTO t VALUES (1), (2)".to_owned(), "2"),
        ("INSERT INTO t SELECT a FROM t WHERE a > 5".to_owned(), "5"),
        ("INSERT INTO t SELECT a FROM t WHERE a > 500".to_owned(), "0"),
        (format!("COPY t TO '{csv}'"), "17"),
        (format!("COPY t FROM '{csv}'"), "17"),
        ("INSERT OVERWRITE t VALUES (1)".to_owned(), "1"),
    ] {
        let ran = db.run(&sql);
        assert_eq!((ran.rows(), ran.kind), (vec![rows.to_owned()], StatementKind::Write), "{sql}");
        assert_eq!(ran.batches[0].schema().field(0).data_type(), &arrow::datatypes::DataType::UInt64);
    }
}

#[test]
fn peak_memory_of_a_scan_is_little_and_of_a_group_by_is_not() {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 200_000));
    assert!(db.run("SELECT id FROM t WHERE id > 5").report.peak_memory_bytes < 1 << 20);
    assert!(db.run("SELECT r, count(*) FROM t GROUP BY r").report.peak_memory_bytes > 1 << 20);
}
