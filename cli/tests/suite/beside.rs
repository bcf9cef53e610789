//! A store that one process writes to, and others read.

use crate::live_backup::Shell;
use crate::quiver::Place;
use crate::served::Served;

fn count_beside(place: &Place) -> String {
    place.quiver(&["--read-only", "--format", "csv", "-c", "select count(*) as n from t"]).ok()
}

/// Returns when the statements before are done.
fn settle(shell: &mut Shell) {
    shell.run("\\echo done");
    while shell.next() != "done" {}
}

#[test]
fn a_store_that_a_shell_writes_to_is_read_by_other_processes() {
    let place = Place::new();
    place.quiver(&["-c", "create table t as select * from generate_series(1, 50000)"]).ok();
    let mut writer = Shell::open(&place, &[]);
    assert_eq!(count_beside(&place), "n\n50000\n");
    let mut reader = Shell::open(&place, &["--read-only"]);
    writer.run("insert into t values (0); delete from t where value > 10; alter system set retention = '0';");
    settle(&mut writer);
    assert_eq!(count_beside(&place), "n\n11\n");
    writer.run("drop table t;");
    settle(&mut writer);
    reader.run("select count(*) as n from t;");
    assert_eq!((reader.next(), reader.next()), ("n".to_string(), "50000".to_string()));
    writer.close();
    reader.run("select min(value) as n from t;");
    assert_eq!((reader.next(), reader.next()), ("n".to_string(), "1".to_string()));
    // Files that it does not need any more go with the next writer.
    place.quiver(&["-c", "create table u as select 1 as a"]).ok();
    reader.run("select sum(value) as n from t;");
    assert_eq!((reader.next(), reader.next()), ("n".to_string(), "1250025000".to_string()));
    reader.close();
    place.quiver(&["-c", "create table v as select 1 as a"]).ok();
    let tables = std::fs::read_dir(place.path("store/segments")).unwrap().count();
    assert_eq!(tables, 2);
    assert!(!place.path("store/requests").exists() && !place.path("store/dirty").exists());
}

#[test]
fn a_reader_that_was_killed_keeps_nothing() {
    let place = Place::new();
    place.quiver(&["-c", "create table t as select * from generate_series(1, 50000)"]).ok();
    let mut writer = Shell::open(&place, &[]);
    let mut reader = Shell::open(&place, &["--read-only"]);
    reader.process.kill().unwrap();
    reader.process.wait().unwrap();
    writer.run("alter system set retention = '0'; drop table t;");
    settle(&mut writer);
    writer.close();
    assert_eq!(std::fs::read_dir(place.path("store/segments")).unwrap().count(), 0);
    place.quiver(&["-c", "select 1"]).ok();
    assert!(!place.path("store/requests").exists());
}

#[test]
fn who_would_write_to_the_store_of_a_server_gets_the_line_that_connects_and_can_read() {
    let served = Served::new();
    served.quiver(&["-c", "create table t as select * from generate_series(1, 7)"]).ok();
    let output = served.place.quiver(&["-c", "insert into t values (1)"]);
    assert_eq!(output.status, 1);
    assert!(output.err.contains(&format!("ask that server with --connect {}", served.uri)), "{}", output.err);
    assert!(output.err.contains("--read-only"), "{}", output.err);
    assert_eq!(count_beside(&served.place), "n\n7\n");
}
