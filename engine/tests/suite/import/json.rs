//! JSON: framing, nesting, bad records.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field};
use engine::import::FileScan;

use super::{Files, error_of, ints, open, read, read_all, schema, skipping, table, types};

#[test]
fn json_lines_arrays_and_concatenated_objects_read_alike() {
    let files = Files::new();
    let rows = [r#"{"b": 1, "a": {"x": [1, 2]}}"#, r#"{"b": 2.5, "a": null}"#, r#"{"a": {}}"#];
    let lines = read_all(&[files.add("a.json", rows.join("\n"))]);
    let array = read_all(&[files.add("b.json", format!("[\n{}\n]", rows.join(",\n")))]);
    let pretty = rows.join("\n").replace(", ", ",\n").replace('{', "{\n");
    let values = read_all(&[files.add("c.json", pretty)]);
    assert_eq!(types(&lines.schema()), ["b DOUBLE", "a STRUCT(x BIGINT[])"]);
    assert_eq!((&lines, &lines), (&array, &values));
    assert_eq!(lines.num_rows(), 3);
}

#[test]
fn elements_of_an_array_that_are_no_objects_are_one_column() {
    let files = Files::new();
    for (name, json, expected, rows) in [
        ("lists.json", "[[1, 2], [3, 4], null]", "json BIGINT[]", 3),
        ("table.json", "[\n [\"id\", \"name\"],\n [1, \"x\"]\n]\n", "json VARCHAR[]", 2),
        ("days.json", "[\"2024-01-31\", \"2024-02-01\"]", "json DATE", 2),
    ] {
        let batch = read_all(&[files.add(name, json)]);
        assert_eq!((types(&batch.schema()), batch.num_rows()), (vec![expected.to_owned()], rows), "{name}");
    }
    let error = error_of(&[files.add("mixed.json", "[{\"a\": 1},\n [2]]")]);
    assert!(error.contains("line 2: it is not a JSON object but a list"), "{error}");
    let error = error_of(&[files.add("lines.json", "[1, 2]\n[3, 4]\n")]);
    assert!(error.contains("line 1: it is not a JSON object"), "{error}");
    let marked = files.add("marked.json", "\u{feff}[[1, 2]]");
    assert_eq!(read_all(&[marked]).num_rows(), 1);
    let error = error_of(&[files.add("none.json", "[]")]);
    assert!(error.contains("is empty"), "{error}");
}

#[test]
fn a_bad_json_line_is_named_or_skipped() {
    let files = Files::new();
    let json = "{\"a\": 1, \"b\": {\"c\": \"x\"}}\n\n{\"a\": 2,\n{\"a\": 3}\n[1]\n{\"a\": 4}\n";
    let path = files.add("a.jsonl", json);
    let error = error_of(std::slice::from_ref(&path));
    assert!(error.contains("a.jsonl, line 3: it is not valid JSON"), "{error}");
    let scan = FileScan::open(&[path], skipping()).unwrap();
    let progress = scan.progress();
    assert_eq!(ints(&read(scan).unwrap(), 0), [Some(1), Some(3), Some(4)]);
    assert_eq!(progress.rows_skipped(), 2);

    let target = schema(&[("a", DataType::Int32, true)]);
    let path = files.add("b.json", "{\"a\": 1}\n{\"a\": 1.5}\n");
    let scan = open(&[path]).unwrap().with_schema(target).unwrap();
    let error = read(scan).unwrap_err().to_string();
    assert!(error.contains("line 2, column \"a\": \"1.5\" is not a valid INTEGER"), "{error}");
}

#[test]
fn a_bad_row_in_nested_json_leaves_its_neighbours_whole() {
    let files = Files::new();
    let nested = |n: &str| format!("{{\"l\": [{{\"x\": [1, {n}], \"y\": {n}}}, {{}}], \"k\": {n}}}\n");
    let json = ["1", "\"no\"", "2", "[", "3"].map(nested).concat();
    let path = files.add("a.json", json);
    let list = |t: DataType| DataType::List(Arc::new(Field::new_list_field(t, true)));
    let element = DataType::Struct(vec![Field::new("x", list(DataType::Int64), true), Field::new("y", DataType::Int64, true)].into());
    let target = schema(&[("l", list(element), true), ("k", DataType::Int64, true)]);
    let scan = FileScan::open(&[path], skipping()).unwrap().with_schema(target).unwrap();
    let progress = scan.progress();
    let batch = read(scan).unwrap();
    assert_eq!(ints(&batch, 1), [Some(1), Some(2), Some(3)]);
    assert!(table(&batch).contains("[{x: [1, 3], y: 3}, {x: , y: }]"), "{}", table(&batch));
    assert_eq!(progress.rows_skipped(), 2);
}
