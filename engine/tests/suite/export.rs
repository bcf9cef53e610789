//! Batches into files, and back.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use arrow::array::{
    Array, ArrayRef, BinaryViewArray, BooleanArray, Date32Array, Decimal128Array, DictionaryArray, Float64Array, Int64Array, ListArray,
    RecordBatch, StringViewArray, TimestampMicrosecondArray,
};
use arrow::compute::concat_batches;
use arrow::datatypes::{Int32Type, Int64Type, SchemaRef};
use arrow::util::pretty::pretty_format_batches;
use engine::export::{ExportError, ExportSummary, export_to, open_export};
use engine::import::{FileFormat, FileScan, ReadOptions};

fn flat() -> RecordBatch {
    let texts = vec![Some("plain"), Some(""), None, Some("a,\"b\"\nc"), Some("NA")];
    let bytes: Vec<Option<&[u8]>> = vec![Some(b"\0\xff"), Some(b""), None, Some(b"x"), None];
    let amounts = vec![Some(125), None, Some(-350), Some(0), Some(1)];
    RecordBatch::try_from_iter([
        ("n", Arc::new(Int64Array::from(vec![Some(1), None, Some(i64::MIN), Some(0), Some(7)])) as ArrayRef),
        ("s", Arc::new(StringViewArray::from(texts)) as ArrayRef),
        ("b", Arc::new(BinaryViewArray::from(bytes)) as ArrayRef),
        ("x", Arc::new(Float64Array::from(vec![Some(0.1), Some(f64::NAN), None, Some(-0.0), Some(1e300)])) as ArrayRef),
        ("ok", Arc::new(BooleanArray::from(vec![Some(true), Some(false), None, None, Some(true)])) as ArrayRef),
        ("d", Arc::new(Date32Array::from(vec![Some(0), Some(-1), None, Some(20_000), Some(1)])) as ArrayRef),
        ("t", Arc::new(TimestampMicrosecondArray::from(vec![Some(1), Some(-1), None, Some(0), Some(86_400_000_000)])) as ArrayRef),
        ("m", Arc::new(Decimal128Array::from(amounts).with_precision_and_scale(10, 2).unwrap()) as ArrayRef),
    ])
    .unwrap()
}

fn save(batch: &RecordBatch, path: &Path) -> Result<ExportSummary, ExportError> {
    let mut export = open_export(path, None, &batch.schema())?;
    export.write(batch)?;
    export.finish()
}

fn load(path: &Path, schema: SchemaRef) -> RecordBatch {
    let paths = [path.to_str().unwrap().to_owned()];
    let scan = FileScan::open_as(&paths, ReadOptions::default(), schema.clone()).unwrap();
    let batches = scan.batches().collect::<Result<Vec<_>, _>>().unwrap();
    concat_batches(&schema, &batches).unwrap()
}

fn shown(batch: &RecordBatch) -> String {
    pretty_format_batches(std::slice::from_ref(batch)).unwrap().to_string()
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn every_format_reads_back_what_was_written() {
    let dir = tempfile::tempdir().unwrap();
    let batch = flat();
    for name in ["a.parquet", "a.arrow", "a.csv", "a.csv.gz", "a.csv.zst", "a.tsv"] {
        let path = dir.path().join(name);
        let summary = save(&batch, &path).unwrap();
        assert_eq!(summary.rows, 5);
        assert_eq!(summary.size_bytes, fs::metadata(&path).unwrap().len(), "{name}");
        let back = load(&path, batch.schema());
        assert_eq!(shown(&back), shown(&batch), "{name}");
        assert_eq!(back.column(1).null_count(), 1, "{name}: an empty text is no NULL");
    }
}

#[test]
fn json_lines_keep_nested_columns_and_say_null() {
    let dir = tempfile::tempdir().unwrap();
    let lists = vec![Some(vec![Some(1), None]), None, Some(vec![])];
    let batch = RecordBatch::try_from_iter([
        ("s", Arc::new(StringViewArray::from(vec![None, Some("é\n"), Some("")])) as ArrayRef),
        ("l", Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists)) as ArrayRef),
    ])
    .unwrap();
    for name in ["a.json", "a.jsonl.gz", "a.ndjson.zst"] {
        let path = dir.path().join(name);
        save(&batch, &path).unwrap();
        assert_eq!(shown(&load(&path, batch.schema())), shown(&batch), "{name}");
    }
    let text = fs::read_to_string(dir.path().join("a.json")).unwrap();
    assert!(text.starts_with("{\"s\":null,\"l\":[1,null]}\n"), "{text}");
}

