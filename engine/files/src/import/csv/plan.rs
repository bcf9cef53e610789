//! How to read one CSV file: its syntax, whether it has a header, and the types of its columns.

use std::io::Read;
use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema, SchemaRef};

use super::dialect::{Dialect, sniff};
use super::header::{Header, header, names_by_position, names_from};
use super::notation::{DateNotation, classify_in};
use super::records::{Record, RecordError, Records};
use crate::import::infer::{DateOrder, SeenTypes, classify, is_soft_null};
use crate::import::options::{CsvOptions, ReadOptions};
use crate::import::source::Source;
use common::error::import::ImportError;
use common::file_format::FileFormat;

const HEAD_BYTES: u64 = 256 << 10;

#[derive(Clone, Debug)]
pub struct CsvPlan {
    pub(super) dialect: Dialect,
    pub has_header: bool,
    /// True if the user said so; otherwise it was guessed from the file.
    pub is_header_certain: bool,
    /// The names stand above other types, so that the guess needs no word.
    is_header_plain: bool,
    /// The parts of the dialect that are neither what the options say nor what most files have.
    guesses: Vec<String>,
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
    let mut dialect = sniff(&head, &options.csv, source.delimiter_hint);

    let sample = head.as_slice().chain(bytes).take(sample_bytes.max(HEAD_BYTES));
    let mut records = Records::new(sample, dialect.syntax);
    records.skip_lines(dialect.skipped_lines).map_err(failed)?;
    let (mut first, _) = first_record(&mut records, source).map_err(|error| match (error, options.csv.skip) {
        (ImportError::Empty { file }, Some(1..)) => ImportError::Form { file, reason: "skip leaves out all its lines".to_owned() },
        (error, _) => error,
    })?;
    if dialect.is_one_short && !first.iter().all(|(name, _)| classify(name).is_word()) {
        // It is no header without a name for the first column, but one more line above the table.
        dialect.is_one_short = false;
        let (next, line) = first_record(&mut records, source)?;
        dialect.skipped_lines = line - 1;
        first = next;
    }
    if dialect.is_one_long {
        first.pop();
    }
    let width = first.len() + usize::from(dialect.is_one_short);
    let mut below = Columns::default();
    loop {
        match records.next_record() {
            // A record with another number of fields is an error for the reader, and no hint on types.
            Ok(Some(record)) if record.len() == width => below.add(&record, &options.csv),
            Ok(Some(_)) | Err(RecordError::Bad { .. }) => {}
            Ok(None) | Err(RecordError::Unclosed { .. }) => break,
            Err(RecordError::Io(error)) => return Err(failed(error)),
        }
    }
    Ok(finish(dialect, first, below, options, source.delimiter_hint))
}

