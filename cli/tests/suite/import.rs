//! `quiver import` and `quiver export`.

use crate::quiver::Place;

const CSV: &str = "origin,dest,delay\nEWR,IAH,2\nLGA,MIA,\nJFK,BQN,-1\n";

#[test]
fn a_file_becomes_a_table_of_its_own_name() {
    let place = Place::new();
    place.write("flights.csv", CSV);
    let output = place.quiver(&["import", "flights.csv"]).ok();
    assert!(output.starts_with("flights: 3 rows, "), "{output}");
    let rows = place.quiver(&["--format", "csv", "-c", "select * from flights order by origin"]).ok();
    assert_eq!(rows, "origin,dest,delay\nEWR,IAH,2\nJFK,BQN,-1\nLGA,MIA,\n");
}

#[test]
fn several_files_become_several_tables_unless_one_is_named() {
    let place = Place::new();
    place.write("a.csv", "x\n1\n");
    place.write("b.csv", "x\n2\n");
    place.quiver(&["import", "a.csv", "b.csv"]).ok();
    place.quiver(&["import", "--table", "both", "a.csv", "b.csv"]).ok();
    let sum = "select (select sum(x) from both) as s, (select x from a) as a, (select x from b) as b";
    assert_eq!(place.quiver(&["--format", "csv", "-c", sum]).ok(), "s,a,b\n3,1,2\n");
}

#[test]
fn a_table_that_exists_is_appended_to_or_replaced_only_when_asked() {
    let place = Place::new();
    place.write("a.csv", "x\n1\n");
    place.quiver(&["import", "a.csv"]).ok();
    let output = place.quiver(&["import", "a.csv"]);
    assert_eq!(output.status, 1);
    assert!(output.err.starts_with("error: "), "{}", output.err);
    place.quiver(&["import", "--append", "a.csv"]).ok();
    assert_eq!(place.quiver(&["--format", "csv", "-c", "select count(*) as n from a"]).ok(), "n\n2\n");
    place.quiver(&["import", "--replace", "a.csv"]).ok();
    assert_eq!(place.quiver(&["--format", "csv", "-c", "select count(*) as n from a"]).ok(), "n\n1\n");
}

#[test]
fn a_bad_row_stops_the_import_with_its_line_or_is_counted() {
    let place = Place::new();
    place.write("t.csv", "a,b\n1,2\n3,4,5\n6,7\n");
    let output = place.quiver(&["import", "t.csv"]);
    assert_eq!(output.status, 1);
    assert!(output.err.contains('3'), "line 3 is named: {}", output.err);
    let output = place.quiver(&["import", "--on-error", "skip", "t.csv"]).ok();
    assert!(output.starts_with("t: 2 rows, 1 row skipped, "), "{output}");
}

#[test]
fn delimiters_and_null_tokens_are_what_the_user_says() {
    let place = Place::new();
    place.write("t.csv", "a|b\n1|n/a\n2|3\n");
    place.quiver(&["import", "--delimiter", "|", "--null", "n/a", "t.csv"]).ok();
    let output = place.quiver(&["--format", "csv", "-c", "select sum(b) as s, count(b) as c from t"]).ok();
    assert_eq!(output, "s,c\n3,1\n");
}

#[test]
fn what_was_guessed_is_said_and_options_say_otherwise() {
    let place = Place::new();
    place.write("t.csv", "a report\nzip;size\n501;1,5\n502;2,5\n");
    let output = place.quiver(&["import", "t.csv"]);
    assert_eq!(output.status, 0, "{}", output.err);
    let note = "note: t.csv: the delimiter is ';'; line 1 is above the table";
    assert!(output.err.contains(note), "{}", output.err);
    let args =
        ["import", "--replace", "--delimiter", ";", "--skip", "1", "--header", "true", "--decimal", ",", "--type", "zip=VARCHAR", "t.csv"];
    let output = place.quiver(&args);
    assert_eq!((output.status, output.err.as_str()), (0, ""));
    let sql = "select max(zip || '!') as z, max(size) as s from t";
    assert_eq!(place.quiver(&["--format", "csv", "-c", sql]).ok(), "z,s\n502!,2.5\n");
    for wrong in [["--type", "zip"], ["--type", "zip=COLOUR"], ["--skip", "x"], ["--encoding", "ebcdic"]] {
        let output = place.quiver(&[&["import", "--replace"], wrong.as_slice(), &["t.csv"]].concat());
        assert!(output.status != 0 && output.err.contains("error: "), "{}", output.err);
    }
}

