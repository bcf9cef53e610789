//! The rows of all files, batch by batch, in the scan's schema.

use std::sync::Arc;
use std::vec::IntoIter;

use arrow::array::{RecordBatch, RecordBatchOptions};
use arrow::compute::concat_batches;
use arrow::datatypes::{Fields, Schema, SchemaRef};
use datafusion::common::{DataFusionError, ScalarValue};

use super::FileScan;
use super::plans::{Plan, PlannedFile, csv_fields};
use crate::import::arrow_ipc::ArrowBatches;
use crate::import::conform::find_field;
use crate::import::csv::CsvBatches;
use crate::import::json::JsonBatches;
use crate::import::options::{OnError, ReadOptions};
use crate::import::parquet::ParquetBatches;
use crate::import::progress::ImportProgress;
use crate::import::target::{BatchMismatch, Mapping, assemble, used_columns};
use common::error::import::{BadRow, HINT_TYPE, ImportError, RowPosition};

/// See [`super::FileScan::batches`].
pub struct Batches {
    files: IntoIter<PlannedFile>,
    current: Option<Current>,
    /// All columns of the files, of which `schema` has those that are read.
    columns: SchemaRef,
    schema: SchemaRef,
    options: ReadOptions,
    progress: Arc<ImportProgress>,
    has_ended: bool,
}

struct Current {
    file: String,
    reader: Reader,
    mapping: Mapping,
    /// The scan's, but columns of `values` may be NULL: they are filled in later.
    schema: SchemaRef,
    values: Vec<(usize, ScalarValue)>,
    /// The number of rows of the file before the current batch.
    rows_before: u64,
}

enum Reader {
    // They are boxed because their sizes differ by a kilobyte.
    Csv(Box<CsvBatches>),
    Json(Box<JsonBatches>),
    Parquet(Box<ParquetBatches>),
    Arrow(Box<ArrowBatches>),
}

impl Batches {
    pub(super) fn new(scan: FileScan) -> Self {
        let FileScan { files, columns, schema, options, progress } = scan;
        Batches { files: files.into_iter(), current: None, columns, schema, options, progress, has_ended: false }
    }

    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn open(&self, file: PlannedFile) -> Result<Current, ImportError> {
        let (source, progress) = (&file.source, self.progress.clone());
        let own = file.schema();
        let schema = with_nullable(&self.schema, |place| file.values.iter().any(|(of, _)| *of == place));
        // Readers of typed formats have only the columns that are read, in the order of the file.
        let (columns, mapping) = match &file.plan {
            Plan::Parquet(_) | Plan::Arrow(_) => used_columns(file.mapping, own.fields().len()),
            Plan::Csv(_) | Plan::Json(_) => (None, file.mapping),
        };
        let reader = match file.plan {
            Plan::Csv(plan) => {
                let fields = csv_fields(own.fields(), &mapping, &self.schema);
                let batches = CsvBatches::open(source, plan, fields, &self.options, progress)?;
                Reader::Csv(Box::new(batches))
            }
            Plan::Json(plan) => {
                // It may lack a column that the names of its directories have.
                let all = with_nullable(&self.columns, |column| find_field(own.fields(), self.columns.field(column).name()).is_none());
                let batches = JsonBatches::open(source, &plan, &all, &self.options, progress)?;
                Reader::Json(Box::new(batches))
            }
            Plan::Parquet(_) => Reader::Parquet(Box::new(ParquetBatches::open(source, columns, file.row_groups, progress)?)),
            Plan::Arrow(_) => Reader::Arrow(Box::new(ArrowBatches::open(source, columns, progress)?)),
        };
        Ok(Current { file: source.label(), reader, mapping, schema, values: file.values, rows_before: 0 })
    }

