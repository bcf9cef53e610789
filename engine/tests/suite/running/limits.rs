//! The limit of time of a statement.

use engine::{EngineError, ErrorKind};
use futures::StreamExt;

use super::{ENDLESS, SILENT, ended, listed, session, spawned, with};
use crate::helpers::{Db, numbers, soon, wait};

fn timed_out<T>(result: Result<T, EngineError>, limit_ms: u64) {
    let error = result.err().expect("it takes longer than its limit");
    assert_eq!(error.to_string(), format!("the statement took longer than its limit of {limit_ms} ms"));
    assert_eq!(error.kind(), ErrorKind::TimedOut);
    assert!(error.hint().is_some_and(|hint| hint.contains("quiver.statement_timeout_ms")));
}

#[test]
fn a_query_ends_at_the_limit_of_its_session() {
    let db = Db::new();
    db.run("SET quiver.statement_timeout_ms = 200");
    timed_out(db.try_run(SILENT), 200);
    assert_eq!(db.value("SELECT 1"), "1");
    db.run("SET quiver.statement_timeout_ms = '0'");
    let task = spawned(&session(&db.engine), SILENT);
    let id = super::in_state(&db, SILENT, "running");
    db.run(&format!("KILL {id}"));
    assert!(ended(task).is_err());
}

#[test]
fn a_limit_is_a_number_of_milliseconds_or_a_time_as_people_write_it() {
    let db = Db::new();
    for (value, shown) in [("'30s'", "30000"), ("'5min'", "300000"), ("'2 h'", "7200000"), ("1500", "1500"), ("0", "0")] {
        db.run(&format!("SET quiver.statement_timeout_ms = {value}"));
        assert_eq!(db.value("SELECT value FROM system.settings WHERE name = 'quiver.statement_timeout_ms'"), shown, "{value}");
        assert_eq!(db.rows("SHOW quiver.statement_timeout_ms"), [format!("quiver.statement_timeout_ms|{shown}")]);
    }
    for bad in ["'soon'", "'-1'", "'5 weeks'", "''"] {
        let error = db.error(&format!("SET quiver.statement_timeout_ms = {bad}"));
        assert!(error.hint().is_some_and(|hint| hint.contains("'30s'")), "{error}");
    }
}

#[test]
fn the_limit_of_the_engine_is_what_sessions_begin_with() {
    let db = with(|options| options.statement_timeout_ms = Some(250));
    timed_out(db.try_run(SILENT), 250);
    db.run("SET quiver.statement_timeout_ms = 100");
    timed_out(db.try_run(SILENT), 100);
    db.run("RESET quiver.statement_timeout_ms");
    timed_out(db.try_run(SILENT), 250);
}

#[test]
fn a_write_that_reaches_its_limit_leaves_nothing() {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 100_000));
    db.run("CREATE TABLE sink (a BIGINT)");
    let files = db.segment_files().len();
    db.run("SET quiver.statement_timeout_ms = 300");
    timed_out(db.try_run("INSERT INTO sink SELECT a.r + b.r FROM t a JOIN t b ON a.k = b.k"), 300);
    timed_out(db.try_run("CREATE TABLE made AS SELECT a.r + b.r AS a FROM t a JOIN t b ON a.k = b.k"), 300);
    db.run("SET quiver.statement_timeout_ms = 0");
    assert_eq!(db.value("SELECT count(*) FROM sink"), "0");
    assert!(db.try_run("SELECT * FROM made").is_err());
    assert!(soon(|| db.segment_files().len() == files), "{:?}", db.segment_files());
}

#[test]
fn a_result_that_nobody_reads_ends_at_its_limit_and_is_freed() {
    let db = Db::new();
    let session = session(&db.engine);
    wait(session.execute("SET quiver.statement_timeout_ms = 300")).unwrap();
    let mut output = wait(session.execute(ENDLESS)).unwrap();
    wait(output.next()).unwrap().unwrap();
    assert!(soon(|| listed(&db) == 0));
    timed_out(wait(output.next()).unwrap(), 300);
    assert!(wait(output.next()).is_none());
    assert_eq!(listed(&db), 0);
}

#[test]
fn a_statement_that_ends_in_time_is_not_disturbed() {
    let db = Db::new();
    db.run("SET quiver.statement_timeout_ms = '1h'");
    db.run("CREATE TABLE t (a BIGINT)");
    db.run("INSERT INTO t VALUES (1), (2)");
    db.run("BEGIN");
    db.run("INSERT INTO t SELECT a + 10 FROM t");
    db.run("COMMIT");
    assert_eq!(db.value("SELECT sum(a) FROM t"), "26");
}

#[test]
fn settings_of_ours_are_found_without_their_prefix() {
    let db = Db::new();
    for (value, shown) in [("'300ms'", "300"), ("'2s'", "2000"), ("500", "500"), ("'1d'", "86400000")] {
        for name in ["statement_timeout", "statement_timeout_ms", "quiver.statement_timeout"] {
            db.run(&format!("SET {name} = {value}"));
            assert_eq!(db.rows(&format!("SHOW {name}")), [format!("{name}|{shown}")]);
            assert_eq!(db.value("SELECT value FROM system.settings WHERE name = 'quiver.statement_timeout_ms'"), shown);
        }
    }
    db.script("RESET statement_timeout; SET zone_pruning = false; SET durability = 'async'");
    let values = "SELECT value FROM system.settings WHERE name IN ('quiver.statement_timeout_ms', 'quiver.zone_pruning', 'quiver.durability') ORDER BY name";
    assert_eq!(db.rows(values), ["async", "0", "false"]);
}

#[test]
fn no_hint_names_a_setting_that_is_refused() {
    let db = Db::new();
    for name in
        ["statement_timeot", "statment_timeout_ms", "zone_prunin", "durabilty", "datafusion.runtime.memory_limi", "thread", "batchsize"]
    {
        let error = db.error(&format!("SET {name} = 1"));
        let hint = error.hint().unwrap_or_default().to_string();
        if let Some(setting) = hint.strip_prefix("did you mean \"").and_then(|rest| rest.strip_suffix("\"?")) {
            db.run(&format!("SHOW {setting}"));
            db.run(&format!("RESET {setting}"));
        }
    }
}
