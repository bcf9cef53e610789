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
    let output = place.quiver(&["info"]).ok();
    let mode = output.lines().find(|line| line.starts_with("mode")).expect("a mode");
    let modes = ["dax", "msync", "volatile"];
    assert!(modes.iter().any(|name| mode.ends_with(name)), "{mode}");
    assert!(output.contains("t ") && output.contains(" 10000 "), "{output}");
}

#[test]
fn looking_at_a_store_does_not_make_one() {
    let place = Place::new();
    for command in ["info", "check"] {
        let output = place.quiver(&[command]);
        assert_eq!(output.status, 1, "{}", output.out);
        assert!(output.err.starts_with("error: "), "{}", output.err);
    }
    assert!(!place.path("store").exists());
}

#[test]
fn a_sound_store_passes_the_check() {
    let place = with_table_of(10_000);
    let output = place.quiver(&["check"]).ok();
    assert!(output.contains("no problems"), "{output}");
}

#[test]
fn a_flipped_byte_is_found_by_the_check() {
    let place = with_table_of(100_000);
    let mut segments = Vec::new();
    find_segments(&place.path("store"), &mut segments);
    let largest = segments.iter().max_by_key(|path| fs::metadata(path).map_or(0, |m| m.len()));
    let path = largest.expect("a segment");
    let mut bytes = fs::read(path).expect("the segment");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    let mut permissions = fs::metadata(path).expect("the segment").permissions();
    #[allow(clippy::permissions_set_readonly_false)]
    permissions.set_readonly(false);
    fs::set_permissions(path, permissions).expect("chmod");
    fs::write(path, bytes).expect("the segment can be damaged");
    let output = place.quiver(&["check"]);
    assert_eq!(output.status, 1, "{}", output.out);
    assert!(output.err.starts_with("error: 1 problem found"), "{}\n{}", output.out, output.err);
}

/// Its name leads to a directory on a disk that is not mounted, as after a move.
#[test]
fn a_segment_that_cannot_be_reached_is_no_problem_of_the_store_and_no_success() {
    let place = with_table_of(100_000);
    let mut segments = Vec::new();
    find_segments(&place.path("store"), &mut segments);
    let path = segments.iter().max_by_key(|path| fs::metadata(path).map_or(0, |m| m.len())).expect("a segment");
    fs::remove_file(path).expect("the segment can be moved");
    std::os::unix::fs::symlink(place.path("disk/id/1/1.arrow"), path).expect("a link");
    let output = place.quiver(&["check"]);
    assert_eq!(output.status, 1, "{}", output.out);
    assert!(output.out.starts_with("table main.t: the rows of segment ") && output.out.contains("mounted?"), "{}", output.out);
    assert!(output.err.starts_with("error: 1 segment could not be checked ("), "{}", output.err);
}

#[test]
fn a_damaged_log_is_an_error_until_its_loss_is_accepted() {
    let place = Place::new();
    place.quiver(&["-c", "CREATE TABLE t (a INT)"]).ok();
    for value in 0..5 {
        place.quiver(&["-c", &format!("INSERT INTO t VALUES ({value})")]).ok();
    }
    let mut logs = Vec::new();
    find_files(&place.path("store"), "log", &mut logs);
    let mut bytes = fs::read(&logs[0]).expect("the log");
    let end = bytes.iter().rposition(|byte| *byte != 0).expect("records");
    bytes[end - 64] ^= 1;
    fs::write(&logs[0], bytes).expect("the log can be damaged");
    for args in [["-c", "SELECT count(*) FROM t"], ["-c", "OPTIMIZE TABLE t"]] {
        let output = place.quiver(&args);
        assert!(output.status == 1 && output.err.contains("1 of its rows") && output.err.contains("--accept-loss"), "{}", output.err);
    }
    let output = place.quiver(&["check"]);
    assert!(output.status == 1 && output.out.starts_with("table main.t: log "), "{}", output.out);
    for listing in ["SELECT table_name FROM system.tables", "\\dt"] {
        assert!(place.quiver(&["-c", listing]).ok().contains(" t "), "{listing}");
    }
    let output = place.quiver(&["check", "--accept-loss", "--validate"]).ok();
    assert!(output.starts_with("accepted: log ") && output.contains("1 rows") && output.contains("no problems"), "{output}");
    assert!(place.quiver(&["-c", "SELECT count(*) FROM t"]).ok().contains(" 4 "));
    assert!(place.quiver(&["check", "--accept-loss"]).ok().contains("no problems"));
}

