//! COPY to files and from them.

use std::fs;

use arrow::ipc::reader::FileReader;

use super::helpers::{Db, numbers, soon};

const SUFFIXES: [&str; 4] = ["parquet", "csv", "json", "arrow"];

/// One row of ordinary values, one of unusual ones, one of NULLs.
const TYPES: &str = "id bigint, i int, f double, d decimal(12,2), w decimal(30,10), b boolean, s varchar, day date, at timestamp";
const ROWS: &str = "(1, 7, 1.5, 12.34, 1.5, true, 'plain', '2024-02-29', '2024-02-29 12:34:56.789'), \
    (2, -2147483648, '-1e300', -9999999999.99, 12345678901234567890.0123456789, false, 'a,\"b\"\n''c'' é', '1969-12-31', '1969-12-31 23:59:59'), \
    (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)";

fn with_rows() -> Db {
    let db = Db::new();
    db.run(&format!("CREATE TABLE t ({TYPES})"));
    db.run(&format!("INSERT INTO t VALUES {ROWS}"));
    db
}

#[test]
fn a_table_copied_to_a_file_and_back_is_the_same() {
    let db = with_rows();
    let expected = db.rows("SELECT * FROM t ORDER BY id");
    for suffix in SUFFIXES {
        let file = db.file(&format!("t.{suffix}"));
        assert_eq!(db.rows(&format!("COPY t TO '{file}'")), ["3"], "{suffix}");
        db.run(&format!("CREATE OR REPLACE TABLE back ({TYPES})"));
        assert_eq!(db.rows(&format!("COPY back FROM '{file}'")), ["3"], "{suffix}");
        assert_eq!(db.rows("SELECT * FROM back ORDER BY id"), expected, "{suffix}");
    }
}

#[test]
fn an_arrow_file_has_types_that_every_reader_knows_and_makes_the_same_table() {
    let db = Db::new();
    db.script(
        "CREATE TABLE t (id bigint, s varchar, b bytea, d decimal(12,2), w decimal(50,2), l varchar[], p STRUCT<x VARCHAR, y DECIMAL(5,1)>); \
        INSERT INTO t VALUES (1, 'a text that is too long for a view', X'00FF', 1.25, 7, ['x', NULL], named_struct('x', 'y', 'y', 2.5)), \
        (2, NULL, NULL, NULL, NULL, NULL, NULL)",
    );
    let file = db.file("t.arrow");
    db.run(&format!("COPY t TO '{file}'"));
    let written = FileReader::try_new(fs::File::open(&file).unwrap(), None).unwrap().schema();
    let types = written.fields().iter().map(|field| field.data_type().to_string()).collect::<Vec<_>>();
    assert_eq!(types[1..5], ["Utf8", "Binary", "Decimal128(12, 2)", "Decimal256(50, 2)"]);
    assert!(types.iter().all(|name| !name.contains("View")), "{types:?}");
    db.run(&format!("CREATE EXTERNAL TABLE e STORED AS ARROW LOCATION '{file}'"));
    db.run("CREATE TABLE back AS SELECT * FROM e");
    assert_eq!(db.rows("SELECT * FROM back ORDER BY id"), db.rows("SELECT * FROM t ORDER BY id"));
    let columns = |table: &str| {
        db.rows(&format!(
            "SELECT column_name, data_type FROM information_schema.columns WHERE table_name = '{table}' ORDER BY ordinal_position"
        ))
    };
    assert_eq!(columns("back"), columns("t"));
}

#[test]
fn an_empty_text_and_a_null_stay_apart() {
    let db = Db::new();
    db.script("CREATE TABLE t (id bigint, s varchar); INSERT INTO t VALUES (1, ''), (2, NULL), (3, 'NULL')");
    for suffix in SUFFIXES {
        let file = db.file(&format!("t.{suffix}"));
        db.run(&format!("COPY t TO '{file}'"));
        db.run("CREATE OR REPLACE TABLE back (id bigint, s varchar)");
        db.run(&format!("COPY back FROM '{file}'"));
        assert_eq!(
            db.rows("SELECT id, s IS NULL, s = 'NULL' FROM back ORDER BY id"),
            ["1|false|false", "2|true|NULL", "3|false|true"],
            "{suffix}"
        );
    }
}