    fn advance(&mut self) -> Result<Option<RecordBatch>, ImportError> {
        loop {
            let Some(current) = &mut self.current else {
                let Some(file) = self.files.next() else { return Ok(None) };
                self.current = Some(self.open(file)?);
                continue;
            };
            let Some(batch) = current.reader.next_batch()? else {
                self.current = None;
                continue;
            };
            let batch = current.fit(&batch, self.options.on_error, &self.progress)?;
            let batch = with_values(batch, &current.values, &self.schema)
                .map_err(|error| ImportError::Unsupported { file: current.file.clone(), what: error.to_string() })?;
            if batch.num_rows() > 0 {
                self.progress.add_rows(batch.num_rows() as u64);
                return Ok(Some(batch));
            }
        }
    }
}

/// The batch with the values that all rows of its file have.
fn with_values(batch: RecordBatch, values: &[(usize, ScalarValue)], schema: &SchemaRef) -> Result<RecordBatch, DataFusionError> {
    if values.is_empty() {
        return Ok(batch);
    }
    let (_, mut columns, rows) = batch.into_parts();
    for (place, value) in values {
        columns[*place] = value.to_array_of_size(rows)?;
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(schema.clone(), columns, &options)?)
}

/// The schema in which these columns may be NULL.
fn with_nullable(schema: &SchemaRef, is_nullable: impl Fn(usize) -> bool) -> SchemaRef {
    let fields = schema.fields().iter().enumerate().map(|(index, field)| match is_nullable(index) {
        true => Arc::new(field.as_ref().clone().with_nullable(true)),
        false => field.clone(),
    });
    Arc::new(Schema::new_with_metadata(fields.collect::<Fields>(), schema.metadata().clone()))
}

impl Reader {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>, ImportError> {
        match self {
            Reader::Csv(batches) => batches.next_batch(),
            Reader::Json(batches) => batches.next_batch(),
            Reader::Parquet(batches) => batches.next_batch(),
            Reader::Arrow(batches) => batches.next_batch(),
        }
    }
}

impl Current {
    fn fit(&mut self, batch: &RecordBatch, on_error: OnError, progress: &ImportProgress) -> Result<RecordBatch, ImportError> {
        let rows_before = self.rows_before;
        self.rows_before += batch.num_rows() as u64;
        match assemble(batch, &self.mapping, &self.schema) {
            Ok(batch) => Ok(batch),
            Err(unfit) if on_error == OnError::Abort => Err(self.bad_row(unfit, rows_before).into()),
            Err(_) => self.fit_row_by_row(batch, rows_before, progress),
        }
    }

    /// It is slow, and used only for batches with a bad row.
    fn fit_row_by_row(&self, batch: &RecordBatch, rows_before: u64, progress: &ImportProgress) -> Result<RecordBatch, ImportError> {
        let mut good = Vec::with_capacity(batch.num_rows());
        for row in 0..batch.num_rows() {
            match assemble(&batch.slice(row, 1), &self.mapping, &self.schema) {
                Ok(batch) => good.push(batch),
                Err(unfit) => {
                    progress.skip(|| self.bad_row(unfit, rows_before + row as u64).to_string());
                }
            }
        }
        concat_batches(&self.schema, &good).map_err(|error| {
            let unfit = BatchMismatch { row: 0, column: String::new(), problem: error.to_string() };
            self.bad_row(unfit, rows_before).into()
        })
    }

    fn bad_row(&self, unfit: BatchMismatch, rows_before: u64) -> BadRow {
        BadRow {
            file: self.file.clone(),
            place: RowPosition::Row(rows_before + unfit.row as u64 + 1),
            column: (!unfit.column.is_empty()).then_some(unfit.column),
            problem: unfit.problem,
            hint: HINT_TYPE,
        }
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ImportError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_ended {
            return None;
        }
        let next = self.advance().transpose();
        // After an error the state of a reader is not reliable.
        self.has_ended = !matches!(next, Some(Ok(_)));
        if self.has_ended {
            self.current = None;
        }
        next
    }
}