/// The fields of the first record that is not blank, and its line.
fn first_record<R: Read>(records: &mut Records<R>, source: &Source) -> Result<(Vec<(String, bool)>, u64), ImportError> {
    loop {
        match records.next_record() {
            Ok(Some(record)) if record.is_blank() => {}
            Ok(Some(record)) => {
                let fields = (0..record.len()).map(|index| record.field(index));
                return Ok((fields.map(|(text, quoted)| (text.to_owned(), quoted)).collect(), record.line));
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
        return classify_in(text, options);
    }
    // A quoted empty field is no hint either: writers that quote all fields write NULL so.
    if text.is_empty() || options.null.iter().any(|token| token == text) {
        return SeenTypes::default();
    }
    match classify_in(text, options) {
        SeenTypes::TEXT if is_soft_null(text.trim_ascii()) => SeenTypes::default(),
        types => types,
    }
}

fn finish(dialect: Dialect, mut first: Vec<(String, bool)>, mut below: Columns, options: &ReadOptions, hint: Option<u8>) -> CsvPlan {
    let is_end_empty = below.rows > 0 && below.rows == below.rows_with_empty_end;
    let ends_empty = |first: &[(String, bool)]| first.last().is_some_and(|(text, quoted)| text.is_empty() && !quoted);
    let has_trailing_delimiter = match dialect.is_one_short {
        true => is_end_empty,
        false => dialect.syntax.delimiter == b'|' && first.len() > 1 && ends_empty(&first) && below.rows == below.rows_with_empty_end,
    };
    match (dialect.is_one_short, has_trailing_delimiter) {
        (false, true) => drop(first.pop()),
        (true, false) => first.insert(0, (String::new(), false)),
        _ => {}
    }
    below.types.resize(first.len(), SeenTypes::default());
    let texts: Vec<String> = first.iter().map(|(text, _)| text.clone()).collect();
    let guess = if dialect.is_one_short { Header::Probably } else { header(&texts, &below.types) };
    let has_header = options.csv.header.unwrap_or(guess != Header::No);
    if !has_header {
        for (types, (text, is_quoted)) in below.types.iter_mut().zip(&first) {
            types.add(look_at(text, *is_quoted, &options.csv));
        }
    }
    CsvPlan {
        dialect,
        has_header,
        is_header_certain: options.csv.header.is_some(),
        is_header_plain: guess == Header::Yes,
        guesses: dialect_guesses(&dialect, &options.csv, hint),
        names: if has_header { names_from(&texts) } else { names_by_position(texts.len()) },
        first_record: texts,
        has_trailing_delimiter,
        types: below.types,
    }
}

fn dialect_guesses(dialect: &Dialect, options: &CsvOptions, hint: Option<u8>) -> Vec<String> {
    let syntax = dialect.syntax;
    let mut guesses = Vec::new();
    let sign = |byte: u8| if byte == b'\t' { "tab".to_owned() } else { format!("{:?}", char::from(byte)) };
    if options.delimiter.is_none() && syntax.delimiter != hint.unwrap_or(b',') {
        guesses.push(format!("the delimiter is {}", sign(syntax.delimiter)));
    }
    if options.quote.is_none() && syntax.quote != b'"' {
        guesses.push(format!("the quote is {}", sign(syntax.quote)));
    }
    if let (None, Some(escape)) = (options.escape, syntax.escape) {
        guesses.push(format!("the escape is {}", sign(escape)));
    }
    if let (None, Some(comment)) = (options.comment, syntax.comment) {
        guesses.push(format!("lines with {} are comments", sign(comment)));
    }
    match dialect.skipped_lines {
        lines if options.skip.is_some() || lines == 0 => {}
        1 => guesses.push("line 1 is above the table".to_owned()),
        lines => guesses.push(format!("lines 1 to {lines} are above the table")),
    }
    guesses
}

impl CsvPlan {
    pub fn schema(&self) -> SchemaRef {
        let fields = self.names.iter().zip(&self.types);
        Arc::new(Schema::new(fields.map(|(name, types)| Field::new(name, types.data_type(), true)).collect::<Vec<_>>()))
    }

    /// The notation of the dates in a column that will have this type.
    pub(super) fn date_notation(&self, column: usize, data_type: &DataType, options: &CsvOptions) -> Option<DateNotation> {
        DateNotation::of(data_type, self.types.get(column).copied().unwrap_or_default(), options)
    }

    /// What was guessed and could have been meant otherwise, in words.
    pub fn guesses(&self) -> Vec<String> {
        let mut guesses = self.guesses.clone();
        match self.has_header {
            _ if self.is_header_certain || self.has_header && self.is_header_plain => {}
            true => guesses.push("the first row of the table is the header".to_owned()),
            false => guesses.push("there is no header".to_owned()),
        }
        for (name, types) in self.names.iter().zip(&self.types).filter(|(_, types)| types.is_typed()) {
            let order = match types.date_order() {
                Some(DateOrder::DayFirst) => "the day",
                Some(DateOrder::MonthFirst) => "the month",
                Some(DateOrder::YearFirst) | None => continue,
            };
            guesses.push(format!("dates in {name:?} begin with {order}"));
        }
        guesses
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
