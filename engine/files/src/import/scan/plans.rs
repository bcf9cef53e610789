//! The plan of a file before its rows are read.

use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef};
use datafusion::common::ScalarValue;

use crate::import::csv::{self, CsvPlan};
use crate::import::json::{self, JsonPlan};
use crate::import::options::ReadOptions;
use crate::import::source::Source;
use crate::import::target::{Mapping, check_types, map_by_name, map_by_position};
use crate::import::{arrow_ipc, parquet};
use common::error::import::ImportError;
use common::file_format::FileFormat;

#[derive(Clone)]
pub(super) struct PlannedFile {
    pub source: Source,
    pub plan: Plan,
    /// From the scan's columns to the file's. JSON finds its columns by key.
    pub mapping: Mapping,
    /// The values of columns that are the same in all rows.
    pub values: Vec<(usize, ScalarValue)>,
    /// The row groups of a Parquet file to read; `None`: all of them.
    pub row_groups: Option<Vec<usize>>,
}

#[derive(Clone)]
pub(super) enum Plan {
    Csv(CsvPlan),
    Json(JsonPlan),
    Parquet(SchemaRef),
    Arrow(SchemaRef),
}

pub(super) fn plan_file(source: Source, options: &ReadOptions, sample_bytes: u64) -> Result<PlannedFile, ImportError> {
    let plan = match source.format {
        FileFormat::Csv => Plan::Csv(csv::plan(&source, options, sample_bytes)?),
        FileFormat::Json => Plan::Json(json::plan(&source, sample_bytes)?),
        FileFormat::Parquet => Plan::Parquet(parquet::schema(&source)?),
        FileFormat::Arrow => Plan::Arrow(arrow_ipc::schema(&source)?),
    };
    Ok(PlannedFile { source, plan, mapping: Mapping::new(), values: Vec::new(), row_groups: None })
}

impl PlannedFile {
    pub fn schema(&self) -> SchemaRef {
        match &self.plan {
            Plan::Csv(plan) => plan.schema(),
            Plan::Json(plan) => plan.schema.clone(),
            Plan::Parquet(schema) | Plan::Arrow(schema) => schema.clone(),
        }
    }

    pub fn is_inferred(&self) -> bool {
        matches!(self.plan, Plan::Csv(_) | Plan::Json(_))
    }

    /// Whether its columns have names.
    pub fn has_names(&self) -> bool {
        !matches!(&self.plan, Plan::Csv(plan) if !plan.has_header)
    }

    pub fn guesses(&self) -> Vec<String> {
        match &self.plan {
            Plan::Csv(plan) => plan.guesses(),
            Plan::Json(_) | Plan::Parquet(_) | Plan::Arrow(_) => Vec::new(),
        }
    }

    pub fn settle_header(&mut self, target: &Schema) {
        if let Plan::Csv(plan) = &mut self.plan {
            plan.settle_header(target);
        }
    }
}

/// Finds the file's column for each column of `target`, and checks that they go together.
pub(super) fn fit(file: &mut PlannedFile, target: &Schema) -> Result<(), ImportError> {
    let label = file.source.label();
    let own = file.schema();
    file.mapping = match &file.plan {
        Plan::Csv(plan) if !plan.has_header => {
            // The names were generated: the merged schema was made from them, so they match it by position too.
            map_by_position(&label, own.fields().len(), target)
                .or_else(|error| map_by_name(&label, own.fields(), target).map_err(|_| error))?
        }
        Plan::Json(_) => {
            map_by_name(&label, own.fields(), target)?;
            (0..target.fields().len()).map(Some).collect()
        }
        _ => map_by_name(&label, own.fields(), target)?,
    };
    match &file.plan {
        Plan::Parquet(_) | Plan::Arrow(_) => check_types(&label, own.fields(), target, &file.mapping),
        Plan::Csv(_) | Plan::Json(_) => Ok(()),
    }
}

/// The file's columns in its own order, with the types of the scan's columns; those that the scan does not read have none.
pub(super) fn csv_fields(own: &Fields, mapping: &Mapping, target: &Schema) -> Vec<Field> {
    let column = |(index, field): (usize, &std::sync::Arc<Field>)| {
        let place = mapping.iter().position(|place| *place == Some(index));
        match place.map(|place| target.field(place)) {
            Some(target_field) => {
                let data_type = match target_field.data_type() {
                    DataType::Dictionary(_, value) => value.as_ref().clone(),
                    DataType::RunEndEncoded(_, values) => values.data_type().clone(),
                    other => other.clone(),
                };
                Field::new(field.name(), data_type, target_field.is_nullable())
            }
            None => Field::new(field.name(), DataType::Null, true),
        }
    };
    own.iter().enumerate().map(column).collect()
}
