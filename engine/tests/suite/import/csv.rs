//! CSV: types, dialects, bad rows.

use arrow::array::{Array, RecordBatch};
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

fn with(set: &[(&str, &str)]) -> ReadOptions {
    let mut options = ReadOptions::default();
    set.iter().for_each(|(name, value)| options.set(name, value).unwrap());
    options
}

fn read_with(path: &str, set: &[(&str, &str)]) -> RecordBatch {
    read(FileScan::open(&[path.to_owned()], with(set)).unwrap()).unwrap()
}

#[test]
fn names_that_are_numbers_empty_or_twice_there_are_a_header() {
    let files = Files::new();
    for (name, content, expected, rows) in [
        ("years.csv", "country,1960,1961\nAruba,4.82,4.65\n", vec!["country VARCHAR", "1960 DOUBLE", "1961 DOUBLE"], 1),
        ("empty.csv", "id,,age\n1,John,30\n", vec!["id BIGINT", "column1 VARCHAR", "age BIGINT"], 1),
        ("end.csv", "a,b,\n1,x,\n", vec!["a BIGINT", "b VARCHAR", "column2 VARCHAR"], 1),
        ("twice.csv", "A,B,B\n1,b,2\n", vec!["A BIGINT", "B VARCHAR", "B_1 BIGINT"], 1),
        ("values.csv", "1,2\n3,4\n", vec!["column0 BIGINT", "column1 BIGINT"], 2),
        ("r.csv", "x,y\n\"1\",2.5,3\n\"2\",3.5,4\n", vec!["column0 BIGINT", "x DOUBLE", "y BIGINT"], 2),
        ("tail.csv", "x,y,z\n1,2,3,\n4,5,6,\n", vec!["x BIGINT", "y BIGINT", "z BIGINT"], 2),
        ("long.csv", "A report\n\nx,y,\n1,2\n4,5\n", vec!["x BIGINT", "y BIGINT"], 2),
    ] {
        let batch = read_all(&[files.add(name, content)]);
        assert_eq!(types(&batch.schema()), expected, "{name}");
        assert_eq!(batch.num_rows(), rows, "{name}");
    }
}

#[test]
fn what_is_above_the_table_and_comments_are_left_out_and_said() {
    let files = Files::new();
    let path = files.add("a.csv", "A report\n\nid,day\n1,31/01/2024\n2,1/2/2024\n");
    let scan = open(std::slice::from_ref(&path)).unwrap();
    let said = format!("{path}: lines 1 to 2 are above the table; dates in \"day\" begin with the day");
    assert_eq!(scan.guesses(), [said]);
    let batch = read(scan).unwrap();
    assert_eq!(types(&batch.schema()), ["id BIGINT", "day DATE"]);
    assert!(table(&batch).contains("2024-02-01"), "{}", table(&batch));

    let path = files.add("b.csv", "# made by hand\nid,name\n1,x\n# so it is\n2,y\n3\n");
    let error = error_of(std::slice::from_ref(&path));
    assert!(error.contains("line 6: it has 1 field instead of 2"), "{error}");
    let scan = FileScan::open(&[path], skipping()).unwrap();
    assert!(scan.guesses()[0].ends_with("lines with '#' are comments"), "{:?}", scan.guesses());
    assert_eq!(ints(&read(scan).unwrap(), 0), [Some(1), Some(2)]);
    let plain = open(&[files.add("plain.csv", "id,name\n1,x\n")]).unwrap();
    assert!(plain.guesses().is_empty());
}

#[test]
fn a_line_that_is_longer_than_the_others_is_no_title_but_an_error() {
    let files = Files::new();
    let error = error_of(&[files.add("a.csv", "a,b,c\n1,2\n3,4\n")]);
    assert!(error.contains("line 2: it has 2 fields instead of 3"), "{error}");
    for (name, text) in [("b.csv", "a,b\n1,2\n3,4,\"\"\n"), ("c.csv", "a,b\n1,2\n3,4,,\n"), ("d.csv", "a,text\n1,so\n2,it is,\n")] {
        let error = error_of(&[files.add(name, text)]);
        assert!(error.contains("line 3: it has "), "an empty text, two fields or a comma of a text are not left out: {error}");
    }
}

