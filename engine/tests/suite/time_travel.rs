//! Tables as they were: FOR VERSION AS OF and FOR SYSTEM_TIME AS OF.

use super::helpers::{Db, numbers};

pub fn version(db: &Db) -> u64 {
    db.engine.store().snapshot().unwrap().version()
}

/// Table `t`, of `a` from 1 on, at three versions: 1 to 3; without 2; 10 and 20.
fn three_versions() -> (Db, [u64; 3]) {
    let db = Db::new();
    db.script("CREATE TABLE t (a BIGINT, b VARCHAR); INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, 'three')");
    let first = version(&db);
    db.run("DELETE FROM t WHERE a = 2");
    let second = version(&db);
    db.run("INSERT OVERWRITE t VALUES (10, 'ten'), (20, 'twenty')");
    let third = version(&db);
    (db, [first, second, third])
}

#[test]
fn a_table_is_read_as_it_was_at_a_version() {
    let (db, [first, second, third]) = three_versions();
    let check = |db: &Db| {
        let at = |version: u64| db.rows(&format!("SELECT a FROM t FOR VERSION AS OF {version} ORDER BY a"));
        assert_eq!(at(first), ["1", "2", "3"]);
        assert_eq!(at(second), ["1", "3"]);
        assert_eq!(at(third), ["10", "20"]);
        assert_eq!(db.rows("SELECT a FROM t ORDER BY a"), ["10", "20"]);
    };
    check(&db);
    check(&db.reopened());
}

#[test]
fn counts_bounds_and_filters_are_those_of_the_version() {
    let (db, [first, second, _]) = three_versions();
    let at = |what: &str, version: u64| db.rows(&format!("SELECT {what} FROM t FOR VERSION AS OF {version}"));
    assert_eq!(at("count(*), min(a), max(a)", first), ["3|1|3"]);
    assert_eq!(at("count(*), min(a), max(a)", second), ["2|1|3"]);
    let db = Db::new();
    db.load("n", &["id"], &numbers(0, 50_000));
    let before = version(&db);
    db.run("DELETE FROM n WHERE id BETWEEN 10000 AND 39999");
    let old = db.run(&format!("SELECT sum(id), count(*) FROM n FOR VERSION AS OF {before} WHERE id BETWEEN 9999 AND 10000"));
    assert_eq!(old.rows(), ["19999|2"]);
    assert!(old.report.zones_pruned > 0);
    assert_eq!(db.rows("SELECT sum(id), count(*) FROM n WHERE id BETWEEN 9999 AND 10000"), ["9999|1"]);
}

#[test]
fn several_versions_of_a_table_meet_in_one_query() {
    let (db, [first, second, third]) = three_versions();
    let sql = format!(
        "SELECT old.a FROM t FOR VERSION AS OF {first} AS old LEFT JOIN t FOR VERSION AS OF {second} new ON old.a = new.a WHERE new.a IS NULL"
    );
    assert_eq!(db.rows(&sql), ["2"]);
    let sql = format!("SELECT count(*) FROM t, t FOR VERSION AS OF {first} AS u, main.t FOR VERSION AS OF {third} AS v");
    assert_eq!(db.rows(&sql), ["12"]);
    let sql = format!("SELECT a FROM t FOR VERSION AS OF {first} EXCEPT SELECT a FROM t FOR VERSION AS OF {second}");
    assert_eq!(db.rows(&sql), ["2"]);
}

#[test]
fn columns_are_called_by_the_name_of_the_table_or_its_alias() {
    let (db, [first, ..]) = three_versions();
    assert_eq!(db.rows(&format!("SELECT t.b FROM t FOR VERSION AS OF {first} WHERE t.a = 2")), ["two"]);
    assert_eq!(db.rows(&format!("SELECT x.b FROM t FOR VERSION AS OF {first} x WHERE x.a = 2")), ["two"]);
    db.error(&format!("SELECT t.b FROM t FOR VERSION AS OF {first} AS x"));
    db.script("CREATE SCHEMA \"S s\"; CREATE TABLE \"S s\".\"T t\" (a INT); INSERT INTO \"S s\".\"T t\" VALUES (7)");
    let full = version(&db);
    db.run("INSERT OVERWRITE \"S s\".\"T t\" VALUES (8)");
    assert_eq!(db.rows(&format!("SELECT \"T t\".a FROM quiver.\"S s\".\"T t\" FOR VERSION AS OF {full}")), ["7"]);
}

