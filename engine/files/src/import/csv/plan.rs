//! How to read one CSV file: its syntax, whether it has a header, and the types of its columns.

use std::io::Read;
use std::sync::Arc;

use arrow::datatypes::{Field, Schema, SchemaRef};

use super::dialect::sniff;
use super::header::{is_header, names_by_position, names_from};
use super::records::{Record, RecordError, Records, Syntax};
use crate::import::infer::{SeenTypes, classify, is_soft_null};
use crate::import::options::{CsvOptions, ReadOptions};
use crate::import::source::Source;
use common::error::import::ImportError;
use common::file_format::FileFormat;

const HEAD_BYTES: u64 = 256 << 10;

#[derive(Clone, Debug)]
pub struct CsvPlan {
    pub(super) syntax: Syntax,
    pub has_header: bool,
    /// True if the user said so; otherwise it was guessed from the file.
    pub is_header_certain: bool,
    /// The fields of the first record. A declared schema may prove that it is a header after all.
    first_record: Vec<String>,
    /// Every record ends with a delimiter (TPC-H's `.tbl`), after which there is no field.
    pub(super) has_trailing_delimiter: bool,
    pub names: Vec<String>,
    types: Vec<SeenTypes>,
}

/// Reads up to `sample_bytes` of the file.
pub fn plan(source: &Source, options: &ReadOptions, sample_bytes: u64) -> Result<CsvPlan, ImportError> {
    let failed = |error| ImportError::reading(&source.label(), FileFormat::Csv, error);
    let mut head = Vec::new();
    let mut bytes = source.open_text(None)?;
    bytes.by_ref().take(HEAD_BYTES).read_to_end(&mut head).map_err(failed)?;
    let syntax = sniff(&head, &options.csv, source.delimiter_hint);

    let sample = head.as_slice().chain(bytes).take(sample_bytes.max(HEAD_BYTES));
    let mut records = Records::new(sample, syntax);
    let first = first_record(&mut records, source)?;
    let mut below = Columns::default();
    loop {
        match records.next_record() {
            // A record with another number of fields is an error for the reader, and no hint on types.
            Ok(Some(record)) if record.len() == first.len() => below.add(&record, &options.csv),
            Ok(Some(_)) | Err(RecordError::Bad { .. }) => {}
            Ok(None) | Err(RecordError::Unclosed { .. }) => break,
            Err(RecordError::Io(error)) => return Err(failed(error)),
        }
    }
    Ok(finish(syntax, first, below, options))
}

fn first_record<R: Read>(records: &mut Records<R>, source: &Source) -> Result<Vec<(String, bool)>, ImportError> {
    loop {
        match records.next_record() {
            Ok(Some(record)) if record.is_blank() => {}
            Ok(Some(record)) => {
                let fields = (0..record.len()).map(|index| record.field(index));
                return Ok(fields.map(|(text, quoted)| (text.to_owned(), quoted)).collect());
            }
            Ok(None) => return Err(ImportError::Empty { file: source.label() }),
            Err(RecordError::Bad { line, problem }) => {
                return Err(source.damaged(format!("line {line}: {problem}")));
            }
            Err(RecordError::Unclosed { line }) => {
                return Err(source.damaged(format!("the quote opened on line {line} never closes")));
            }
            Err(RecordError::Io(error)) => {
                return Err(ImportError::reading(&source.label(), FileFormat::Csv, error));
            }
        }
    }
}

/// The types seen in each column below the first record.
#[derive(Default)]
struct Columns {
    types: Vec<SeenTypes>,
    rows: u64,
    /// Records whose last field is empty and unquoted.
    rows_with_empty_end: u64,
}

impl Columns {
    fn add(&mut self, record: &Record<'_>, options: &CsvOptions) {
        self.types.resize(record.len(), SeenTypes::default());
        for (index, types) in self.types.iter_mut().enumerate() {
            let (text, is_quoted) = record.field(index);
            if !types.is_text() {
                types.add(look_at(text, is_quoted, options));
            }
        }
        self.rows += 1;
        self.rows_with_empty_end += u64::from(record.field(record.len() - 1) == ("", false));
    }
}

fn look_at(text: &str, is_quoted: bool, options: &CsvOptions) -> SeenTypes {
    if is_quoted && !text.is_empty() {
        return classify(text);
    }
    // A quoted empty field is no hint either: writers that quote all fields write NULL so.
    if text.is_empty() || options.null.iter().any(|token| token == text) {
        return SeenTypes::default();
    }
    match classify(text) {
        SeenTypes::TEXT if is_soft_null(text.trim_ascii()) => SeenTypes::default(),
        types => types,
    }
}

fn finish(syntax: Syntax, mut first: Vec<(String, bool)>, mut below: Columns, options: &ReadOptions) -> CsvPlan {
    let has_trailing_delimiter = syntax.delimiter == b'|'
        && first.len() > 1
        && first.last().is_some_and(|(text, quoted)| text.is_empty() && !quoted)
        && below.rows == below.rows_with_empty_end;
    if has_trailing_delimiter {
        first.pop();
    }
    below.types.resize(first.len(), SeenTypes::default());
    let texts: Vec<String> = first.iter().map(|(text, _)| text.clone()).collect();
    let has_header = options.csv.header.unwrap_or_else(|| is_header(&texts, &below.types));
    if !has_header {
        for (types, (text, is_quoted)) in below.types.iter_mut().zip(&first) {
            types.add(look_at(text, *is_quoted, &options.csv));
        }
    }
    CsvPlan {
        syntax,
        has_header,
        is_header_certain: options.csv.header.is_some(),
        names: if has_header { names_from(&texts) } else { names_by_position(texts.len()) },
        first_record: texts,
        has_trailing_delimiter,
        types: below.types,
    }
}

impl CsvPlan {
    pub fn schema(&self) -> SchemaRef {
        let fields = self.names.iter().zip(&self.types);
        Arc::new(Schema::new(fields.map(|(name, types)| Field::new(name, types.data_type(), true)).collect::<Vec<_>>()))
    }

    /// A first record that names columns of the declared schema, and nothing else, is a header,
    /// whatever was guessed before.
    pub fn settle_header(&mut self, target: &Schema) {
        let is_column = |name: &String| target.fields().iter().any(|field| field.name().eq_ignore_ascii_case(name.trim()));
        if !self.has_header && !self.is_header_certain && self.first_record.iter().all(is_column) {
            self.has_header = true;
            self.names = names_from(&self.first_record);
        }
    }
}
