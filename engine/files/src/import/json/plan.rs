//! How to read one JSON file: its framing and the types of its columns.

use std::io::Read;

use arrow::datatypes::{Schema, SchemaRef};

use super::frames::{FrameError, Frames, Framing};
use super::shape::Shape;
use crate::import::source::Source;
use common::error::import::ImportError;
use common::file_format::FileFormat;

const HEAD_BYTES: u64 = 64 << 10;

#[derive(Clone, Debug)]
pub struct JsonPlan {
    pub(super) framing: Framing,
    /// The records are no objects but values of one column.
    pub(super) is_value: bool,
    pub schema: SchemaRef,
}

/// Reads up to `sample_bytes` of the file. Broken records are ignored here, because the reader reports them.
pub fn plan(source: &Source, sample_bytes: u64) -> Result<JsonPlan, ImportError> {
    let failed = |error| ImportError::reading(&source.label(), FileFormat::Json, error);
    let mut head = Vec::new();
    let mut bytes = source.open_text(None)?;
    bytes.by_ref().take(HEAD_BYTES).read_to_end(&mut head).map_err(failed)?;
    let framing = Framing::of(&head);

    let sample = head.as_slice().chain(bytes).take(sample_bytes.max(HEAD_BYTES));
    let mut frames = Frames::new(sample, framing);
    let mut shape = Shape::default();
    let mut first_problem = None;
    loop {
        let problem = match frames.next_frame() {
            Ok(Some((text, line))) => shape.learn_record(text, framing).err().map(|problem| (line, problem)),
            Ok(None) => break,
            Err(FrameError::Io(error)) => return Err(failed(error)),
            Err(FrameError::Bad { line, problem }) => Some((line, problem)),
            Err(FrameError::Broken { line, problem }) => {
                first_problem.get_or_insert((line, problem));
                break;
            }
        };
        if let Some(problem) = problem {
            first_problem.get_or_insert(problem);
        }
    }
    let fields = shape.fields();
    match (fields.is_empty(), first_problem) {
        (true, Some((line, problem))) => Err(source.damaged(format!("line {line}: {problem}"))),
        (true, None) => Err(ImportError::Empty { file: source.label() }),
        (false, _) => Ok(JsonPlan { framing, is_value: shape.is_value(), schema: Schema::new(fields).into() }),
    }
}