#[test]
fn a_version_can_stand_wherever_a_query_names_a_table() {
    let (db, [first, ..]) = three_versions();
    let sums = [
        format!("SELECT (SELECT sum(a) FROM t FOR VERSION AS OF {first})"),
        format!("WITH x AS (SELECT a FROM t FOR VERSION AS OF {first}) SELECT sum(a) FROM x"),
        format!("SELECT sum(a) FROM (SELECT a FROM t FOR VERSION AS OF {first}) AS x"),
        format!("SELECT sum(a) FROM t FOR VERSION AS OF {first} WHERE a IN (SELECT a FROM t FOR VERSION AS OF {first})"),
    ];
    for sql in sums {
        assert_eq!(db.rows(&sql), ["6"], "{sql}");
    }
    db.run(&format!("CREATE TABLE copy ORDER BY (a DESC) AS SELECT * FROM t FOR VERSION AS OF {first} ORDER BY a"));
    assert_eq!(db.rows("SELECT sum(a) FROM copy"), ["6"]);
    db.run(&format!("INSERT INTO t SELECT * FROM t FOR VERSION AS OF {first} WHERE a = 2"));
    assert_eq!(db.rows("SELECT a FROM t ORDER BY a"), ["2", "10", "20"]);
    let file = db.file("old.csv");
    db.run(&format!("COPY t FOR VERSION AS OF {first} TO '{file}'"));
    assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 4);
    assert_eq!(db.rows(&format!("DESCRIBE t FOR VERSION AS OF {first}")), ["a|BIGINT|YES|NULL|NULL", "b|VARCHAR|YES|NULL|NULL"]);
    assert!(db.run(&format!("EXPLAIN SELECT * FROM t FOR VERSION AS OF {first}")).text().contains("FOR VERSION AS OF"));
    db.run(&format!("PREPARE p(BIGINT) AS SELECT b FROM t FOR VERSION AS OF {first} WHERE a = $1"));
    assert_eq!(db.rows("EXECUTE p(3)"), ["three"]);
}

#[test]
fn a_view_may_fix_a_version_and_is_kept_as_it_was_written() {
    let (db, [first, second, _]) = three_versions();
    db.run(&format!(
        "CREATE VIEW fixed AS SELECT old.a FROM t FOR VERSION AS OF {first} AS old JOIN t FOR VERSION AS OF {second} ON old.a = t.a"
    ));
    db.run(&format!("CREATE VIEW named (x) AS SELECT a FROM t FOR VERSION AS OF {first}"));
    let check = |db: &Db| {
        assert_eq!(db.rows("SELECT a FROM fixed ORDER BY a"), ["1", "3"]);
        assert_eq!(db.rows("SELECT sum(x) FROM named"), ["6"]);
        let text = db.value("SELECT definition FROM system.tables WHERE table_name = 'fixed'");
        assert!(text.contains(&format!("FROM t FOR VERSION AS OF {first} AS old JOIN t FOR VERSION AS OF {second}")), "{text}");
    };
    check(&db);
    let db = db.reopened();
    check(&db);
    db.run(&format!("EXPIRE VERSIONS BEFORE VERSION {second}"));
    let message = db.error("SELECT * FROM fixed").to_string();
    assert!(message.starts_with(&format!("view \"fixed\" cannot be used any more: version {first} is not kept any more")), "{message}");
}

/// When a version was made, as text in UTC.
fn committed_at(db: &Db, version: u64) -> String {
    let sql = format!("SELECT CAST(committed_at AT TIME ZONE 'UTC' AS VARCHAR) FROM system.snapshots WHERE version = {version}");
    db.value(&sql).replace('Z', "")
}

/// Two versions with some time between all that is made.
fn two_times() -> (Db, [String; 2]) {
    let db = Db::new();
    let pause = || std::thread::sleep(std::time::Duration::from_millis(20));
    db.run("CREATE TABLE t AS SELECT 1 AS a");
    let first = version(&db);
    pause();
    db.run("INSERT INTO t VALUES (2)");
    let second = version(&db);
    pause();
    db.run("INSERT INTO t VALUES (3)");
    let times = [committed_at(&db, first), committed_at(&db, second)];
    (db, times)
}

