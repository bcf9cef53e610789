//! `regexp_extract(text, pattern[, group[, options]])`: what a pattern, or one of its groups, matches first; an empty text if nothing does.
//! As in DuckDB.

use std::sync::Arc;

use arrow::array::{Array, AsArray, StringViewBuilder};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, TypeSignature, Volatility};
use regex::{Regex, RegexBuilder};

use common::error::EngineError;

pub fn regexp_extract() -> ScalarUDF {
    let text = DataType::Utf8View;
    let exact = [
        vec![text.clone(), text.clone()],
        vec![text.clone(), text.clone(), DataType::Int64],
        vec![text.clone(), text.clone(), DataType::Int64, text],
    ];
    let signature = Signature::one_of(exact.into_iter().map(TypeSignature::Exact).collect(), Volatility::Immutable);
    ScalarUDF::from(RegexpExtract { signature })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct RegexpExtract {
    signature: Signature,
}

impl ScalarUDFImpl for RegexpExtract {
    fn name(&self) -> &str {
        "regexp_extract"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_scalar = args.args.iter().all(|argument| matches!(argument, ColumnarValue::Scalar(_)));
        let arrays = ColumnarValue::values_to_arrays(&args.args)?;
        let texts = |at: usize| arrays.get(at).map(|array| cast(array, &DataType::Utf8View)).transpose();
        let (Some(values), Some(patterns)) = (texts(0)?, texts(1)?) else { return refused("two arguments are needed".to_string()) };
        let (values, patterns) = (values.as_string_view(), patterns.as_string_view());
        let groups = arrays.get(2).map(|array| cast(array, &DataType::Int64)).transpose()?;
        let groups = groups.as_ref().map(|groups| groups.as_primitive::<Int64Type>());
        let options = texts(3)?;
        let options = options.as_ref().map(|options| options.as_string_view());
        let mut found = StringViewBuilder::with_capacity(values.len());
        let mut last: Option<Pattern> = None;
        for row in 0..values.len() {
            let is_null = values.is_null(row)
                || patterns.is_null(row)
                || groups.is_some_and(|groups| groups.is_null(row))
                || options.is_some_and(|options| options.is_null(row));
            if is_null {
                found.append_null();
                continue;
            }
            let (text, signs) = (patterns.value(row), options.map_or("", |options| options.value(row)));
            let pattern = match last.take().filter(|pattern| pattern.text == text && pattern.options == signs) {
                Some(pattern) => pattern,
                None => Pattern::of(text, signs)?,
            };
            found.append_value(pattern.first(values.value(row), groups.map_or(0, |groups| groups.value(row)))?);
            last = Some(pattern);
        }
        let found = Arc::new(found.finish()) as _;
        Ok(if is_scalar { ColumnarValue::Scalar(ScalarValue::try_from_array(&found, 0)?) } else { ColumnarValue::Array(found) })
    }
}

struct Pattern {
    text: String,
    options: String,
    regex: Regex,
}

impl Pattern {
    fn of(text: &str, options: &str) -> Result<Pattern> {
        let mut builder = RegexBuilder::new(text);
        for option in options.chars() {
            match option {
                'i' => builder.case_insensitive(true),
                'c' => builder.case_insensitive(false),
                's' => builder.dot_matches_new_line(true),
                'm' | 'n' | 'p' => builder.multi_line(true),
                other => return refused(format!("regexp_extract has the options i, c, s and m, and not '{other}'")),
            };
        }
        match builder.build() {
            Ok(regex) => Ok(Pattern { text: text.to_string(), options: options.to_string(), regex }),
            Err(error) => {
                let reason = error.to_string();
                refused(format!("'{text}' is no pattern: {}", reason.lines().last().unwrap_or_default().trim_start_matches("error: ")))
            }
        }
    }

    fn first<'t>(&self, value: &'t str, group: i64) -> Result<&'t str> {
        let groups = self.regex.captures_len() - 1;
        let Some(group) = usize::try_from(group).ok().filter(|group| *group <= groups) else {
            return refused(format!("the pattern '{}' has the groups 0 to {groups}, and no group {group}", self.text));
        };
        let found = match group {
            0 => self.regex.find(value),
            group => self.regex.captures(value).and_then(|captures| captures.get(group)),
        };
        Ok(found.map_or("", |found| found.as_str()))
    }
}

fn refused<T>(message: String) -> Result<T> {
    Err::<T, DataFusionError>(EngineError::Sql { message, position: None, hint: None }.into_datafusion())
}