#[test]
fn digits_that_a_timestamp_has_no_room_for_are_rounded_as_by_a_cast() {
    let db = Db::new();
    db.script(
        "CREATE TABLE t (id bigint, at timestamp(9)); INSERT INTO t VALUES (1, '2024-01-01 00:00:00.1235'), \
        (2, '1969-12-31 23:59:59.9996'), (3, '2024-12-31 23:59:59.9995'), (4, '1999-12-31 23:59:59.1235')",
    );
    let expected = db.rows("SELECT id, CAST(at AS timestamp(3)) FROM t ORDER BY id");
    for suffix in SUFFIXES {
        let file = db.file(&format!("t.{suffix}"));
        db.run(&format!("COPY t TO '{file}'"));
        db.run("CREATE OR REPLACE TABLE back (id bigint, at timestamp(3))");
        db.run(&format!("COPY back FROM '{file}'"));
        assert_eq!(db.rows("SELECT * FROM back ORDER BY id"), expected, "{suffix}");
    }
}

#[test]
fn a_float_without_a_number_is_kept_or_refused() {
    let db = Db::new();
    db.script("CREATE TABLE t (id bigint, f double); INSERT INTO t VALUES (1, 'NaN'), (2, 'inf'), (3, '-inf')");
    for suffix in SUFFIXES {
        let file = db.file(&format!("t.{suffix}"));
        if db.try_run(&format!("COPY t TO '{file}'")).is_err() {
            continue;
        }
        db.run("CREATE OR REPLACE TABLE back (id bigint, f double)");
        db.run(&format!("COPY back FROM '{file}'"));
        assert_eq!(db.rows("SELECT f FROM back ORDER BY id"), ["NaN", "inf", "-inf"], "{suffix}");
    }
}

#[test]
fn a_query_can_be_copied_and_the_format_named() {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 1_000));
    let file = db.file("some.txt");
    assert_eq!(db.rows(&format!("COPY (SELECT id, k FROM t WHERE id < 3 ORDER BY id) TO '{file}' STORED AS CSV")), ["3"]);
    assert_eq!(fs::read_to_string(&file).unwrap().trim_end(), "id,k\n0,0\n1,1\n2,2");
    db.run("CREATE TABLE u (id bigint, k bigint)");
    assert_eq!(db.rows(&format!("COPY u FROM '{file}' (FORMAT csv, HEADER true)")), ["3"]);
}

#[test]
fn copy_to_takes_the_options_that_copy_from_takes() {
    let db = Db::new();
    db.script("CREATE TABLE t (a int, b varchar); INSERT INTO t VALUES (1, 'x')");
    let file = db.file("t.txt");
    db.run(&format!("COPY t TO '{file}' (FORMAT csv, HEADER false, DELIMITER ';')"));
    assert_eq!(fs::read_to_string(&file).unwrap().trim_end(), "1;x");
    db.run(&format!("COPY t FROM '{file}' (FORMAT csv, HEADER false, DELIMITER ';')"));
    assert_eq!(db.rows("SELECT * FROM t"), ["1|x", "1|x"]);
}

#[test]
fn options_of_copy_from_are_taken_and_unknown_ones_refused() {
    let db = Db::new();
    db.run("CREATE TABLE t (a int, b varchar)");
    let file = db.file("t.txt");
    fs::write(&file, "1|'x|y'\n-|z\n").unwrap();
    assert_eq!(db.rows(&format!("COPY t FROM '{file}' (FORMAT csv, HEADER false, DELIMITER '|', QUOTE '''', NULL '-')")), ["2"]);
    assert_eq!(db.rows("SELECT * FROM t"), ["1|x|y", "NULL|z"]);
    for options in ["(FORMAT excel)", "(FORCE_NULL (a))", "(DELIMITER 'é')"] {
        db.error(&format!("COPY t FROM '{file}' {options}"));
    }
    for sql in ["COPY t FROM STDIN", "COPY t (a) FROM 'x.csv'", "COPY nothing FROM 'x.csv'"] {
        db.error(sql);
    }
    let error = db.error(&format!("COPY nothing FROM '{file}' (FORMAT csv, DELIMITER '|')"));
    assert_eq!(error.to_string(), "table \"nothing\" does not exist");
    assert_eq!(error.hint(), Some(format!("CREATE TABLE nothing AS FROM '{file}' makes it").as_str()));
    assert_eq!(db.value("SELECT count(*) FROM t"), "2");
}

