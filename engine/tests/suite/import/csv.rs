//! CSV: types, dialects, bad rows.

use arrow::array::Array;
use arrow::datatypes::DataType;
use engine::import::{FileScan, ReadOptions};

use super::{Files, error_of, ints, open, read, read_all, schema, skipping, table, texts, types};

#[test]
fn csv_types_are_inferred_and_na_is_null_in_typed_columns_only() {
    let files = Files::new();
    let csv = "id,zip,score,when,day,ok,note\n\
               1,00501,1.5,2013-01-01T10:00:00Z,2013-01-01,true,NA\n\
               2,10001,NA,NA,NA,NA,\"\"\n\
               3,,2,2013-01-02T10:00:00+01:00,2013-01-02,FALSE,\n";
    let batch = read_all(&[files.add("a.csv", csv)]);
    assert_eq!(
        types(&batch.schema()),
        ["id BIGINT", "zip VARCHAR", "score DOUBLE", "when TIMESTAMP WITH TIME ZONE", "day DATE", "ok BOOLEAN", "note VARCHAR",]
    );
    assert_eq!(texts(&batch, 1), [Some("00501"), Some("10001"), None]);
    assert_eq!(texts(&batch, 6), [Some("NA"), Some(""), None]);
    assert_eq!(batch.column(2).null_count() + batch.column(3).null_count(), 2);
    assert!(table(&batch).contains("2013-01-02T09:00:00Z"));
}

#[test]
fn null_tokens_of_the_user_hold_in_every_column() {
    let files = Files::new();
    let path = files.add("a.csv", "a,b\n1,-\n-,x\n2,\"-\"\n");
    let mut options = ReadOptions::default();
    options.csv.null = vec!["-".to_owned()];
    let batch = read(FileScan::open(&[path], options).unwrap()).unwrap();
    assert_eq!(ints(&batch, 0), [Some(1), None, Some(2)]);
    assert_eq!(texts(&batch, 1), [None, Some("x"), Some("-")]);
}

#[test]
fn delimiters_and_headers_are_found_out() {
    let files = Files::new();
    for (name, content, expected) in [
        ("a.csv", "x;y\n1,5;b\n", vec!["x VARCHAR", "y VARCHAR"]),
        ("b.tsv", "x\ty\n1\ta b\n", vec!["x BIGINT", "y VARCHAR"]),
        ("c.tbl", "1|ab|\n2|c|\n", vec!["column0 BIGINT", "column1 VARCHAR"]),
        ("d.psv", "x|y\n1|2\n", vec!["x BIGINT", "y BIGINT"]),
        ("e.txt", "x,y\n1,2\n", vec!["x BIGINT", "y BIGINT"]),
        ("f.csv", "1,2\n3,4\n", vec!["column0 BIGINT", "column1 BIGINT"]),
        ("g.csv", "\u{feff}x\n\n7\n", vec!["x BIGINT"]),
        ("h.csv", "code,name\nAA,American\n", vec!["code VARCHAR", "name VARCHAR"]),
    ] {
        let batch = read_all(&[files.add(name, content)]);
        assert_eq!(types(&batch.schema()), expected, "{name}");
    }
    let one_column = read_all(&[files.path("g.csv").to_str().unwrap().to_owned()]);
    assert_eq!(ints(&one_column, 0), [None, Some(7)], "an empty line is a NULL");
}

#[test]
fn a_bad_csv_row_names_its_physical_line() {
    let files = Files::new();
    let path = files.add("a.csv", "a,b\n1,\"x\ny\"\n2,z\n3\n4,w\n");
    let error = error_of(std::slice::from_ref(&path));
    assert!(error.contains("a.csv, line 5: it has 1 field instead of 2"), "{error}");

    let scan = FileScan::open(&[path], skipping()).unwrap();
    let progress = scan.progress();
    assert_eq!(ints(&read(scan).unwrap(), 0), [Some(1), Some(2), Some(4)]);
    assert_eq!((progress.rows_read(), progress.rows_skipped()), (3, 1));
    assert!(progress.skip_reasons()[0].contains("line 5"));
}

#[test]
fn a_bad_value_names_line_column_value_and_type() {
    let files = Files::new();
    let path = files.add("a.csv", "id,n\n1,10\n2,abc\n3,30\n4,99999999999\n");
    let target = schema(&[("id", DataType::Int64, false), ("n", DataType::Int32, true)]);
    let paths = [path];
    let scan = open(&paths).unwrap().with_schema(target.clone()).unwrap();
    let error = read(scan).unwrap_err().to_string();
    assert!(error.contains("line 3, column \"n\": \"abc\" is not a valid INTEGER"), "{error}");
    assert!(error.contains("--on-error skip"), "{error}");

    let scan = FileScan::open_as(&paths, skipping(), target).unwrap();
    let progress = scan.progress();
    assert_eq!(read(scan).unwrap().num_rows(), 2);
    assert_eq!(progress.rows_skipped(), 2);
}

#[test]
fn broken_text_is_an_error_or_a_skipped_line_but_never_more() {
    let files = Files::new();
    for (name, content, line) in [
        ("utf8.csv", b"a,b\n1,x\n2,\xff\n3,z\n".as_slice(), 3),
        ("quote.csv", b"a,b\n1,x\n2,\"y\n3,z\n".as_slice(), 3),
        ("stray.csv", b"a,b\n1,x\n2,\"y\"y\n3,z\n".as_slice(), 3),
    ] {
        let path = files.add(name, content);
        let error = error_of(std::slice::from_ref(&path));
        assert!(error.contains(&format!("{name}, line {line}")), "{error}");
        let scan = FileScan::open(&[path], skipping()).unwrap();
        let progress = scan.progress();
        assert_eq!(ints(&read(scan).unwrap(), 0), [Some(1), Some(3)], "{name}");
        assert_eq!(progress.rows_skipped(), 1);
    }
}

#[test]
fn a_value_beyond_the_sample_is_an_error_with_its_line() {
    let files = Files::new();
    let mut csv = "a\n".to_owned();
    (0..200_000).for_each(|row| csv.push_str(&format!("{row}\n")));
    csv.push_str("oops\n");
    let path = files.add("a.csv", csv);
    let options = ReadOptions { sample_bytes: 1 << 20, ..ReadOptions::default() };
    let error = read(FileScan::open(&[path], options).unwrap()).unwrap_err().to_string();
    assert!(error.contains("line 200002, column \"a\": \"oops\" is not a valid BIGINT"), "{error}");
}