#[test]
fn a_missing_log_is_the_loss_of_its_table_alone() {
    let place = Place::new();
    let mut logs = Vec::new();
    for table in ["t", "u"] {
        place.quiver(&["-c", &format!("CREATE TABLE {table} (a INT)")]).ok();
        place.quiver(&["-c", &format!("INSERT INTO {table} VALUES (1), (2)")]).ok();
        find_files(&place.path("store"), "log", &mut logs);
    }
    fs::remove_file(&logs[0]).expect("the log of t");
    place.quiver(&["-c", "INSERT INTO u VALUES (3)"]).ok();
    assert!(place.quiver(&["-c", "SELECT count(*) FROM u"]).ok().contains(" 3 "));
    let output = place.quiver(&["-c", "SELECT count(*) FROM t"]);
    assert!(output.status == 1 && output.err.contains("the file is missing; 2 of its rows"), "{}", output.err);
    let output = place.quiver(&["check"]);
    assert!(output.status == 1 && output.out.starts_with("table main.t: log "), "{}", output.out);
    let output = place.quiver(&["check", "--accept-loss"]).ok();
    assert!(output.starts_with("accepted: log ") && output.contains("2 rows") && output.contains("no problems"), "{output}");
    assert!(place.quiver(&["-c", "SELECT count(*) FROM t"]).ok().contains(" 0 "));
}

#[test]
fn losses_are_accepted_only_of_a_store_that_there_is() {
    let place = Place::new();
    assert_eq!(place.quiver(&["check", "--accept-loss"]).status, 1);
    assert!(!place.path("store").exists());
}

#[test]
fn a_file_that_may_not_grow_is_an_error_and_not_the_end_of_the_process() {
    let place = with_table_of(10);
    // Blocks are of 512 or 1024 bytes.
    let script = "ulimit -f 20000; exec \"$0\" --store \"$1\" -c 'CREATE TABLE u AS SELECT value, repeat(value::VARCHAR, 100) AS s FROM generate_series(1, 100000) AS g(value)'";
    let output =
        std::process::Command::new("sh").args(["-c", script, env!("CARGO_BIN_EXE_quiver"), &place.store()]).output().expect("a shell");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && text.contains("does not allow files of that size"), "{:?}: {text}", output.status);
    assert!(place.quiver(&["check"]).ok().contains("no problems"));
}

#[test]
fn too_little_address_space_is_an_error_before_threads_start() {
    let place = Place::new();
    let script = "ulimit -v 2000000; exec \"$0\" --store \"$1\" -c 'SELECT 1'";
    let output =
        std::process::Command::new("sh").args(["-c", script, env!("CARGO_BIN_EXE_quiver"), &place.store()]).output().expect("a shell");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.code() == Some(1)
            && text.contains("of address space, and needs")
            && text.contains("hint: raise the limit (ulimit -v)"),
        "{text}"
    );
}

fn find_segments(directory: &std::path::Path, files: &mut Vec<std::path::PathBuf>) {
    find_files(directory, "arrow", files);
}

fn find_files(directory: &std::path::Path, suffix: &str, files: &mut Vec<std::path::PathBuf>) {
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => find_files(&path, suffix, files),
            false if path.extension().is_some_and(|extension| extension == suffix) => files.push(path),
            false => {}
        }
    }
}

#[test]
fn written_rows_exist_in_the_next_process() {
    let place = Place::new();
    place.quiver(&["-c", "create table t (a int); insert into t values (1), (2)"]).ok();
    assert_eq!(place.quiver(&["--format", "csv", "-c", "select sum(a) as s from t"]).ok(), "s\n3\n");
}

#[test]
fn a_store_opened_to_read_refuses_to_change() {
    let place = Place::new();
    place.quiver(&["-c", "create table t (a int)"]).ok();
    let output = place.quiver(&["--read-only", "-c", "insert into t values (1)"]);
    assert_eq!(output.status, 1);
    assert!(output.err.starts_with("error: "), "{}", output.err);
}