#[test]
fn options_of_arrays_and_of_tables_are_refused_for_the_other_files() {
    let place = Place::new();
    place.write("a.csv", "x\n1\n");
    place.write("a.nc", "");
    for option in [["--metadata", "async"], ["--exclude", "run/*"], ["--exclude-attributes", "hist*"]] {
        let output = place.quiver(&[&["import"], option.as_slice(), &["a.csv"]].concat());
        assert_eq!(output.status, 1, "{}", output.err);
        let words = format!("{} is for files of arrays, and these have rows", option[0]);
        assert!(output.err.contains(&words), "{}", output.err);
    }
    let output = place.quiver(&["import", "--header", "true", "a.nc"]);
    assert!(output.status == 1 && output.err.contains("--header is for files of rows"), "{}", output.err);
    let output = place.quiver(&["import", "--metadata", "later", "a.nc"]);
    assert!(output.status == 2 && output.err.contains("sync") && output.err.contains("none"), "{}", output.err);
}

#[test]
fn an_order_of_auto_is_the_first_column_of_times() {
    let place = Place::new();
    place.write(
        "t.csv",
        "id,day,seen\n1,2024-03-01,2020-01-01 00:00:00\n2,2024-01-01,2021-01-01 00:00:00\n3,2024-02-01,2019-01-01 00:00:00\n",
    );
    place.write("numbers.csv", "id\n2\n1\n");
    place.write("named.csv", "day,auto\n2024-01-01,2\n2024-02-01,1\n");
    for (table, rows) in [("t", "2\n3\n1\n"), ("numbers", "2\n1\n"), ("named", "1\n2\n")] {
        let output = place.quiver(&["import", "--order-by", "auto", &format!("{table}.csv")]);
        let note = match table {
            "t" => "t is sorted by \"day\"",
            "numbers" => "numbers is not sorted: no column has dates or timestamps",
            _ => "named is sorted by \"auto\"",
        };
        assert!(output.status == 0 && output.err.contains(note), "{}", output.err);
        let column = if table == "named" { "auto" } else { "id" };
        let found = place.quiver(&["--format", "csv", "-c", &format!("select {column} from {table}")]).ok();
        assert_eq!(found, format!("{column}\n{rows}"), "{table}");
    }
}

#[test]
fn an_append_may_name_the_order_of_its_table_and_no_other() {
    let place = Place::new();
    place.write("t.csv", "id,day\n1,2024-03-01\n2,2024-01-01\n");
    place.quiver(&["import", "--order-by", "day", "t.csv"]).ok();
    for order in ["day", "Day", "auto"] {
        place.quiver(&["import", "--append", "--order-by", order, "t.csv"]).ok();
    }
    for order in ["id", "day desc", "day,id"] {
        let output = place.quiver(&["import", "--append", "--order-by", order, "t.csv"]);
        assert!(output.status == 1 && output.err.contains("another order for the table \"t\""), "{}", output.err);
    }
}

#[test]
fn an_import_without_a_store_is_refused() {
    let place = Place::new();
    place.write("a.csv", "x\n1\n");
    let output = place.run(&["import", "a.csv"]);
    assert_eq!(output.status, 2);
    assert!(output.err.contains("--store DIR"), "{}", output.err);
}

#[test]
fn an_export_without_a_file_or_a_format_is_wrong_usage() {
    let place = Place::new();
    for (args, words) in
        [(vec!["flights"], "the file is missing"), (vec!["flights", "f.xyz"], "'f.xyz' does not say which format to write")]
    {
        let output = place.quiver(&[&["export"], args.as_slice()].concat());
        assert_eq!(output.status, 2, "{}", output.err);
        assert!(output.err.contains(words) && output.err.contains("hint: "), "{}", output.err);
    }
}

#[test]
fn a_file_that_is_missing_or_no_parquet_is_refused() {
    let place = Place::new();
    place.write("t.parquet", "this is text");
    for file in ["t.parquet", "missing.csv"] {
        let output = place.quiver(&["import", file]);
        assert_eq!(output.status, 1, "{}", output.out);
        assert!(output.err.starts_with("error: ") && output.err.contains(file), "{}", output.err);
    }
}

#[test]
fn a_table_goes_out_to_a_file_and_comes_back() {
    let place = Place::new();
    place.write("flights.csv", CSV);
    place.quiver(&["import", "flights.csv"]).ok();
    for file in ["out.parquet", "out.arrow", "out.csv", "out.json"] {
        place.quiver(&["export", "flights", file]).ok();
        let table = file.replace('.', "_");
        place.quiver(&["import", "--table", &table, file]).ok();
        let sql = format!("select count(*) as n, count(delay) as d, sum(delay) as s from {table}");
        assert_eq!(place.quiver(&["--format", "csv", "-c", &sql]).ok(), "n,d,s\n3,2,1\n", "{file}");
    }
}

#[test]
fn the_result_of_a_query_can_be_exported_to_standard_output() {
    let place = Place::new();
    place.write("flights.csv", CSV);
    place.quiver(&["import", "flights.csv"]).ok();
    let args = ["export", "--query", "select count(*) as n from flights", "--format", "csv", "-"];
    assert_eq!(place.quiver(&args).ok(), "n\n3\n");
}
