//! Backslash and dot commands in pipes; `shell.rs` has those at the prompt.

use std::fs;

use crate::quiver::{Place, run};
use crate::served::Served;

fn csv(input: &str) -> String {
    run(&["--format", "csv"], input).ok()
}

#[test]
fn the_dot_commands_of_sqlite_and_duckdb_are_understood() {
    let out = run(&[], "create table t as select 1 as a;\n.tables\n.schema t\n.mode csv\nselect a from t;\n.quit\nselect 2 as b;\n").ok();
    assert!(out.contains("| main   | t    |") && out.contains("| a      | BIGINT |"), "{out}");
    assert!(out.ends_with("\na\n1\n"), "{out}");
}

#[test]
fn a_dot_command_that_is_not_here_says_what_to_type() {
    for (command, advice) in
        [(".open x", "start with --store DIR"), (".import a.csv t", "\\copy TABLE FROM 'FILE'"), (".tabels", ".tables?")]
    {
        let output = run(&[], command);
        assert_eq!(output.status, 1);
        assert!(output.err.contains("stdin:1: there is no command") && output.err.contains(advice), "{}", output.err);
    }
}

#[test]
fn a_command_follows_a_statement_or_stands_inside_of_one() {
    assert_eq!(csv("select 1 as a; \\echo done\nselect\n\\echo inside\n2 as b;\n"), "a\n1\ndone\ninside\nb\n2\n");
    assert_eq!(csv("select 1 as a \\g\nselect 2 as b \\r\nselect 3 as c;\n"), "a\n1\nc\n3\n");
    assert_eq!(csv("select 'it''s \\g' as a \\p\n;\n"), "select 'it''s \\g' as a\na\nit's \\g\n");
}

#[test]
fn an_error_of_a_statement_that_a_command_runs_has_its_line() {
    let place = Place::new();
    place.write("bad.sql", "select 1;\nselect\n  nowhere \\g\n");
    let output = place.run(&["-f", "bad.sql"]);
    assert!(output.status == 1 && output.err.contains("bad.sql:3") && output.err.contains("  3 |   nowhere"), "{}", output.err);
}

#[test]
fn one_result_is_shown_with_a_line_per_column_or_goes_to_a_file() {
    let out = run(&[], "select 1 as n, 'a' as name \\gx\nselect 2 as m;\n").ok();
    assert!(out.contains("n    | 1\nname | a\n") && out.ends_with("| 2 |\n+---+\n"), "{out}");
    let place = Place::new();
    let file = place.path("one.csv").display().to_string();
    assert_eq!(csv(&format!("select 1 as n;\n\\g '{file}'\nselect 2 as m;\n")), "n\n1\nm\n2\n");
    assert_eq!(fs::read_to_string(file).expect("the file"), "n\n1\n");
}

#[test]
fn a_statement_is_watched_as_often_as_it_is_asked_for() {
    assert_eq!(csv("select 7 as n \\watch c=3 i=0.01\n"), "n\n7\n".repeat(3));
    let output = run(&[], "select 1;\n\\watch soon\n");
    assert!(output.status == 1 && output.err.contains("\\watch takes the seconds"), "{}", output.err);
}

#[test]
fn variables_stand_in_statements_and_in_echo() {
    let input = "\\set n 3\n\\set who 'O''Hara'\nselect :n as n, :'who' as w, '3'::int as i, ':n' as t;\n\\echo :n\n\\unset n\n\\set\n";
    assert_eq!(csv(input), "n,w,i,t\n3,O'Hara,3,:n\n3\nwho = 'O'Hara'\n");
}

#[test]
fn copy_reads_and_writes_files_of_this_machine() {
    let (place, served) = (Place::new(), Served::new());
    let file = place.path("out.csv").display().to_string();
    let read = format!("\\copy T from '{file}'");
    let make = "create table t as select value as a from generate_series(1, 3) as g (value)";
    let write = format!("\\copy (select a from t where a > 1 order by a) to '{file}'");
    place.quiver(&["-c", make, "-c", &write]).ok();
    assert_eq!(fs::read_to_string(&file).expect("the file"), "a\n2\n3\n");
    place.quiver(&["-c", &format!("{read} (format csv)")]).ok();
    assert_eq!(place.quiver(&["--format", "csv", "-c", "select count(*) as n from t"]).ok(), "n\n5\n");
    assert_eq!(place.quiver(&["-c", "\\copy (select 1 as b) to stdout"]).ok(), "b\n1\n");
    fs::remove_file(&file).expect("the file");
    served.quiver(&["-c", make, "-c", &write]).ok();
    assert_eq!(fs::read_to_string(&file).expect("the file"), "a\n2\n3\n");
    served.quiver(&["-c", &read]).ok();
    assert_eq!(served.quiver(&["--format", "csv", "-c", "select count(*) as n from t"]).ok(), "n\n5\n");
    let refused = served.quiver(&["-c", &format!("{read} (format csv)")]);
    assert!(refused.status == 1 && refused.err.contains("quiver import --connect URI has options"), "{}", refused.err);
    let refused = served.quiver(&["-c", &format!("\\copy nowhere from '{file}'")]);
    assert!(refused.status == 1 && refused.err.contains("nowhere"), "{}", refused.err);
}

#[test]
fn users_and_the_orders_of_tables_are_listed() {
    let place = Place::new();
    assert!(place.quiver(&["-c", "\\di"]).ok().starts_with("there are no indexes"));
    assert!(place.quiver(&["-c", "\\du"]).ok().starts_with("there are no users"));
    place.quiver(&["-c", "create table o (a int, b int) order by (b); create user ann password 'a long password'; create user bob password 'another password'"]).ok();
    let orders = place.quiver(&["-c", "\\di"]).ok();
    assert!(orders.contains("| schema | name | ordered by |") && orders.contains("| main   | o    | b          |"), "{orders}");
    let users = place.quiver(&["-c", "\\du a*"]).ok();
    assert!(users.contains("| ann  |") && !users.contains("bob"), "{users}");
}
