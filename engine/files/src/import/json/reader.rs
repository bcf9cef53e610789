//! Turns records into batches.

use std::io::Read;
use std::sync::Arc;

use arrow::array::{BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::datatypes::{DataType, SchemaRef};

use super::frames::{FrameError, Frames};
use super::nodes::Node;
use super::plan::JsonPlan;
use super::struct_node::StructNode;
use crate::import::BATCH_ROWS;
use crate::import::options::{OnError, ReadOptions};
use crate::import::progress::ImportProgress;
use crate::import::source::Source;
use common::error::import::{BadRow, HINT_SKIP, HINT_TYPE, ImportError, RowPosition};
use common::file_format::FileFormat;
use common::type_names::plain::sql_type_name;

/// A batch ends at this size even if it has few rows: wide rows must not fill the memory.
const BATCH_BYTES: usize = 16 << 20;

/// The batches of one file, with the columns of a schema (keys find their columns by name).
pub struct JsonBatches {
    file: String,
    frames: Frames<Box<dyn Read + Send>>,
    rows: StructNode,
    is_value: bool,
    on_error: OnError,
    progress: Arc<ImportProgress>,
    good: Vec<bool>,
    bytes: usize,
    is_broken: bool,
}

impl JsonBatches {
    pub fn open(
        source: &Source,
        plan: &JsonPlan,
        schema: &SchemaRef,
        options: &ReadOptions,
        progress: Arc<ImportProgress>,
    ) -> Result<Self, ImportError> {
        let file = source.label();
        let rows = StructNode::new(schema.fields()).ok_or_else(|| impossible(&file, schema))?;
        let bytes = source.open_text(Some(progress.clone()))?;
        Ok(JsonBatches {
            frames: Frames::new(bytes, plan.framing),
            file,
            rows,
            is_value: plan.is_value,
            on_error: options.on_error,
            progress,
            good: Vec::with_capacity(BATCH_ROWS),
            bytes: 0,
            is_broken: false,
        })
    }

    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>, ImportError> {
        let mut is_end = self.is_broken;
        while self.good.len() < BATCH_ROWS && self.bytes < BATCH_BYTES && !is_end {
            is_end = match self.step() {
                Ok(is_row) => !is_row,
                Err(ImportError::BadRow(row)) if self.on_error == OnError::Skip => {
                    self.progress.skip(|| row.to_string());
                    self.is_broken
                }
                Err(error) => return Err(error),
            };
        }
        if self.good.is_empty() { Ok(None) } else { self.finish_batch().map(Some) }
    }

    /// Appends one record; `false` at the end.
    fn step(&mut self) -> Result<bool, ImportError> {
        let bad = |line, column, problem, hint| {
            let place = RowPosition::Line(line);
            Err(BadRow { file: self.file.clone(), place, column, problem, hint }.into())
        };
        match self.frames.next_frame() {
            Ok(None) => Ok(false),
            Ok(Some((text, line))) => {
                self.bytes += text.len();
                let pushed = self.rows.push_record(text, self.is_value);
                self.good.push(pushed.is_ok());
                match pushed {
                    Ok(()) => Ok(true),
                    Err(misfit) => {
                        let path: Vec<String> = misfit.path.into_iter().rev().collect();
                        let column = (!path.is_empty()).then(|| path.join("."));
                        let hint = if misfit.is_broken { HINT_SKIP } else { HINT_TYPE };
                        bad(line, column, misfit.problem, hint)
                    }
                }
            }
            Err(FrameError::Bad { line, problem }) => bad(line, None, problem, HINT_SKIP),
            Err(FrameError::Broken { line, problem }) => {
                // The next record cannot be found; with `Skip` the records before it are kept.
                self.is_broken = true;
                bad(line, None, problem, HINT_SKIP)
            }
            Err(FrameError::Io(error)) => Err(ImportError::reading(&self.file, FileFormat::Json, error)),
        }
    }

    fn finish_batch(&mut self) -> Result<RecordBatch, ImportError> {
        let internal = |error: arrow::error::ArrowError| ImportError::Internal { file: self.file.clone(), reason: error.to_string() };
        let (rows, _) = (self.rows.finish().map_err(internal)?, self.bytes = 0);
        let good = std::mem::take(&mut self.good);
        let (fields, columns, _) = rows.into_parts();
        let options = arrow::array::RecordBatchOptions::new().with_row_count(Some(good.len()));
        let schema = Arc::new(arrow::datatypes::Schema::new(fields));
        let batch = RecordBatch::try_new_with_options(schema, columns, &options).map_err(internal)?;
        match good.contains(&false) {
            true => filter_record_batch(&batch, &BooleanArray::from(good)).map_err(internal),
            false => Ok(batch),
        }
    }
}

fn impossible(file: &str, schema: &SchemaRef) -> ImportError {
    let field = schema.fields().iter().find(|field| Node::new(field.data_type()).is_none());
    ImportError::CannotConvert {
        file: file.to_owned(),
        column: field.map(|field| field.name().clone()).unwrap_or_default(),
        from: "JSON".to_owned(),
        to: sql_type_name(field.map_or(&DataType::Null, |field| field.data_type())),
    }
}
