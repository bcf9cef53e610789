//! Who changes what, by whatever way rows come in.

use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, RecordBatch};
use engine::ErrorKind;
use engine::import::{FileScan, IfExists, IfMissing, IngestTarget, LoadMode, LoadOptions, ReadOptions};
use futures::stream;

use super::{User, house};
use crate::helpers::{Db, wait};

fn batch() -> RecordBatch {
    RecordBatch::try_from_iter([("a", Arc::new(Int32Array::from(vec![1, 2])) as ArrayRef)]).unwrap()
}

fn ingest(user: &User, table: &str, if_missing: IfMissing, if_exists: IfExists) -> Result<u64, engine::EngineError> {
    let target = IngestTarget { schema: None, table: table.into(), if_missing, if_exists };
    wait(user.session.ingest(target, batch().schema(), stream::iter([Ok(batch())])))
}

fn with_tables() -> Db {
    let db = house(&["bob"]);
    db.script("CREATE TABLE t (a INT); CREATE TABLE readable (a INT); GRANT SELECT ON readable TO bob");
    db
}

#[test]
fn batches_go_only_where_rows_may_be_inserted() {
    let db = with_tables();
    let bob = db.as_user("bob");
    let kind = |done: Result<u64, engine::EngineError>| done.unwrap_err().kind();
    assert_eq!(kind(wait(bob.session.append("t", &batch()))), ErrorKind::NotFound);
    assert_eq!(kind(wait(bob.session.append("readable", &batch()))), ErrorKind::Denied);
    assert_eq!(kind(ingest(&bob, "t", IfMissing::Fail, IfExists::Append)), ErrorKind::NotFound);
    assert_eq!(kind(ingest(&bob, "readable", IfMissing::Fail, IfExists::Append)), ErrorKind::Denied);
    assert_eq!(kind(ingest(&bob, "readable", IfMissing::Fail, IfExists::Replace)), ErrorKind::Denied);
    assert_eq!(kind(ingest(&bob, "made", IfMissing::Create, IfExists::Append)), ErrorKind::Denied);
    assert_eq!(kind(wait(bob.session.execute_rows("INSERT INTO readable VALUES ($1)", &batch()))), ErrorKind::Denied);
    assert!(wait(bob.session.execute_rows("INSERT INTO t VALUES ($1)", &batch())).is_err());
    assert_eq!(db.value("SELECT (SELECT count(*) FROM t) + (SELECT count(*) FROM readable)"), "0");
}

#[test]
fn rows_that_are_sent_are_written_down_with_the_schema_of_their_table() {
    let db = house(&["bob"]);
    db.script("CREATE SCHEMA hr; CREATE TABLE hr.t (a INT); CREATE TABLE t (a INT); GRANT INSERT ON hr.t TO bob; GRANT INSERT ON t TO bob");
    let bob = db.as_user("bob");
    for schema in [None, Some("main"), Some("hr")] {
        let target = IngestTarget {
            schema: schema.map(str::to_string),
            table: "t".into(),
            if_missing: IfMissing::Fail,
            if_exists: IfExists::Append,
        };
        wait(bob.session.ingest(target, batch().schema(), stream::iter([Ok(batch())]))).unwrap();
    }
    assert_eq!(db.rows("SELECT statement FROM system.audit"), ["INGEST INTO main.t", "INGEST INTO main.t", "INGEST INTO hr.t"]);
}

#[test]
fn a_table_that_is_not_seen_is_not_replaced_either() {
    let db = with_tables();
    db.run("INSERT INTO t VALUES (7)");
    db.script("CREATE VIEW v AS SELECT 7 AS x; GRANT CREATE ON SCHEMA main TO bob");
    let bob = db.as_user("bob");
    bob.denied("CREATE OR REPLACE TABLE t AS SELECT 1 AS a");
    bob.denied("CREATE OR REPLACE TABLE t (b INT)");
    bob.denied("CREATE OR REPLACE VIEW v AS SELECT 1 AS x");
    assert_eq!(ingest(&bob, "t", IfMissing::Create, IfExists::Replace).unwrap_err().kind(), ErrorKind::AlreadyExists);
    assert_eq!(bob.error("CREATE TABLE t (b INT)").kind(), ErrorKind::AlreadyExists);
    assert_eq!(db.rows("SELECT a, x FROM t, v"), ["7|7"]);
    // And what keeps it is not said.
    db.run("CREATE SNAPSHOT secret");
    assert!(!bob.denied("CREATE OR REPLACE TABLE t (b INT)").contains("secret"));
    assert!(db.error("CREATE OR REPLACE TABLE t (b INT)").to_string().contains("secret"));
}