#[test]
fn rows_of_a_small_table_come_in_its_order() {
    let place = Place::new();
    let fill = "insert into t select value from generate_series(1, 300000) as g (value)";
    place.quiver(&["-c", "create table t (n bigint) order by (n)", "-c", fill]).ok();
    let queries = [
        ("select n from t", 300_000),
        ("select n, n + 1 as m from t where n % 3 <> 0", 200_000),
        ("select n, n * 2 as m from t where n > 10 limit 250000", 250_000),
        ("select n, n * 2 as m from t limit 250000", 250_000),
    ];
    for (sql, rows) in queries {
        let out = place.quiver(&["--threads", "4", "--format", "csv", "-c", sql]).ok();
        let first = |line: &str| line.split(',').next().and_then(|number| number.parse().ok()).unwrap_or(0);
        let numbers: Vec<u64> = out.lines().skip(1).map(first).collect();
        assert!(numbers.len() == rows && numbers.is_sorted(), "{sql}");
    }
}

#[test]
fn a_table_without_a_schema_is_described_as_sql_means_it() {
    let place = Place::new();
    place.quiver(&["-c", "create table t (stored int)"]).ok();
    let described = ["\\d t", "\\d main.t", "\\d temp.t"].map(|command| {
        let output = place.quiver(&["-c", "create temp table t as select 7 as mine", "-c", command]).ok();
        (output.contains("| mine "), output.contains("volatile temp.t, 1 row"), output.contains("table main.t, 0 rows"))
    });
    assert_eq!(described, [(true, true, false), (false, false, true), (true, true, false)]);
    place.quiver(&["-c", "create schema s; create table s.t (other int)"]).ok();
    let output = place.quiver(&["-c", "\\d t"]).ok();
    assert!(output.contains("| stored ") && output.contains("table main.t, 0 rows"), "{output}");
}

#[test]
fn lists_show_tables_views_schemas_and_columns() {
    let place = Place::new();
    place.quiver(&["-c", "create table t (a int not null, b varchar); create view v as select a from t"]).ok();
    let tables = place.quiver(&["-c", "\\dt"]).ok();
    assert!(tables.contains("| t ") && !tables.contains("| v "), "{tables}");
    let views = place.quiver(&["-c", "\\dv"]).ok();
    assert!(views.contains("| v ") && !views.contains("| t "), "{views}");
    let columns = place.quiver(&["-c", "\\d t"]).ok();
    assert!(columns.contains("| a      | INTEGER | NOT NULL |"), "{columns}");
    assert!(columns.contains("table main.t, 0 rows"), "{columns}");
    place.quiver(&["-c", "create table k (n int primary key, m int default 1 + 2)"]).ok();
    let columns = place.quiver(&["-c", "\\d k"]).ok();
    assert!(
        columns.contains("| column | type    | null     | default | key         |")
            && columns.contains("| n      | INTEGER | NOT NULL |         | PRIMARY KEY |")
            && columns.contains("| m      | INTEGER |          | 1 + 2   |             |"),
        "{columns}"
    );
    // System tables are listed on request only.
    assert!(!tables.contains("system"), "{tables}");
    let system = place.quiver(&["-c", "\\dt system.*"]).ok();
    assert!(system.contains("| snapshots ") && !system.contains("| t "), "{system}");
    assert!(place.quiver(&["-c", "\\dn"]).ok().contains("main"));
    let functions = place.quiver(&["-c", "\\df su*", "-c", "\\df read_*"]).ok();
    assert!(functions.contains("| sum ") && functions.contains("| substr(str, start_pos[, length]) "), "{functions}");
    assert!(functions.contains("| read_csv "), "{functions}");
    assert!(place.quiver(&["-c", "\\h copy"]).ok().contains("DATE_FORMAT '%d.%m.%Y'"));
}

#[test]
fn without_a_store_the_tables_are_gone_afterwards() {
    let output = run(&["--format", "csv", "-c", "create table t as select 1 as a; select * from t"], "");
    assert_eq!(output.ok(), "a\n1\n");
}