#[test]
fn a_time_is_the_last_version_by_then_and_is_utc_without_a_zone() {
    let (db, [first, second]) = two_times();
    for zone in ["UTC", "Europe/Berlin"] {
        db.run(&format!("SET timezone = '{zone}'"));
        for time in [
            format!("'{first}'"),
            format!("TIMESTAMP '{first}'"),
            format!("TIMESTAMP '{first}' + INTERVAL '5 milliseconds'"),
            format!("'{first}+00:00'"),
            format!("CAST('{first}' AS TIMESTAMP)"),
        ] {
            assert_eq!(db.rows(&format!("SELECT a FROM t FOR SYSTEM_TIME AS OF {time}")), ["1"], "{time} in {zone}");
        }
        assert_eq!(db.rows(&format!("SELECT sum(u.a) FROM t FOR TIMESTAMP AS OF '{second}' u")), ["3"]);
        assert_eq!(db.rows("SELECT sum(a) FROM t FOR SYSTEM_TIME AS OF now()"), ["6"]);
        assert_eq!(db.rows("SELECT sum(a) FROM t FOR SYSTEM_TIME AS OF now() - INTERVAL '1 nanosecond' AS x"), ["6"]);
    }
}

#[test]
fn times_that_are_no_version_say_why() {
    let (db, [first, _]) = two_times();
    let error = |time: &str| db.error(&format!("SELECT * FROM t FOR SYSTEM_TIME AS OF {time}"));
    let early = error("now() - INTERVAL '1 hour'").to_string();
    assert!(early.starts_with("no version of ") && early.contains(" is kept; versions are kept from "), "{early}");
    let late = error("'2999-01-01'");
    assert_eq!(late.to_string(), "2999-01-01 00:00:00 UTC is yet to come");
    assert!(late.hint().unwrap().contains("UTC"));
    assert_eq!(error("a").to_string(), "a is not a constant");
    assert_eq!(error("random()").to_string(), "random() is not a constant");
    assert_eq!(error("5").to_string(), "5 is not a time");
    assert_eq!(error("'yesterday'").to_string(), "'yesterday' is not a time");
    db.run("ALTER SYSTEM SET retention = '0'");
    let error = db.error(&format!("SELECT * FROM t FOR SYSTEM_TIME AS OF '{first}'")).to_string();
    assert!(error.contains("is kept; versions are kept from"), "{error}");
}

#[test]
fn versions_that_cannot_be_read_say_which_can() {
    let (db, [first, _, third]) = three_versions();
    let error = |version: u64| db.error(&format!("SELECT * FROM t FOR VERSION AS OF {version}")).to_string();
    assert_eq!(error(third + 5), format!("there is no version {} yet; the last one is {third}", third + 5));
    assert_eq!(error(0), "table \"t\" was made by version 1, so there is none at version 0");
    db.run("CREATE SNAPSHOT kept");
    db.run(&format!("EXPIRE VERSIONS BEFORE VERSION {third}"));
    let newest = version(&db);
    assert_eq!(
        error(first),
        format!("version {first} is not kept any more; there are versions {third} to {newest}, and snapshot \"kept\" ({third})")
    );
    let none = db.error("SELECT * FROM t FOR VERSION AS OF 'kepp'");
    assert_eq!((none.to_string().as_str(), none.hint().unwrap()), ("snapshot \"kepp\" does not exist", "did you mean \"kept\"?"));
    let missing = db.error("SELECT * FROM tt FOR VERSION AS OF 3");
    assert_eq!((missing.to_string().as_str(), missing.hint().unwrap()), ("table \"tt\" does not exist", "did you mean \"t\"?"));
    assert_eq!(missing.position(), Some(14));
    db.run("CREATE VIEW v AS SELECT 1 AS one");
    assert_eq!(
        db.error("SELECT * FROM v FOR VERSION AS OF 3").to_string(),
        "a version of \"v\", which is not a stored table, is not supported"
    );
    for sql in
        ["SELECT * FROM (SELECT 1) FOR VERSION AS OF 3", "SELECT * FROM t AS x FOR VERSION AS OF x", "SELECT * FROM t FOR VERSION AS OF -1"]
    {
        assert!(db.error(sql).position().is_some(), "{sql}");
    }
}

#[test]
fn older_versions_are_not_written_to() {
    let (db, [first, ..]) = three_versions();
    for sql in [
        "INSERT INTO t FOR VERSION AS OF {} VALUES (1, 'x')",
        "UPDATE t FOR VERSION AS OF {} SET a = 1",
        "DELETE FROM t FOR VERSION AS OF {}",
        "TRUNCATE TABLE t FOR VERSION AS OF {}",
        "DROP TABLE t FOR VERSION AS OF {}",
        "MERGE INTO t FOR VERSION AS OF {} USING t AS s ON t.a = s.a WHEN MATCHED THEN DELETE",
    ] {
        let error = db.error(&sql.replace("{}", &first.to_string()));
        assert_eq!(error.to_string(), "writing to a table FOR … AS OF is not supported", "{sql}");
        assert!(error.hint().unwrap().contains("RESTORE TABLE"));
    }
}

