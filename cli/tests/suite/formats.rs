//! The formats of results.

use std::fs;

use crate::quiver::{Place, run};

const ROWS: &str = "select * from (values (1, 'plain'), (2, null), (3, ''), (4, 'a,\"b\"')) as t(n, s) order by n";

fn show(format: &str, sql: &str) -> String {
    run(&["--format", format, "-c", sql], "").ok()
}

#[test]
fn csv_keeps_null_and_the_empty_string_apart() {
    assert_eq!(show("csv", ROWS), "n,s\n1,plain\n2,\n3,\"\"\n4,\"a,\"\"b\"\"\"\n");
}

#[test]
fn csv_on_the_screen_has_lists_and_structs_as_text() {
    let sql = "select [1, 2, null] as l, {'a': 1} as s, 3 as n, cast(null as int[]) as e";
    assert_eq!(show("csv", sql), "l,s,n,e\n\"[1, 2, NULL]\",{a: 1},3,\n");
    let place = Place::new();
    place.run(&["-o", "out.csv", "-c", sql]).ok();
    assert!(fs::read_to_string(place.path("out.csv")).expect("the file").ends_with(",{a: 1},3,\n"));
    // A file that is to be read again has no such texts.
    let refused = run(&["-c", &format!("copy ({sql}) to 'refused.csv'")], "");
    assert!(refused.status == 1 && refused.err.contains("which CSV cannot hold"), "{}", refused.err);
}

