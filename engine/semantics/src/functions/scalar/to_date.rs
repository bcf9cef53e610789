//! `to_date` with PostgreSQL's patterns, and with those of chrono as in DataFusion.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Date32Array, StringViewArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use datafusion::functions::datetime::to_date as datafusion_to_date;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl};

use super::described_by_function;
use crate::functions::patterns::{Civil, Item, items, read};
use common::error::EngineError;
use common::tensors::refused;
use common::type_names::declared_name;

pub fn to_date() -> ScalarUDF {
    ScalarUDF::from(ToDate { inner: datafusion_to_date() })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct ToDate {
    inner: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for ToDate {
    described_by_function!();

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let Some(patterned) = patterned(&args.args)? else { return self.inner.invoke_with_args(args) };
        let days = patterned.read()?.into_iter().map(|value| match value.map(|(at, _)| i32::try_from(at.days)) {
            Some(Err(_)) => Err(EngineError::data("a date is out of range", None).into_datafusion()),
            Some(Ok(days)) => Ok(Some(days)),
            None => Ok(None),
        });
        patterned.result(Arc::new(days.collect::<Result<Date32Array>>()?))
    }
}

/// Texts and their patterns; the first pattern that fits is used.
pub struct Patterned {
    texts: ArrayRef,
    patterns: Vec<StringViewArray>,
    is_scalar: bool,
}

/// The arguments, if they are texts with PostgreSQL's patterns, none of which has a %. An error for numbers with patterns.
pub fn patterned(args: &[ColumnarValue]) -> Result<Option<Patterned>> {
    let [text, patterns @ ..] = args else { return Ok(None) };
    if !patterns.is_empty() && text.data_type().is_numeric() {
        let message = format!("a pattern says how a text is read, and {} is none", declared_name(&text.data_type()));
        return Err(refused(message, Some("cast it: CAST(x AS VARCHAR)")));
    }
    if patterns.is_empty() || !args.iter().all(|arg| arg.data_type().is_string()) {
        return Ok(None);
    }
    let is_scalar = args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
    let rows = args.iter().find_map(|arg| match arg {
        ColumnarValue::Array(array) => Some(array.len()),
        ColumnarValue::Scalar(_) => None,
    });
    let rows = rows.unwrap_or(1);
    let column = |arg: &ColumnarValue| -> Result<ArrayRef> { Ok(cast(&arg.to_array(rows)?, &DataType::Utf8View)?) };
    let patterns = patterns.iter().map(|pattern| column(pattern).map(|pattern| pattern.as_string_view().clone()));
    let patterns = patterns.collect::<Result<Vec<_>>>()?;
    let is_other = patterns.iter().any(|pattern| pattern.iter().flatten().any(|pattern| pattern.contains('%')));
    Ok(if is_other { None } else { Some(Patterned { texts: column(text)?, patterns, is_scalar }) })
}

impl Patterned {
    /// The times of the texts, and whether each text has an offset.
    pub fn read(&self) -> Result<Vec<Option<(Civil, bool)>>> {
        let mut known: Vec<(String, Vec<Item>)> = Vec::new();
        let texts = self.texts.as_string_view();
        let mut made = Vec::with_capacity(texts.len());
        for (row, text) in texts.iter().enumerate() {
            let mut problem = None;
            let mut found = None;
            let patterns = self.patterns.iter().filter(|pattern| pattern.is_valid(row)).map(|pattern| pattern.value(row));
            for (pattern, text) in patterns.filter_map(|pattern| Some((pattern, text?))) {
                let place = match known.iter().position(|(known, _)| known == pattern) {
                    Some(place) => place,
                    None => {
                        // Usually there is one pattern; of a column of patterns the last ones are cached.
                        known.truncate(KNOWN_MAX);
                        known.insert(0, (pattern.to_string(), items(pattern)?));
                        0
                    }
                };
                match read(&known[place].1, text) {
                    Ok(value) => {
                        found = Some(value);
                        break;
                    }
                    Err(what) => problem = problem.or(Some(format!("'{text}' is no time as '{pattern}' says it: {what}"))),
                }
            }
            match (found, problem) {
                (None, Some(problem)) => return Err(EngineError::data(problem, None).into_datafusion()),
                (found, _) => made.push(found),
            }
        }
        Ok(made)
    }

    pub fn result(&self, made: ArrayRef) -> Result<ColumnarValue> {
        match self.is_scalar {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&made, 0)?)),
            false => Ok(ColumnarValue::Array(made)),
        }
    }
}

const KNOWN_MAX: usize = 15;
