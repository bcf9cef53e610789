//! `quiver info` and `quiver check`, and stores on the command line.

use std::fs;

use crate::quiver::{Place, run};

fn with_table_of(rows: usize) -> Place {
    let place = Place::new();
    let sql = format!("create table t as select * from generate_series(1, {rows})");
    place.quiver(&["-c", &sql]).ok();
    place
}

#[test]
fn info_shows_mode_size_and_tables() {
    let place = with_table_of(10_000);
    let said = place.quiver(&["info"]).ok();
    let mode = said
        .lines()
        .find(|line| line.starts_with("mode"))
        .expect("a mode");
    let known = ["dax", "msync", "volatile"];
    assert!(known.iter().any(|known| mode.ends_with(known)), "{mode}");
    assert!(said.contains("t ") && said.contains(" 10000 "), "{said}");
}

#[test]
fn looking_at_a_store_does_not_make_one() {
    let place = Place::new();
    for command in ["info", "check"] {
        let said = place.quiver(&[command]);
        assert_eq!(said.status, 1, "{}", said.out);
        assert!(said.err.starts_with("error: "), "{}", said.err);
    }
    assert!(!place.path("store").exists());
}

#[test]
fn a_sound_store_passes_the_check() {
    let place = with_table_of(10_000);
    let said = place.quiver(&["check"]).ok();
    assert!(said.contains("no problems"), "{said}");
}

#[test]
fn a_flipped_byte_is_found_by_the_check() {
    let place = with_table_of(100_000);
    let mut segments = Vec::new();
    find_segments(&place.path("store"), &mut segments);
    let largest = segments
        .iter()
        .max_by_key(|path| fs::metadata(path).map_or(0, |m| m.len()));
    let path = largest.expect("a segment");
    let mut bytes = fs::read(path).expect("the segment");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    let mut permissions = fs::metadata(path).expect("the segment").permissions();
    #[allow(clippy::permissions_set_readonly_false)]
    permissions.set_readonly(false);
    fs::set_permissions(path, permissions).expect("chmod");
    fs::write(path, bytes).expect("the segment can be damaged");
    let said = place.quiver(&["check"]);
    assert_eq!(said.status, 1, "{}", said.out);
    assert!(
        said.err.starts_with("error: 1 problem found"),
        "{}\n{}",
        said.out,
        said.err
    );
}

fn find_segments(directory: &std::path::Path, found: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => find_segments(&path, found),
            false if path.extension().is_some_and(|suffix| suffix == "arrow") => found.push(path),
            false => {}
        }
    }
}

#[test]
fn what_was_written_is_there_in_the_next_process() {
    let place = Place::new();
    place
        .quiver(&[
            "-c",
            "create table t (a int); insert into t values (1), (2)",
        ])
        .ok();
    assert_eq!(
        place
            .quiver(&["--format", "csv", "-c", "select sum(a) as s from t"])
            .ok(),
        "s\n3\n"
    );
}

#[test]
fn a_store_opened_to_read_refuses_to_change() {
    let place = Place::new();
    place.quiver(&["-c", "create table t (a int)"]).ok();
    let said = place.quiver(&["--read-only", "-c", "insert into t values (1)"]);
    assert_eq!(said.status, 1);
    assert!(said.err.starts_with("error: "), "{}", said.err);
}

#[test]
fn a_table_without_a_schema_is_described_as_sql_means_it() {
    let place = Place::new();
    place.quiver(&["-c", "create table t (stored int)"]).ok();
    let described = ["\\d t", "\\d main.t", "\\d temp.t"].map(|command| {
        let said = place.quiver(&["-c", "create temp table t as select 7 as mine", "-c", command]).ok();
        (said.contains("| mine "), said.contains("volatile temp.t, 1 row"), said.contains("table main.t, 0 rows"))
    });
    assert_eq!(described, [(true, true, false), (false, false, true), (true, true, false)]);
    place.quiver(&["-c", "create schema s; create table s.t (other int)"]).ok();
    let said = place.quiver(&["-c", "\\d t"]).ok();
    assert!(said.contains("| stored ") && said.contains("table main.t, 0 rows"), "{said}");
}

#[test]
fn lists_show_tables_views_schemas_and_columns() {
    let place = Place::new();
    place
        .quiver(&[
            "-c",
            "create table t (a int not null, b varchar); create view v as select a from t",
        ])
        .ok();
    let tables = place.quiver(&["-c", "\\dt"]).ok();
    assert!(
        tables.contains("| t ") && !tables.contains("| v "),
        "{tables}"
    );
    let views = place.quiver(&["-c", "\\dv"]).ok();
    assert!(views.contains("| v ") && !views.contains("| t "), "{views}");
    let columns = place.quiver(&["-c", "\\d t"]).ok();
    assert!(
        columns.contains("| a      | INTEGER | NOT NULL |"),
        "{columns}"
    );
    assert!(columns.contains("table main.t, 0 rows"), "{columns}");
    place.quiver(&["-c", "create table k (n int primary key, m int default 1 + 2)"]).ok();
    let columns = place.quiver(&["-c", "\\d k"]).ok();
    assert!(
        columns.contains("| column | type    | null     | default | key         |")
            && columns.contains("| n      | INTEGER | NOT NULL |         | PRIMARY KEY |")
            && columns.contains("| m      | INTEGER |          | 1 + 2   |             |"),
        "{columns}"
    );
    // Those of the system are listed when they are asked for.
    assert!(!tables.contains("system"), "{tables}");
    let system = place.quiver(&["-c", "\\dt system.*"]).ok();
    assert!(
        system.contains("| snapshots ") && !system.contains("| t "),
        "{system}"
    );
    assert!(place.quiver(&["-c", "\\dn"]).ok().contains("main"));
    assert!(place.quiver(&["-c", "\\df su*"]).ok().contains("| sum "));
}

#[test]
fn without_a_store_the_tables_are_gone_afterwards() {
    let said = run(
        &[
            "--format",
            "csv",
            "-c",
            "create table t as select 1 as a; select * from t",
        ],
        "",
    );
    assert_eq!(said.ok(), "a\n1\n");
}
