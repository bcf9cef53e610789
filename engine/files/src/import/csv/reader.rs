//! Turns records into batches of typed columns.

use std::io::Read;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use arrow::compute::filter_record_batch;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};

use super::notation::{DateNotation, with_point};
use super::plan::CsvPlan;
use super::records::{Record, RecordError, Records};
use crate::import::BATCH_ROWS;
use crate::import::infer::is_soft_null;
use crate::import::leaf::{Leaf, leaf_for};
use crate::import::options::{OnError, ReadOptions};
use crate::import::progress::ImportProgress;
use crate::import::source::Source;
use common::error::import::{BadRow, HINT_SKIP, HINT_TYPE, IS_NULL, ImportError, RowPosition, quote_value};
use common::file_format::FileFormat;
use common::type_names::plain::sql_type_name;

/// A batch ends at this size even if it has few rows: wide rows must not fill the memory.
const BATCH_BYTES: usize = 16 << 20;

/// The batches of one file: its columns, in its order, with the types of `fields`.
pub struct CsvBatches {
    file: String,
    records: Records<Box<dyn Read + Send>>,
    plan: CsvPlan,
    columns: Vec<Column>,
    schema: SchemaRef,
    null_tokens: Vec<String>,
    on_error: OnError,
    progress: Arc<ImportProgress>,
    is_header_pending: bool,
    /// Which rows of the batch under construction are good.
    good: Vec<bool>,
    bytes: usize,
}

struct Column {
    field: Field,
    leaf: Box<dyn Leaf>,
    is_text: bool,
    is_float: bool,
    /// Dates in another notation than ISO 8601.
    dates: Option<DateNotation>,
    /// A number with a decimal comma.
    has_comma: bool,
}

enum Step {
    Row,
    Skipped,
    End,
}

impl CsvBatches {
    pub fn open(
        source: &Source,
        plan: CsvPlan,
        fields: Vec<Field>,
        options: &ReadOptions,
        progress: Arc<ImportProgress>,
    ) -> Result<Self, ImportError> {
        let bytes = source.open_text(Some(progress.clone()))?;
        let file = source.label();
        let mut columns = fields.into_iter().map(|field| column_for(field, &file)).collect::<Result<Vec<_>, _>>()?;
        for (index, column) in columns.iter_mut().enumerate() {
            let data_type = column.field.data_type();
            column.dates = plan.date_notation(index, data_type, &options.csv);
            column.has_comma = options.csv.has_decimal_comma && data_type.is_numeric();
        }
        let mut records = Records::new(bytes, plan.dialect.syntax);
        records.skip_lines(plan.dialect.skipped_lines).map_err(|error| ImportError::reading(&file, FileFormat::Csv, error))?;
        Ok(CsvBatches {
            records,
            is_header_pending: plan.has_header,
            plan,
            schema: Arc::new(Schema::empty()),
            columns,
            file,
            null_tokens: options.csv.null.clone(),
            on_error: options.on_error,
            progress,
            good: Vec::with_capacity(BATCH_ROWS),
            bytes: 0,
        })
    }

    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>, ImportError> {
        let mut is_end = false;
        while self.good.len() < BATCH_ROWS && self.bytes < BATCH_BYTES && !is_end {
            is_end = match self.step() {
                Ok(Step::Row | Step::Skipped) => false,
                Ok(Step::End) => true,
                Err(ImportError::BadRow(row)) if self.on_error == OnError::Skip => {
                    self.progress.skip(|| row.to_string());
                    false
                }
                Err(error) => return Err(error),
            };
        }
        if self.good.is_empty() { Ok(None) } else { self.finish_batch().map(Some) }
    }

    fn step(&mut self) -> Result<Step, ImportError> {
        let record = match self.records.next_record() {
            Ok(Some(record)) => record,
            Ok(None) => return Ok(Step::End),
            Err(RecordError::Io(error)) => {
                return Err(ImportError::reading(&self.file, FileFormat::Csv, error));
            }
            Err(RecordError::Bad { line, problem }) => {
                return Err(bad_row(&self.file, line, None, problem, HINT_SKIP));
            }
            Err(RecordError::Unclosed { line }) => {
                // Only the line with the quote is lost, and not the lines that it would have swallowed.
                self.records.skip_line();
                let problem = "the quote opened here is never closed".to_owned();
                return Err(bad_row(&self.file, line, None, problem, HINT_SKIP));
            }
        };
        // In a file of one column an empty line is a NULL; in other files it is skipped.
        if record.is_blank() && (self.columns.len() > 1 || self.is_header_pending) {
            return Ok(Step::Skipped);
        }
        if std::mem::take(&mut self.is_header_pending) {
            return Ok(Step::Skipped);
        }
        check_width(&self.file, &self.plan, &record)?;
        self.bytes += push_row(&self.file, &record, &mut self.columns, &self.null_tokens).inspect_err(|_| self.good.push(false))?;
        self.good.push(true);
        Ok(Step::Row)
    }

