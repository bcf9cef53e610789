//! Error messages for the user.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::quiver::{Place, run};

#[test]
fn an_unknown_column_is_marked_and_the_nearest_name_suggested() {
    let place = Place::new();
    place.quiver(&["-c", "create table flights (origin varchar, dest varchar)"]).ok();
    let said = place.quiver(&["-c", "select orign from flights"]);
    assert_eq!(said.status, 1);
    let lines: Vec<&str> = said.err.lines().collect();
    assert!(lines[0].starts_with("error: ") && lines[0].contains("orign"), "{}", said.err);
    assert!(said.err.contains("1 | select orign from flights\n"), "{}", said.err);
    assert!(said.err.contains("    |        ^^^^^\n"), "{}", said.err);
    assert!(said.err.contains("hint: ") && said.err.contains("origin"), "{}", said.err);
}

#[test]
fn an_unknown_table_is_an_error_with_a_suggestion() {
    let place = Place::new();
    place.quiver(&["-c", "create table flights (origin varchar)"]).ok();
    let said = place.quiver(&["-c", "select * from fligths"]);
    assert_eq!(said.status, 1);
    assert!(said.err.starts_with("error: ") && said.err.contains("flights"), "{}", said.err);
}

#[test]
fn an_error_in_a_file_names_the_file_and_the_line() {
    let place = Place::new();
    place.write("bad.sql", "select 1;\n\nselect\n  nowhere;\n");
    let said = place.run(&["-f", "bad.sql"]);
    assert_eq!(said.status, 1);
    assert!(said.err.contains("bad.sql:4"), "{}", said.err);
    assert!(said.err.contains("  4 |   nowhere"), "{}", said.err);
}

#[test]
fn the_first_error_stops_a_script() {
    let said = run(&["--format", "csv"], "select 1 as a;\nselect * from nowhere;\nselect 2 as b;\n");
    assert_eq!((said.out.as_str(), said.status), ("a\n1\n", 1));
}

#[test]
fn a_syntax_error_is_one_clear_line() {
    let said = run(&["-c", "selec 1"], "");
    assert_eq!(said.status, 1);
    assert!(said.err.starts_with("error: "), "{}", said.err);
    assert!(!said.err.contains("panicked"), "{}", said.err);
}

#[test]
fn an_unknown_meta_command_suggests_the_nearest() {
    let said = run(&[], "\\timig on\n");
    assert_eq!(said.status, 1);
    assert!(said.err.contains("stdin:1: there is no command \\timig; did you mean \\timing?"), "{}", said.err);
}

#[test]
fn a_file_that_is_missing_is_named() {
    let said = run(&["-f", "no such file.sql"], "");
    assert_eq!(said.status, 1);
    assert!(said.err.starts_with("error: no such file.sql: "), "{}", said.err);
}

#[test]
fn a_directory_that_is_no_store_is_refused_and_left_alone() {
    let place = Place::new();
    fs::create_dir(place.path("store")).expect("a directory");
    place.write("store/letter.txt", "dear reader");
    let said = place.quiver(&["-c", "select 1"]);
    assert_eq!(said.status, 1);
    assert!(said.err.starts_with("error: ") && !said.err.contains("panicked"), "{}", said.err);
    let entries = fs::read_dir(place.path("store")).expect("the directory").count();
    assert_eq!(entries, 1);
}

#[test]
fn a_directory_without_permission_is_an_error_and_no_panic() {
    let place = Place::new();
    fs::create_dir(place.path("closed")).expect("a directory");
    fs::set_permissions(place.path("closed"), fs::Permissions::from_mode(0o000)).expect("chmod");
    let inside = place.path("closed").join("store").display().to_string();
    let said = run(&["--store", &inside, "-c", "select 1"], "");
    fs::set_permissions(place.path("closed"), fs::Permissions::from_mode(0o700)).expect("chmod");
    // Root may write anywhere, and then it is a store like any other.
    if said.status != 0 {
        assert!(said.err.starts_with("error: ") && !said.err.contains("panicked"), "{}", said.err);
    }
}

#[test]
fn a_statement_of_ten_megabytes_runs_or_fails_but_does_not_crash() {
    let sql = format!("select '{}' as s;\n", "x".repeat(10 << 20));
    let said = run(&["--format", "csv"], &sql);
    assert_eq!(said.status, 0, "{}", said.err);
    assert_eq!(said.out.len(), (10 << 20) + 3);
}

#[test]
fn ten_thousand_parentheses_are_answered_or_refused_in_one_line() {
    let sql = format!("select {}1{};", "(".repeat(10_000), ")".repeat(10_000));
    let said = run(&["--format", "csv"], &sql);
    match said.status {
        0 => assert!(said.out.ends_with("\n1\n"), "{}", said.out),
        status => {
            assert_eq!(status, 1, "{}", said.err);
            assert!(said.err.starts_with("error: "), "{}", said.err);
            assert!(said.err.len() < 1_000, "{} bytes", said.err.len());
        }
    }
}

#[test]
fn wrong_usage_has_exit_status_2() {
    assert_eq!(run(&["--memory-limit", "12 parsecs", "-c", "select 1"], "").status, 2);
    assert_eq!(run(&["--no-such-option"], "").status, 2);
}