#[test]
fn quotes_and_escapes_of_other_kinds_are_found_out() {
    let files = Files::new();
    let escaped = read_all(&[files.add("a.csv", "id,t\n1,\"say \\\"a, b\\\"!\"\n2,c\n")]);
    assert_eq!(texts(&escaped, 1), [Some("say \"a, b\"!"), Some("c")]);
    let spaced = read_all(&[files.add("b.csv", "id, t\n1,   \"a, b\"\n2, \"c\"\n")]);
    assert_eq!(texts(&spaced, 1), [Some("a, b"), Some("c")]);
    let single = read_all(&[files.add("c.csv", "'id';'t'\n1;'a; b'\n2;'c'\n")]);
    assert_eq!(types(&single.schema()), ["id BIGINT", "t VARCHAR"]);
    assert_eq!(texts(&single, 1), [Some("a; b"), Some("c")]);
}

#[test]
fn values_of_other_notations_have_types() {
    let files = Files::new();
    let csv = "ok,fine,at,us\nyes,2024-01-31 10:00:00.123456789,4:10:00,01/31/2024 9:05\nNo,,14:00:00,1/2/2024 10:00\n";
    let batch = read_all(&[files.add("a.csv", csv)]);
    assert_eq!(types(&batch.schema()), ["ok BOOLEAN", "fine TIMESTAMP(9)", "at TIME", "us TIMESTAMP"]);
    for shown in ["2024-01-31T10:00:00.123456789", "04:10:00", "2024-01-31T09:05:00", "2024-01-02T10:00:00"] {
        assert!(table(&batch).contains(shown), "{}", table(&batch));
    }
    let either = read_all(&[files.add("b.csv", "day\n1/2/2024\n3/4/2024\n")]);
    assert_eq!(types(&either.schema()), ["day VARCHAR"], "nothing decides the order");
}

#[test]
fn the_user_says_what_is_not_found_out() {
    let files = Files::new();
    let path = files.add("a.csv", "a;b;day\n1;2;3\n1,5;x;1.2.2024\n-;!y;3.4.2024\n!no\n");
    let set = [("skip", "2"), ("header", "false"), ("decimal", ","), ("date_format", "%d.%m.%Y"), ("null", "-"), ("comment", "!")];
    let batch = read_with(&path, &set);
    assert_eq!(types(&batch.schema()), ["column0 DOUBLE", "column1 VARCHAR", "column2 DATE"]);
    assert!(table(&batch).contains("2024-02-01") && table(&batch).contains("1.5"), "{}", table(&batch));
    assert_eq!((batch.num_rows(), batch.column(0).null_count()), (2, 1));

    let mut options = with(&[("quote", "|"), ("escape", "^")]);
    options.types = vec![("Zip".to_owned(), DataType::Utf8View)];
    let path = files.add("b.csv", "zip,t\n501,|a^|,b|\n");
    let batch = read(FileScan::open(std::slice::from_ref(&path), options.clone()).unwrap()).unwrap();
    assert_eq!((texts(&batch, 0), texts(&batch, 1)), (vec![Some("501")], vec![Some("a|,b")]));
    options.types[0].0 = "nothing".to_owned();
    let error = FileScan::open(&[path], options).unwrap_err().to_string();
    assert!(error.contains("\"nothing\""), "{error}");
}

#[test]
fn text_in_another_encoding_is_read_if_the_user_says_which() {
    let files = Files::new();
    let text = "name,n\nJosé,1\n";
    let utf16: Vec<u8> = std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let latin1: Vec<u8> = text.chars().map(|char| u8::try_from(u32::from(char)).unwrap()).collect();
    for (name, bytes, encoding) in [("a.csv", &utf16, "utf-16"), ("b.csv", &latin1, "latin-1"), ("c.csv", &latin1, "windows-1252")] {
        let path = files.add(name, bytes);
        let batch = read_with(&path, &[("encoding", encoding)]);
        assert_eq!(types(&batch.schema()), ["name VARCHAR", "n BIGINT"], "{name}");
        assert_eq!(texts(&batch, 0), [Some("José")], "{name}");
        let error = error_of(&[path]);
        assert!(error.contains("utf-16") || error.contains("latin-1"), "{error}");
    }
}