#[test]
fn an_export_that_does_not_finish_leaves_the_old_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.csv");
    fs::write(&path, "old").unwrap();
    let mut export = open_export(&path, None, &flat().schema()).unwrap();
    export.write(&flat()).unwrap();
    assert_eq!(entries(dir.path()).len(), 2);
    drop(export);
    assert_eq!(entries(dir.path()), [path.clone()]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "old");
    save(&flat(), &path).unwrap();
    assert_eq!(entries(dir.path()), [path.clone()]);
    assert!(fs::read_to_string(&path).unwrap().starts_with("n,s,b,x,ok,d,t,m\n"));
}

#[test]
fn what_cannot_be_written_is_refused_before_a_file_is_made() {
    let dir = tempfile::tempdir().unwrap();
    let lists = ListArray::from_iter_primitive::<Int64Type, _, _>([Some(vec![Some(1)])]);
    let nested = RecordBatch::try_from_iter([("l", Arc::new(lists) as ArrayRef)]).unwrap();
    for (batch, name, expected) in [
        (&nested, "a.csv", "column \"l\" is BIGINT[], which CSV cannot hold"),
        (&nested, "a.xyz", "cannot tell the format"),
        (&nested, "a.parquet.gz", "only CSV and JSON can be compressed"),
        (&nested, "a.csv.zip", "zip archive"),
        (&nested, "no/such/dir/a.json", "there is no directory"),
    ] {
        let error = save(batch, &dir.path().join(name)).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    assert!(save(&nested, dir.path()).unwrap_err().to_string().contains("is a directory"));
    assert!(entries(dir.path()).is_empty());
}

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Shared {
    fn write(&mut self, buf: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(buf);
        Ok(buf.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_writer_of_the_caller_gets_every_format() {
    let codes: DictionaryArray<Int32Type> = vec!["x", "y", "x"].into_iter().collect();
    let batch = RecordBatch::try_from_iter([("c", Arc::new(codes) as ArrayRef)]).unwrap();
    let dir = tempfile::tempdir().unwrap();
    for (format, name) in
        [(FileFormat::Csv, "a.csv"), (FileFormat::Json, "a.json"), (FileFormat::Arrow, "a.arrow"), (FileFormat::Parquet, "a.parquet")]
    {
        let shared = Shared::default();
        let mut export = export_to(Box::new(shared.clone()), format, &batch.schema()).unwrap();
        export.write(&batch).unwrap();
        let summary = export.finish().unwrap();
        let bytes = shared.0.lock().unwrap().clone();
        assert_eq!(summary.size_bytes, bytes.len() as u64);
        let path = dir.path().join(name);
        fs::write(&path, bytes).unwrap();
        let paths = [path.to_str().unwrap().to_owned()];
        let scan = FileScan::open(&paths, ReadOptions::default()).unwrap();
        let rows = scan.batches().map(|batch| batch.unwrap().num_rows()).sum::<usize>();
        assert_eq!(rows, 3, "{name}");
    }
}

#[test]
fn the_file_of_no_rows_has_its_columns() {
    let dir = tempfile::tempdir().unwrap();
    let schema = flat().schema();
    for name in ["a.parquet", "a.arrow", "a.csv"] {
        let path = dir.path().join(name);
        open_export(&path, None, &schema).unwrap().finish().unwrap();
        assert_eq!(load(&path, schema.clone()).num_rows(), 0, "{name}");
    }
}