#[test]
fn json_is_one_object_per_line_with_every_key() {
    let out = show("json", ROWS);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[0], r#"{"n":1,"s":"plain"}"#);
    assert_eq!(lines[1], r#"{"n":2,"s":null}"#);
    assert_eq!(lines.len(), 4);
}

#[test]
fn a_pipe_gets_ascii_lines_and_spelled_out_nulls() {
    assert_eq!(
        run(&["-c", "select 1 as n, cast(null as varchar) as s"], "").ok(),
        "+---+------+\n| n | s    |\n+---+------+\n| 1 | NULL |\n+---+------+\n"
    );
}

#[test]
fn a_box_names_the_types() {
    let out = show("box", "select cast(1 as bigint) as n, 'ä' as s");
    assert!(out.contains("│ BIGINT │ VARCHAR │"), "{out}");
    assert!(out.contains("│      1 │ ä       │"), "{out}");
}

#[test]
fn markdown_escapes_what_would_break_the_table() {
    let out = show("markdown", "select 1 as n, 'a|b' as s");
    assert_eq!(out, "| n | s |\n| ---: | --- |\n| 1 | a\\|b |\n");
}

#[test]
fn a_result_without_rows_still_shows_its_columns() {
    assert_eq!(show("csv", "select 1 as n where false"), "n\n");
    assert!(show("table", "select 1 as n where false").contains("| n |"));
    assert_eq!(show("json", "select 1 as n where false"), "");
}

#[test]
fn a_long_table_is_drawn_in_pieces_without_a_seam() {
    let out = show("table", "select value as n from generate_series(1, 2500)");
    assert_eq!(out.lines().count(), 2500 + 4);
    assert_eq!(out.lines().filter(|line| line.starts_with('+')).count(), 3);
    let widths: Vec<usize> = out.lines().map(str::len).collect();
    assert!(widths.iter().all(|width| *width == widths[0]), "all lines are as wide as the first");
}

#[test]
fn control_characters_in_data_do_not_reach_the_terminal() {
    let out = show("table", "select chr(27) || '[31m' as s");
    assert!(!out.contains('\u{1b}') && out.contains("\\u{1b}[31m"), "{out}");
}

/// Wide rows, so that a table is drawn in several pieces.
#[test]
fn a_result_written_in_pieces_has_every_row_once() {
    let wide = "select value as id, repeat('y', 2000) as y from generate_series(10001, 12000)";
    let csv = run(&["--format", "csv", "-c", wide], "").ok();
    let ids: Vec<&str> = csv.lines().skip(1).map(|line| line.split(',').next().unwrap_or("")).collect();
    let expected: Vec<String> = (10_001..=12_000).map(|id: i32| id.to_string()).collect();
    assert_eq!(ids, expected);
    for format in ["table", "box"] {
        let place = Place::new();
        place.run(&["--format", format, "-o", "out.txt", "-c", wide]).ok();
        let drawn = fs::read_to_string(place.path("out.txt")).expect("the file");
        let rows: Vec<&str> = drawn.lines().filter(|line| line.contains("yyyy")).collect();
        let cell = |row: &&str| row.split(['|', '│']).nth(1).unwrap_or("").trim().to_string();
        assert_eq!(rows.iter().map(cell).collect::<Vec<_>>(), expected);
        let widths: Vec<usize> = drawn.lines().map(|line| line.chars().count()).collect();
        assert!(widths.iter().all(|width| *width == widths[0]), "{format}");
        let lines = drawn.lines().filter(|line| line.starts_with(['+', '┌', '├', '└'])).count();
        assert_eq!(lines, 3, "{format}");
    }
}

#[test]
fn arrow_on_a_pipe_is_an_ipc_stream() {
    let place = Place::new();
    let sql = "select value from generate_series(1, 20000)";
    place.run(&["--format", "arrow", "-o", "out.arrow", "-c", sql]).ok();
    assert!(fs::read(place.path("out.arrow")).expect("the file").starts_with(b"ARROW1"));
    let mut command = crate::quiver::command(&["--format", "arrow", "-c", sql]);
    let output = command.output().expect("the binary runs");
    assert!(output.stdout.starts_with(&[0xff, 0xff, 0xff, 0xff]));
}

#[test]
fn parquet_needs_a_file() {
    let output = run(&["--format", "parquet", "-c", "select 1"], "");
    assert_eq!(output.status, 2);
    assert!(output.err.starts_with("error: Parquet can only be written to a file\n"), "{}", output.err);
}

#[test]
fn a_parquet_file_holds_one_result_and_says_so() {
    let place = Place::new();
    let output = place.run(&["-o", "out.parquet", "-c", "select 1; select 2"]);
    assert_eq!(output.status, 1);
    assert!(output.err.contains("holds one result"), "{}", output.err);
}

#[test]
fn the_suffix_of_the_output_file_decides_the_format() {
    let place = Place::new();
    place.run(&["-o", "out.csv", "-c", "select 1 as a; select 2 as b"]).ok();
    assert_eq!(fs::read_to_string(place.path("out.csv")).expect("the file"), "a\n1\nb\n2\n");
}

#[test]
fn expanded_output_has_a_line_per_column() {
    let out = run(&[], "\\x on\nselect 1 as n, 'a' as name;").ok();
    assert!(out.contains("n    | 1\nname | a\n"), "{out}");
}

#[test]
fn a_plan_is_shown_as_text_and_not_in_cells() {
    let out = show("box", "explain select 1");
    assert!(out.contains("plan:\n  ") && !out.contains('│'), "{out}");
}

/// A value of 512×512 numbers does not fit into a cell; other formats show all of it.
#[test]
fn a_table_shows_the_beginning_of_a_long_list_and_other_formats_all_of_it() {
    let block =
        "select cast(array_agg(value) as tensor(double, 30, 40)) as block, array_agg(value) as l from generate_series(1, 1200) as t(value)";
    for format in ["table", "box"] {
        let out = show(format, block);
        assert!(out.contains("[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, …] 30×40"), "{out}");
        assert!(out.contains("[1, 2, 3, 4, 5, 6, …] 1200 values"), "{out}");
        assert!(!out.contains("1200.0"), "{out}");
    }
    assert!(show("box", block).contains("TENSOR(DOUBLE, 30, 40)"));
    assert_eq!(show("json", block).matches("1199").count(), 2);
    assert!(show("markdown", block).contains("1199.0, 1200.0]"));
    let expanded = run(&[], &format!("\\x on\n{block};")).ok();
    assert!(expanded.contains("1199.0, 1200.0]"), "{expanded}");
    let short = "select array_agg(value) as l from generate_series(1, 64) as t(value)";
    assert!(show("table", short).contains("63, 64]"));
}