#[test]
fn rows_are_brought_back_from_an_older_version() {
    let (db, [first, ..]) = three_versions();
    db.run(&format!("RESTORE TABLE t TO VERSION {first}"));
    db.run("UPDATE t SET b = 'oops'");
    db.run("DELETE FROM t WHERE a = 2");
    db.run(&format!("UPDATE t SET b = old.b FROM t FOR VERSION AS OF {first} AS old WHERE t.a = old.a AND t.a = 1"));
    assert_eq!(db.rows("SELECT * FROM t ORDER BY a"), ["1|one", "3|oops"]);
    db.run(&format!(
        "MERGE INTO t USING t FOR VERSION AS OF {first} AS old ON t.a = old.a \
         WHEN MATCHED THEN UPDATE SET b = old.b WHEN NOT MATCHED THEN INSERT VALUES (old.a, old.b)"
    ));
    assert_eq!(db.rows("SELECT * FROM t ORDER BY a"), ["1|one", "2|two", "3|three"]);
    db.run(&format!("DELETE FROM t WHERE a IN (SELECT a FROM t FOR VERSION AS OF {first} WHERE a > 1)"));
    assert_eq!(db.rows("SELECT a FROM t"), ["1"]);
}

#[test]
fn a_transaction_reads_versions_that_are_committed() {
    let (db, [first, _, third]) = three_versions();
    db.run("BEGIN");
    db.run("INSERT INTO t VALUES (30, 'thirty')");
    assert_eq!(db.rows("SELECT count(*) FROM t"), ["3"]);
    assert_eq!(db.rows(&format!("SELECT count(*) FROM t FOR VERSION AS OF {third}")), ["2"]);
    assert_eq!(db.rows(&format!("SELECT count(*) FROM t FOR VERSION AS OF {first}")), ["3"]);
    let other = db.engine.session().unwrap();
    super::helpers::wait(super::helpers::run(&other, "INSERT INTO t VALUES (40, 'forty'), (50, 'fifty')")).unwrap();
    let newest = version(&db);
    assert_eq!(db.rows("SELECT count(*) FROM t"), ["3"]);
    assert_eq!(db.rows(&format!("SELECT count(*) FROM t FOR VERSION AS OF {newest}")), ["4"]);
    db.run("CREATE TABLE own (a INT)");
    let early = db.error(&format!("SELECT * FROM own FOR VERSION AS OF {third}")).to_string();
    assert!(early.starts_with("table \"own\" was made by version"), "{early}");
    db.run("ROLLBACK");
}

#[test]
fn a_stream_of_an_expired_version_goes_on() {
    use futures::StreamExt;
    let db = Db::new();
    db.load("t", &[], &numbers(0, 200_000));
    let before = version(&db);
    db.run("INSERT OVERWRITE t SELECT * FROM t WHERE id < 10");
    let rows = super::helpers::wait(async {
        let mut output = db.session.execute(&format!("SELECT id, s FROM t FOR VERSION AS OF {before}")).await.unwrap();
        let first = output.next().await.unwrap().unwrap().num_rows();
        let other = db.engine.session().unwrap();
        super::helpers::run(&other, "ALTER SYSTEM SET retention = '0'").await.unwrap();
        let mut rest = 0;
        while let Some(batch) = output.next().await {
            rest += batch.unwrap().num_rows();
        }
        first + rest
    });
    assert_eq!(rows, 200_000);
    db.error(&format!("SELECT * FROM t FOR VERSION AS OF {before}"));
}

#[test]
fn columns_are_those_of_the_version() {
    let (db, [first, ..]) = three_versions();
    db.run("ALTER TABLE t ADD COLUMN c INT");
    db.run("ALTER TABLE t RENAME COLUMN b TO name");
    db.run("INSERT INTO t VALUES (30, 'thirty', 1)");
    let added = version(&db);
    db.run("ALTER TABLE t DROP COLUMN name");
    db.run("ALTER TABLE t RENAME TO u");
    assert_eq!(db.rows(&format!("SELECT * FROM u FOR VERSION AS OF {first} ORDER BY a")), ["1|one", "2|two", "3|three"]);
    assert_eq!(db.rows(&format!("SELECT name, c FROM u FOR VERSION AS OF {added} WHERE a = 30")), ["thirty|1"]);
    assert_eq!(db.rows("SELECT * FROM u ORDER BY a"), ["10|NULL", "20|NULL", "30|1"]);
    db.error(&format!("SELECT c FROM u FOR VERSION AS OF {first}"));
}
