//! Options of files by their names, as `read_csv(…)` and OPTIONS of an external table have them.

use datafusion::common::ScalarValue;

use common::error::{EngineError, nearest};
use common::file_format::FileFormat;
use common::messages::described_value;
use files::import::{OnError, ReadOptions};

/// The options of all formats, and those of CSV alone.
const NAMES: [&str; 3] = ["ignore_errors", "hive_partitioning", "compression"];
const CSV_NAMES: [&str; 9] = ["header", "has_header", "delim", "delimiter", "sep", "quote", "null", "nullstr", "null_value"];

/// What is so in any case.
const ALWAYS: [&str; 4] = ["union_by_name", "auto_detect", "newlines_in_values", "double_quote"];

/// `options.format` is the format of the files.
pub fn set_option(options: &mut ReadOptions, name: &str, value: &ScalarValue) -> Result<(), EngineError> {
    let name = name.to_lowercase();
    let name = name.as_str();
    if CSV_NAMES.contains(&name) && options.format != Some(FileFormat::Csv) {
        return Err(EngineError::unsupported(format!("the option {name} of files that are not CSV"), Some("leave it out")));
    }
    match name {
        "header" | "has_header" => options.csv.header = Some(boolean(name, value)?),
        "delim" | "delimiter" | "sep" => match byte(name, value)? {
            Some(byte) => options.csv.delimiter = Some(byte),
            None => return Err(wrong(name, "one ASCII character", value)),
        },
        "quote" => options.csv.quote = byte(name, value)?,
        "null" | "nullstr" | "null_value" => {
            options.csv.null.extend(texts(value).ok_or_else(|| wrong(name, "a text or a list of texts", value))?)
        }
        "ignore_errors" => options.on_error = if boolean(name, value)? { OnError::Skip } else { OnError::Abort },
        "hive_partitioning" => options.has_directory_columns = boolean(name, value)?,
        _ if ALWAYS.contains(&name) => {
            if !boolean(name, value)? {
                return Err(EngineError::unsupported(format!("{name} = false"), Some("leave it out")));
            }
        }
        // Compression is found by the content.
        "compression" => {}
        _ => {
            let csv_names = CSV_NAMES.into_iter().filter(|_| options.format == Some(FileFormat::Csv));
            let names: Vec<&str> = NAMES.into_iter().chain(ALWAYS).chain(csv_names).collect();
            let hint = match nearest(name, names.iter().copied()) {
                Some(near) => format!("did you mean {near}?"),
                None => format!("options there are: {}", names.join(", ")),
            };
            let message = format!("files have no option \"{name}\"");
            return Err(EngineError::Sql { message, position: None, hint: Some(hint) });
        }
    }
    Ok(())
}

/// A text, or all texts of a list.
pub fn texts(value: &ScalarValue) -> Option<Vec<String>> {
    if let Some(text) = value.try_as_str() {
        return text.map(|text| vec![text.to_string()]);
    }
    let ScalarValue::List(list) = value else { return None };
    let values = list.value(0);
    let texts = (0..values.len()).map(|row| Some(ScalarValue::try_from_array(&values, row).ok()?.try_as_str()??.to_string()));
    texts.collect()
}

fn boolean(name: &str, value: &ScalarValue) -> Result<bool, EngineError> {
    let text = value.try_as_str().flatten().map(str::to_lowercase);
    match (value, text.as_deref()) {
        (ScalarValue::Boolean(Some(value)), _) => Ok(*value),
        (_, Some("true" | "on" | "1")) => Ok(true),
        (_, Some("false" | "off" | "0")) => Ok(false),
        _ => Err(wrong(name, "true or false", value)),
    }
}

/// `None`: the empty text.
fn byte(name: &str, value: &ScalarValue) -> Result<Option<u8>, EngineError> {
    match value.try_as_str().flatten().map(str::as_bytes) {
        Some(b"") => Ok(None),
        Some(b"\\t") => Ok(Some(b'\t')),
        Some([byte]) if byte.is_ascii() => Ok(Some(*byte)),
        _ => Err(wrong(name, "one ASCII character", value)),
    }
}

fn wrong(name: &str, expected: &str, value: &ScalarValue) -> EngineError {
    let message = format!("the option {name} is {expected}, and not {}", described_value(value));
    EngineError::Sql { message, position: None, hint: None }
}
