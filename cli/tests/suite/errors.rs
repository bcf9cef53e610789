//! Error messages for the user.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::quiver::{Place, run};

#[test]
fn an_unknown_column_is_marked_and_the_nearest_name_suggested() {
    let place = Place::new();
    place.quiver(&["-c", "create table flights (origin varchar, dest varchar)"]).ok();
    let output = place.quiver(&["-c", "select orign from flights"]);
    assert_eq!(output.status, 1);
    let lines: Vec<&str> = output.err.lines().collect();
    assert!(lines[0].starts_with("error: ") && lines[0].contains("orign"), "{}", output.err);
    assert!(output.err.contains("1 | select orign from flights\n"), "{}", output.err);
    assert!(output.err.contains("    |        ^^^^^\n"), "{}", output.err);
    assert!(output.err.contains("hint: ") && output.err.contains("origin"), "{}", output.err);
}

#[test]
fn an_unknown_table_is_an_error_with_a_suggestion() {
    let place = Place::new();
    place.quiver(&["-c", "create table flights (origin varchar)"]).ok();
    let output = place.quiver(&["-c", "select * from fligths"]);
    assert_eq!(output.status, 1);
    assert!(output.err.starts_with("error: ") && output.err.contains("flights"), "{}", output.err);
}

#[test]
fn an_error_in_a_file_names_the_file_and_the_line() {
    let place = Place::new();
    place.write("bad.sql", "select 1;\n\nselect\n  nowhere;\n");
    let output = place.run(&["-f", "bad.sql"]);
    assert_eq!(output.status, 1);
    assert!(output.err.contains("bad.sql:4"), "{}", output.err);
    assert!(output.err.contains("  4 |   nowhere"), "{}", output.err);
}

#[test]
fn the_first_error_stops_a_script() {
    let output = run(&["--format", "csv"], "select 1 as a;\nselect * from nowhere;\nselect 2 as b;\n");
    assert_eq!((output.out.as_str(), output.status), ("a\n1\n", 1));
}

#[test]
fn a_syntax_error_is_one_clear_line() {
    let output = run(&["-c", "selec 1"], "");
    assert_eq!(output.status, 1);
    assert!(output.err.starts_with("error: "), "{}", output.err);
    assert!(!output.err.contains("panicked"), "{}", output.err);
}

#[test]
fn an_unknown_meta_command_suggests_the_nearest() {
    let output = run(&[], "\\timig on\n");
    assert_eq!(output.status, 1);
    assert!(output.err.contains("stdin:1: there is no command \\timig; did you mean \\timing?"), "{}", output.err);
}

#[test]
fn a_file_that_is_missing_is_named() {
    let output = run(&["-f", "no such file.sql"], "");
    assert_eq!(output.status, 1);
    assert!(output.err.starts_with("error: no such file.sql: "), "{}", output.err);
}

#[test]
fn a_directory_that_is_no_store_is_refused_and_left_alone() {
    let place = Place::new();
    fs::create_dir(place.path("store")).expect("a directory");
    place.write("store/letter.txt", "dear reader");
    let output = place.quiver(&["-c", "select 1"]);
    assert_eq!(output.status, 1);
    assert!(output.err.starts_with("error: ") && !output.err.contains("panicked"), "{}", output.err);
    let entries = fs::read_dir(place.path("store")).expect("the directory").count();
    assert_eq!(entries, 1);
}

#[test]
fn a_directory_without_permission_is_an_error_and_no_panic() {
    let place = Place::new();
    fs::create_dir(place.path("closed")).expect("a directory");
    fs::set_permissions(place.path("closed"), fs::Permissions::from_mode(0o000)).expect("chmod");
    let inside = place.path("closed").join("store").display().to_string();
    let output = run(&["--store", &inside, "-c", "select 1"], "");
    fs::set_permissions(place.path("closed"), fs::Permissions::from_mode(0o700)).expect("chmod");
    // Root may write anywhere, and then it is a store like any other.
    if output.status != 0 {
        assert!(output.err.starts_with("error: ") && !output.err.contains("panicked"), "{}", output.err);
    }
}

#[test]
fn a_statement_of_ten_megabytes_runs_or_fails_but_does_not_crash() {
    let sql = format!("select '{}' as s;\n", "x".repeat(10 << 20));
    let output = run(&["--format", "csv"], &sql);
    assert_eq!(output.status, 0, "{}", output.err);
    assert_eq!(output.out.len(), (10 << 20) + 3);
}

#[test]
fn ten_thousand_parentheses_are_answered_or_refused_in_one_line() {
    let sql = format!("select {}1{};", "(".repeat(10_000), ")".repeat(10_000));
    let output = run(&["--format", "csv"], &sql);
    match output.status {
        0 => assert!(output.out.ends_with("\n1\n"), "{}", output.out),
        status => {
            assert_eq!(status, 1, "{}", output.err);
            assert!(output.err.starts_with("error: "), "{}", output.err);
            assert!(output.err.len() < 1_000, "{} bytes", output.err.len());
        }
    }
}

#[test]
fn wrong_usage_has_exit_status_2() {
    assert_eq!(run(&["--memory-limit", "12 parsecs", "-c", "select 1"], "").status, 2);
    assert_eq!(run(&["--no-such-option"], "").status, 2);
}