    fn finish_batch(&mut self) -> Result<RecordBatch, ImportError> {
        let rows = self.good.len();
        let arrays: Vec<ArrayRef> = self.columns.iter_mut().map(|column| column.leaf.finish()).collect();
        if self.schema.fields().len() != arrays.len() {
            let fields = self.columns.iter().zip(&arrays);
            let fields = fields.map(|(column, array)| Field::new(column.field.name(), array.data_type().clone(), true));
            self.schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        }
        let internal = |error: arrow::error::ArrowError| ImportError::Internal { file: self.file.clone(), reason: error.to_string() };
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let mut batch = RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options).map_err(internal)?;
        if self.good.contains(&false) {
            let good = BooleanArray::from(std::mem::take(&mut self.good));
            batch = filter_record_batch(&batch, &good).map_err(internal)?;
        }
        self.good.clear();
        self.bytes = 0;
        Ok(batch)
    }
}

fn column_for(field: Field, file: &str) -> Result<Column, ImportError> {
    let data_type = field.data_type();
    let leaf = leaf_for(data_type).ok_or_else(|| ImportError::CannotConvert {
        file: file.to_owned(),
        column: field.name().clone(),
        from: "text".to_owned(),
        to: sql_type_name(data_type),
    })?;
    let is_text = matches!(
        data_type,
        DataType::Utf8
            | DataType::LargeUtf8
            | DataType::Utf8View
            | DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
            | DataType::FixedSizeBinary(_)
    );
    let is_float = data_type.is_floating();
    Ok(Column { leaf, is_text, is_float, field, dates: None, has_comma: false })
}

fn check_width(file: &str, plan: &CsvPlan, record: &Record<'_>) -> Result<(), ImportError> {
    let (found, expected) = (record.len(), plan.names.len());
    let has_tail = plan.has_trailing_delimiter && found == expected + 1 && record.ends_empty();
    if found == expected || has_tail {
        return Ok(());
    }
    let problem = format!("it has {found} {} instead of {expected}", if found == 1 { "field" } else { "fields" });
    Err(bad_row(file, record.line, None, problem, HINT_SKIP))
}

/// Appends a row to all columns. From the first bad value on it appends NULLs, so that the columns keep
/// one length, and returns the error. Returns the bytes of the values.
fn push_row(file: &str, record: &Record<'_>, columns: &mut [Column], null_tokens: &[String]) -> Result<usize, ImportError> {
    let mut bytes = columns.len() * 8;
    for index in 0..columns.len() {
        let (text, is_quoted) = record.field(index);
        bytes += text.len();
        if let Err((problem, hint)) = columns[index].push(text, is_quoted, null_tokens) {
            let name = columns[index].field.name().clone();
            for column in &mut columns[index..] {
                column.leaf.push_null();
            }
            return Err(bad_row(file, record.line, Some(name), problem, hint));
        }
    }
    Ok(bytes)
}

impl Column {
    fn push(&mut self, text: &str, is_quoted: bool, null_tokens: &[String]) -> Result<(), (String, &'static str)> {
        let is_null = match is_quoted {
            false => text.is_empty() || null_tokens.iter().any(|token| token == text),
            // A quoted empty field is a text, and has no value of another type.
            true => text.is_empty() && !self.is_text,
        };
        if !is_null && self.push_value(text) {
            return Ok(());
        }
        let is_soft = || !self.is_text && !is_quoted && is_soft_null(text.trim_ascii()) && !self.is_float_nan(text);
        if !is_null && !is_soft() {
            let name = sql_type_name(self.field.data_type());
            return Err((format!("{} is not a valid {name}", quote_value(text)), HINT_TYPE));
        }
        if !self.field.is_nullable() {
            return Err((IS_NULL.to_owned(), HINT_SKIP));
        }
        self.leaf.push_null();
        Ok(())
    }

    fn push_value(&mut self, text: &str) -> bool {
        if let Some(iso) = self.dates.as_ref().and_then(|dates| dates.iso(text.trim_ascii())) {
            return self.leaf.push(&iso);
        }
        match self.has_comma {
            true => with_point(text).is_some_and(|number| self.leaf.push(&number)),
            false => self.leaf.push(text),
        }
    }

    fn is_float_nan(&self, text: &str) -> bool {
        self.is_float && text.trim_ascii().eq_ignore_ascii_case("nan")
    }
}

fn bad_row(file: &str, line: u64, column: Option<String>, problem: String, hint: &'static str) -> ImportError {
    let place = RowPosition::Line(line);
    BadRow { file: file.to_owned(), place, column, problem, hint }.into()
}
