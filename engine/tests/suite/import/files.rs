//! Files together, compressed, and as declared types.

use std::io::Write;
use std::sync::Arc;

use arrow::array::{Array, Int32Array, RecordBatch, StringArray};
use arrow::datatypes::{DataType, TimeUnit};
use engine::export::open_export;
use engine::import::{FileFormat, FileScan, ReadOptions};

use super::{Files, error_of, ints, open, read, read_all, schema, skipping, table, types};

#[test]
fn compressed_files_read_like_plain_ones_and_progress_reaches_the_end() {
    let files = Files::new();
    let csv = "a,b\n1,x\n2,y\n";
    let expected = read_all(&[files.add("a.csv", csv)]);
    let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gz.write_all(csv.as_bytes()).unwrap();
    let gz = gz.finish().unwrap();
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    for (name, content) in [("one.csv", csv), ("d/two.csv", "b,a\nz,3\n"), ("README", "hello")] {
        zip.start_file(name, options).unwrap();
        zip.write_all(content.as_bytes()).unwrap();
    }
    let zip = zip.finish().unwrap().into_inner();
    for path in [
        files.add("a.csv.gz", &gz),
        files.add("really-gzip.csv", &gz),
        files.add("a.csv.zst", zstd::encode_all(csv.as_bytes(), 1).unwrap()),
    ] {
        let scan = open(std::slice::from_ref(&path)).unwrap();
        let (progress, total) = (scan.progress(), scan.total_bytes());
        assert_eq!(read(scan).unwrap(), expected, "{path}");
        assert_eq!(progress.bytes_read(), total, "{path}");
    }
    let both = read_all(&[files.add("a.zip", &zip)]);
    assert_eq!(ints(&both, 0), [Some(1), Some(2), Some(3)]);

    let error = error_of(&[files.add("cut.csv.gz", &gz[..gz.len() - 6])]);
    assert!(error.contains("cut.csv.gz is damaged or cut short") && error.ends_with("fetch it again"), "{error}");
    let mut book = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    book.start_file("xl/workbook.xml", options).unwrap();
    let error = error_of(&[files.add("book.xlsx", book.finish().unwrap().into_inner())]);
    assert!(error.contains("Excel") && error.contains("CSV"), "{error}");
    let mut bad = zip.clone();
    bad[40] ^= 0x55;
    error_of(&[files.add("bad.zip", bad)]);
}

#[test]
fn files_globs_and_directories_become_one_table() {
    let files = Files::new();
    files.add("d/1.csv", "a,b\n1,x\n");
    files.add("d/sub/2.csv", "b,a,c\ny,2.5,2013-01-01\n");
    files.add("d/.hidden.csv", "q\n1\n");
    files.add("d/_SUCCESS", "");
    files.add("d/README.md", "# words\n");
    let directory = files.path("d").to_str().unwrap().to_owned();
    let batch = read_all(std::slice::from_ref(&directory));
    assert_eq!(types(&batch.schema()), ["a DOUBLE", "b VARCHAR", "c DATE"]);
    assert_eq!(batch.num_rows(), 2);
    assert_eq!(batch.column(2).null_count(), 1);
    assert_eq!(read_all(&[format!("{directory}/**/*.csv")]), batch);

    let literal = files.add("x[1].csv", "a\n1\n");
    files.add("x1.csv", "a\n2\n");
    assert_eq!(ints(&read_all(&[literal]), 0), [Some(1)], "a literal name wins over a glob");
}

#[test]
fn schemas_that_conflict_name_column_and_files() {
    let files = Files::new();
    let typed = |name: &str, column: Arc<dyn Array>| {
        let batch = RecordBatch::try_from_iter([("k", column)]).unwrap();
        let mut export = open_export(&files.path(name), None, &batch.schema()).unwrap();
        export.write(&batch).unwrap();
        export.finish().unwrap();
        files.path(name).to_str().unwrap().to_owned()
    };
    let int = typed("int.parquet", Arc::new(Int32Array::from(vec![1])));
    let text = typed("text.parquet", Arc::new(StringArray::from(vec!["x"])));
    let error = error_of(&[int.clone(), text]);
    assert!(error.contains("\"k\" is INTEGER in") && error.contains("text.parquet"), "{error}");
    // Integers of a CSV file widen the column.
    let batch = read_all(&[int, files.add("more.csv", "k\n5000000000\n")]);
    assert_eq!(ints(&batch, 0), [Some(1), Some(5_000_000_000)]);
}

#[test]
fn a_declared_schema_matches_by_name_then_by_position() {
    let files = Files::new();
    let target = schema(&[("id", DataType::Int32, false), ("name", DataType::Utf8View, true), ("price", DataType::Decimal128(8, 2), true)]);
    let as_declared = |name: &str, content: &str| read(open(&[files.add(name, content)])?.with_schema(target.clone())?);
    let batch = as_declared("a.csv", "NAME,Id\nx,1\n").unwrap();
    assert!(table(&batch).contains("| 1  | x    |       |"), "{}", table(&batch));
    let batch = as_declared("b.tbl", "1|x|2.505|\n").unwrap();
    assert!(table(&batch).contains("| 1  | x    | 2.51  |"), "{}", table(&batch));
    let batch = as_declared("c.json", "{\"id\": 1, \"price\": 0.1}\n").unwrap();
    assert!(table(&batch).contains("| 1  |      | 0.10  |"), "{}", table(&batch));

    let error = as_declared("d.csv", "name,colour\nx,red\n").unwrap_err().to_string();
    assert!(error.contains("lacks \"id\"") && error.contains("no column \"colour\""), "{error}");
    let error = as_declared("e.tbl", "1|x|\n").unwrap_err().to_string();
    assert!(error.contains("has 2 columns without names, the table has 3"), "{error}");
    let error = as_declared("f.csv", "id,name\n1,x\n,y\n").unwrap_err().to_string();
    assert!(error.contains("line 3, column \"id\": it is NULL"), "{error}");
}

#[test]
fn typed_values_that_do_not_fit_are_errors_not_nulls() {
    let files = Files::new();
    let batch = RecordBatch::try_from_iter([("n", Arc::new(Int32Array::from(vec![1, 300])) as Arc<dyn Array>)]).unwrap();
    let path = files.path("a.parquet");
    let mut export = open_export(&path, None, &batch.schema()).unwrap();
    export.write(&batch).unwrap();
    export.finish().unwrap();
    let paths = [path.to_str().unwrap().to_owned()];
    let target = schema(&[("n", DataType::Int8, true)]);
    let error = read(open(&paths).unwrap().with_schema(target.clone()).unwrap()).unwrap_err();
    let error = error.to_string();
    assert!(error.contains("row 2, column \"n\": \"300\" does not fit TINYINT"), "{error}");
    let scan = FileScan::open_as(&paths, skipping(), target).unwrap();
    let progress = scan.progress();
    assert_eq!(read(scan).unwrap().num_rows(), 1);
    assert_eq!(progress.rows_skipped(), 1);
    let instant = schema(&[("n", DataType::Timestamp(TimeUnit::Microsecond, None), true)]);
    let error = open(&paths).unwrap().with_schema(instant).unwrap_err().to_string();
    assert!(error.contains("is INTEGER, which cannot become TIMESTAMP"), "{error}");
}

#[test]
fn an_explicit_format_overrules_the_name() {
    let files = Files::new();
    let path = files.add("data.log", "one\ntwo\n");
    let options = ReadOptions { format: Some(FileFormat::Csv), ..ReadOptions::default() };
    assert_eq!(read(FileScan::open(&[path], options).unwrap()).unwrap().num_rows(), 1);
}