#[test]
fn a_file_in_another_notation_is_copied_with_the_options_of_an_import() {
    let db = Db::new();
    db.run("CREATE TABLE t (a double, b varchar, day date)");
    let file = db.file("t.csv");
    fs::write(&file, b"a report\nof 2024\n1,5;\"x\\\"y\";1.2.2024\n# no\n2,5;Jos\xe9;-\n").unwrap();
    let options =
        "SKIP 2, HEADER false, DELIMITER ';', DECIMAL ',', DATE_FORMAT '%d.%m.%Y', COMMENT '#', ESCAPE '\\', NULL '-', ENCODING 'latin-1'";
    assert_eq!(db.rows(&format!("COPY t FROM '{file}' WITH ({options})")), ["2"]);
    assert_eq!(db.rows("SELECT * FROM t ORDER BY a"), ["1.5|x\"y|2024-02-01", "2.5|José|NULL"]);
    for (option, words) in [("COLOUR 'red'", "colour"), ("SKIP 'x'", "skip"), ("DATE_FORMAT 'D/M/Y'", "date_format")] {
        let error = db.error(&format!("COPY t FROM '{file}' ({option})")).to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn columns_of_a_file_go_to_the_columns_of_their_names() {
    let db = Db::new();
    db.run("CREATE TABLE t (a int, b varchar)");
    let file = db.file("t.csv");
    fs::write(&file, "b,a\nx,1\n").unwrap();
    db.run(&format!("COPY t FROM '{file}'"));
    assert_eq!(db.rows("SELECT a, b FROM t"), ["1|x"]);
    fs::write(&file, "a,c\n1,x\n").unwrap();
    let error = db.error(&format!("COPY t FROM '{file}'")).to_string();
    assert!(error.contains("\"b\"") || error.contains("\"c\""), "{error}");
}

#[test]
fn a_copy_that_fails_leaves_the_table_as_it_was() {
    let db = Db::new();
    db.script("CREATE TABLE t (a int NOT NULL); INSERT INTO t VALUES (1)");
    let before = db.segment_files();
    let file = db.file("bad.csv");
    let mut text = String::from("a\n");
    (0..50_000).for_each(|row| text.push_str(&format!("{row}\n")));
    fs::write(&file, format!("{text}oops\n")).unwrap();
    let error = db.error(&format!("COPY t FROM '{file}'")).to_string();
    assert!(error.contains("50002") && error.contains("oops"), "{error}");
    fs::write(&file, format!("{text}\"\"\n")).unwrap();
    db.error(&format!("COPY t FROM '{file}'"));
    db.error(&format!("COPY t FROM '{}'", db.file("missing.csv")));
    assert_eq!(db.rows("SELECT * FROM t"), ["1"]);
    assert!(soon(|| db.segment_files() == before));
}

#[test]
fn a_copy_to_a_file_that_fails_leaves_the_old_file_or_none() {
    let db = Db::new();
    db.load("t", &[], &numbers(0, 100_000));
    for suffix in SUFFIXES {
        let file = db.file(&format!("out.{suffix}"));
        db.error(&format!("COPY (SELECT 1 / (id - 90000) AS x FROM t) TO '{file}'"));
        let has_output =
            || fs::read_dir(db.file("")).unwrap().flatten().any(|entry| entry.file_name().to_str().unwrap().starts_with("out."));
        assert!(soon(|| !has_output()), "{suffix}");
    }
}

#[test]
fn a_table_in_another_schema_is_copied_too() {
    let db = Db::new();
    db.script("CREATE SCHEMA s; CREATE TABLE s.\"T t\" (a int); INSERT INTO s.\"T t\" VALUES (1)");
    let file = db.file("t.parquet");
    db.run(&format!("COPY s.\"T t\" TO '{file}'"));
    assert_eq!(db.rows(&format!("COPY s.\"T t\" FROM '{file}'")), ["1"]);
    assert_eq!(db.value("SELECT count(*) FROM s.\"T t\""), "2");
}

#[test]
fn a_copy_goes_by_the_clocks_of_the_session() {
    let db = Db::new();
    db.run("CREATE TABLE t (z TIMESTAMPTZ)");
    db.run("SET timezone = 'America/New_York'");
    let (file, back) = (db.file("in.csv"), db.file("out.csv"));
    fs::write(&file, "z\n2024-01-01 00:00:00\n2024-07-01 00:00:00+00:00\n").unwrap();
    db.run(&format!("COPY t FROM '{file}'"));
    db.run(&format!("COPY (SELECT z FROM t ORDER BY z) TO '{back}'"));
    assert_eq!(fs::read_to_string(&back).unwrap(), "z\n2024-01-01T00:00:00-05:00\n2024-06-30T20:00:00-04:00\n");
}