#[test]
fn a_right_to_insert_holds_for_every_way_and_ends_for_every_way() {
    let db = with_tables();
    db.run("GRANT INSERT ON t TO bob");
    let bob = db.as_user("bob");
    bob.run("SET quiver.durability = 'async'");
    for _ in 0..3 {
        assert_eq!(wait(bob.session.append("t", &batch())).unwrap(), 2);
    }
    bob.run("INSERT INTO t VALUES (1)");
    bob.run("INSERT INTO t SELECT 1");
    assert_eq!(ingest(&bob, "t", IfMissing::Fail, IfExists::Append).unwrap(), 2);
    assert_eq!(wait(bob.session.execute_rows("INSERT INTO t VALUES ($1)", &batch())).unwrap(), 2);
    bob.run("PREPARE p(INT) AS INSERT INTO t SELECT $1");
    bob.run("EXECUTE p(1)");
    assert_eq!(db.value("SELECT count(*) FROM t"), "13");
    db.run("REVOKE INSERT ON t FROM bob");
    db.run("GRANT SELECT ON t TO bob");
    assert_eq!(wait(bob.session.append("t", &batch())).unwrap_err().kind(), ErrorKind::Denied);
    for sql in ["INSERT INTO t VALUES (1)", "INSERT INTO t SELECT 1", "EXECUTE p(1)"] {
        bob.denied(sql);
    }
    assert_eq!(db.value("SELECT count(*) FROM t"), "13");
}

#[test]
fn each_change_of_rows_needs_its_privilege() {
    let db = house(&["bob"]);
    db.script("CREATE TABLE t (a INT PRIMARY KEY, b INT); INSERT INTO t VALUES (1, 1); GRANT SELECT ON t TO bob");
    let bob = db.as_user("bob");
    let changes = [
        ("INSERT", "INSERT INTO t VALUES (2, 2)"),
        ("INSERT", "INSERT INTO t VALUES (1, 2) ON CONFLICT (a) DO NOTHING"),
        ("UPDATE", "UPDATE t SET b = 3 WHERE a = 1"),
        ("DELETE", "DELETE FROM t WHERE a = 2"),
        ("DELETE", "MERGE INTO t USING (SELECT 9 AS a) s ON t.a = s.a WHEN MATCHED THEN DELETE"),
        ("UPDATE", "MERGE INTO t USING (SELECT 1 AS a) s ON t.a = s.a WHEN MATCHED THEN UPDATE SET b = 4"),
        ("INSERT", "MERGE INTO t USING (SELECT 5 AS a) s ON t.a = s.a WHEN NOT MATCHED THEN INSERT (a) VALUES (s.a)"),
        ("TRUNCATE", "TRUNCATE t"),
    ];
    for (privilege, sql) in changes {
        assert!(bob.denied(sql).contains(&format!("the privilege {privilege} on table t")), "{sql}");
    }
    assert!(bob.denied("INSERT OVERWRITE t SELECT 1, 1").contains("INSERT"));
    db.run("GRANT INSERT ON t TO bob");
    assert!(bob.denied("INSERT OVERWRITE t SELECT 1, 1").contains("DELETE"));
    assert!(bob.denied("INSERT INTO t VALUES (1, 2) ON CONFLICT (a) DO UPDATE SET b = 9").contains("UPDATE"));
    db.run("GRANT ALL ON t TO bob");
    changes.iter().for_each(|(_, sql)| drop(bob.run(sql)));
    bob.denied("DROP TABLE t");
}

#[test]
fn files_are_read_and_written_by_who_was_granted_that_alone() {
    let db = house(&["bob"]);
    let path = db.file("rows.csv");
    std::fs::write(&path, "a\n1\n2\n").unwrap();
    db.script("CREATE TABLE t (a INT); GRANT ALL ON t TO bob; GRANT CREATE ON SCHEMA main TO bob");
    let bob = db.as_user("bob");
    let (from, to) = (format!("COPY t FROM '{path}'"), format!("COPY t TO '{}'", db.file("out.csv")));
    let external = format!("CREATE EXTERNAL TABLE e STORED AS CSV LOCATION '{path}' OPTIONS ('format.has_header' 'true')");
    let (read, call) = (format!("SELECT count(*) FROM '{path}'"), format!("SELECT count(*) FROM read_csv('{path}')"));
    for sql in [&from, &to, &external, &read, &call] {
        assert!(bob.denied(sql).contains("GRANT FILES TO bob"), "{sql}");
    }
    let load = || LoadOptions { namespace: "main".into(), table: "t".into(), order_by: vec![], mode: LoadMode::Append };
    let scan = || FileScan::open(std::slice::from_ref(&path), ReadOptions::default()).unwrap();
    assert_eq!(wait(bob.session.import(load(), scan())).unwrap_err().kind(), ErrorKind::Denied);
    assert!(!std::path::Path::new(&db.file("out.csv")).exists());
    db.run("GRANT FILES TO bob");
    for sql in [&from, &to, &external, &read, &call] {
        bob.run(sql);
    }
    assert_eq!(wait(bob.session.import(load(), scan())).unwrap().rows, 2);
    assert_eq!(bob.rows("SELECT count(*) FROM e"), ["2"]);
    db.run("REVOKE FILES FROM bob");
    bob.denied(&from);
    bob.denied(&read);
    assert_eq!(bob.rows("SELECT count(*) FROM e"), ["2"], "whoever made the table had the right to read its files");
}
