//! The entry to all imports: files with one schema, and the iterator over their rows.

mod batches;
mod directories;
mod divide;
mod plans;
mod prune;
mod source;

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};

pub use self::batches::Batches;
use self::directories::{fit_with_directories, value_in};
use self::plans::{PlannedFile, fit, plan_file};
pub use self::source::FileSource;
use super::conform::find_field;
use super::detect::{detect, nothing_in};
use super::merge::Merge;
use super::options::ReadOptions;
use super::paths::expand;
use super::progress::ImportProgress;
use common::error::import::ImportError;
use common::error::nearest;

/// The limit of the bytes that inference reads from all files of a scan; beyond it each file gets a small sample.
const SAMPLE_BYTES_ALL: u64 = 256 << 20;
const SAMPLE_BYTES_MIN: u64 = 1 << 20;

/// Files that were inspected and not read yet.
#[derive(Clone)]
pub struct FileScan {
    files: Vec<PlannedFile>,
    /// All columns of the files.
    columns: SchemaRef,
    /// The columns that are read.
    schema: SchemaRef,
    options: ReadOptions,
    progress: Arc<ImportProgress>,
}

impl std::fmt::Debug for FileScan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileScan").field("files", &self.file_names()).field("schema", &self.schema).finish_non_exhaustive()
    }
}

/// The schema with the types that the options declare.
fn with_types(schema: &SchemaRef, options: &ReadOptions) -> Result<SchemaRef, ImportError> {
    let mut fields = schema.fields().to_vec();
    if options.csv.has_texts_only {
        fields = fields.iter().map(|field| Arc::new(Field::clone(field).with_data_type(DataType::Utf8View))).collect();
    }
    for (name, data_type) in &options.types {
        let index = find_field(schema.fields(), name).ok_or_else(|| no_column(name, schema))?;
        fields[index] = Arc::new(schema.field(index).clone().with_data_type(data_type.clone()));
    }
    Ok(Arc::new(Schema::new(fields)))
}

fn no_column(name: &str, schema: &Schema) -> ImportError {
    let names = || schema.fields().iter().map(|field| field.name().as_str());
    let hint = match nearest(name, names()) {
        Some(near) => format!("did you mean {near:?}?"),
        None => format!("the files have {}", names().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")),
    };
    ImportError::NoColumn { column: name.to_owned(), hint }
}

impl FileScan {
    /// Finds the files, detects their formats and infers their common schema.
    pub fn open(paths: &[String], options: ReadOptions) -> Result<FileScan, ImportError> {
        if options.columns.is_empty() {
            return Self::open_sampled(paths, options, SAMPLE_BYTES_ALL);
        }
        let columns = options.columns.iter().map(|(name, data_type)| Field::new(name, data_type.clone(), true));
        let target = Arc::new(Schema::new(columns.collect::<Vec<_>>()));
        Self::open_as(paths, options, target)
    }

    /// As `open` and `with_schema`, but does not infer types that it would not use.
    pub fn open_as(paths: &[String], options: ReadOptions, target: SchemaRef) -> Result<FileScan, ImportError> {
        Self::open_sampled(paths, options, 0)?.with_schema(target)
    }

    fn open_sampled(paths: &[String], options: ReadOptions, mut budget_bytes: u64) -> Result<FileScan, ImportError> {
        let candidates = expand(paths, &options.directories)?;
        if candidates.is_empty() {
            return Err(nothing_in(paths));
        }
        let mut files = Vec::new();
        for source in detect(candidates, &options)? {
            let sample_bytes = options.sample_bytes.min(budget_bytes.max(SAMPLE_BYTES_MIN));
            budget_bytes = budget_bytes.saturating_sub(sample_bytes.min(source.size_bytes));
            files.push(plan_file(source, &options, sample_bytes)?);
        }
        let mut merge = Merge::default();
        for file in &files {
            merge.add(&file.schema(), &file.source.label(), file.is_inferred())?;
        }
        let schema = with_types(&merge.finish(), &options)?;
        for file in &mut files {
            fit(file, &schema)?;
        }
        let progress = Arc::new(ImportProgress::default());
        let scan = FileScan { files, columns: schema.clone(), schema, options, progress };
        match scan.options.has_directory_columns {
            true => scan.with_all_directory_columns(),
            false => Ok(scan),
        }
    }

    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// Reads the files with these columns instead: matched by name, or by position if a CSV file has no
    /// header. A nullable column may be missing in a file, and each one be in the names of its directories; a surplus one may
    /// not exist.
    pub fn with_schema(mut self, target: SchemaRef) -> Result<FileScan, ImportError> {
        for file in &mut self.files {
            file.settle_header(&target);
            match self.options.has_directory_columns {
                true => fit_with_directories(file, &target)?,
                false => {
                    fit(file, &target)?;
                    file.values.clear();
                }
            }
        }
        self.columns = target.clone();
        self.schema = target;
        Ok(self)
    }

    /// The indices of the columns of `target` that no file has. A file without names has them all,
    /// or does not fit.
    pub fn missing(&mut self, target: &Schema) -> Vec<usize> {
        let mut missing: Vec<usize> = (0..target.fields().len()).collect();
        for file in &mut self.files {
            file.settle_header(target);
            let own = file.schema();
            let is_directory = |name: &str| self.options.has_directory_columns && value_in(&file.source.path, name).is_some();
            let is_own = |name: &str| !file.has_names() || find_field(own.fields(), name).is_some();
            let has = |column: usize| is_own(target.field(column).name()) || is_directory(target.field(column).name());
            missing.retain(|column| !has(*column));
        }
        missing
    }

    /// The size on disk of the files to be read.
    pub fn total_bytes(&self) -> u64 {
        self.files.iter().map(|file| file.source.size_bytes).sum()
    }

    /// The names of the files (and members of archives), in reading order.
    pub fn file_names(&self) -> Vec<String> {
        self.files.iter().map(|file| file.source.label()).collect()
    }

    /// What was guessed about CSV files and could have been meant otherwise: a line for each file of which there is something to say.
    pub fn guesses(&self) -> Vec<String> {
        let line = |file: &PlannedFile| match file.guesses() {
            guesses if guesses.is_empty() => None,
            guesses => Some(format!("{}: {}", file.source.label(), guesses.join("; "))),
        };
        self.files.iter().filter_map(line).collect()
    }

    pub fn progress(&self) -> Arc<ImportProgress> {
        self.progress.clone()
    }

    /// Reads the files. It blocks, and ends after the first error.
    pub fn batches(self) -> Batches {
        Batches::new(self)
    }
}
