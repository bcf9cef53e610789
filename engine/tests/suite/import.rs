//! Files of all kinds, good and bad, into batches.

mod bad;
mod csv;
mod files;
mod json;

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{AsArray, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef};
use arrow::util::pretty::pretty_format_batches;
use engine::import::{FileScan, ImportError, OnError, ReadOptions, sql_type_name};
use tempfile::TempDir;

struct Files {
    dir: TempDir,
}

impl Files {
    fn new() -> Files {
        Files { dir: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn add(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

fn open(paths: &[String]) -> Result<FileScan, ImportError> {
    FileScan::open(paths, ReadOptions::default())
}

fn skipping() -> ReadOptions {
    ReadOptions { on_error: OnError::Skip, ..ReadOptions::default() }
}

fn read(scan: FileScan) -> Result<RecordBatch, ImportError> {
    let schema = scan.schema();
    let batches = scan.batches().collect::<Result<Vec<_>, _>>()?;
    for batch in &batches {
        assert_eq!(batch.schema(), schema);
    }
    Ok(concat_batches(&schema, &batches).unwrap())
}

fn read_all(paths: &[String]) -> RecordBatch {
    read(open(paths).unwrap()).unwrap()
}

/// The error of opening or of reading.
fn error_of(paths: &[String]) -> String {
    match open(paths).map(read) {
        Err(error) | Ok(Err(error)) => error.to_string(),
        Ok(Ok(batch)) => panic!("{} rows read", batch.num_rows()),
    }
}

fn types(schema: &Schema) -> Vec<String> {
    let fields = schema.fields().iter();
    fields.map(|field| format!("{} {}", field.name(), sql_type_name(field.data_type()))).collect()
}

fn table(batch: &RecordBatch) -> String {
    pretty_format_batches(std::slice::from_ref(batch)).unwrap().to_string()
}

fn ints(batch: &RecordBatch, column: usize) -> Vec<Option<i64>> {
    batch.column(column).as_primitive::<Int64Type>().iter().collect()
}

fn texts(batch: &RecordBatch, column: usize) -> Vec<Option<&str>> {
    batch.column(column).as_string_view().iter().collect()
}

fn schema(fields: &[(&str, DataType, bool)]) -> SchemaRef {
    let fields = fields.iter().map(|(name, t, nullable)| Field::new(*name, t.clone(), *nullable));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}
