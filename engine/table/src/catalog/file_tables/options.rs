//! Options of files as SQL values, as `read_csv(…)` and OPTIONS of an external table have them.

use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;

use common::error::EngineError;
use common::messages::described_value;
use files::import::ReadOptions;
use sql::type_named;

const TYPES: &str = "columns and their types, as {'zip': 'VARCHAR'}";

/// Sets one option: [`ReadOptions::set`] knows those that are a text, a number or a truth value.
pub fn set_option(options: &mut ReadOptions, name: &str, value: &ScalarValue) -> Result<(), EngineError> {
    let name = name.to_lowercase();
    let name = name.as_str();
    match (name, value) {
        ("types" | "dtypes" | "column_types", _) => options.types = types(name, value)?,
        ("columns", _) => options.columns = types(name, value)?,
        ("null" | "nullstr" | "null_value", ScalarValue::List(_)) => {
            for text in texts(value).ok_or_else(|| wrong(name, "a text or a list of texts", value))? {
                options.set(name, &text)?;
            }
        }
        (_, ScalarValue::Boolean(Some(truth))) => options.set(name, &truth.to_string())?,
        (_, ScalarValue::Int64(Some(number))) => options.set(name, &number.to_string())?,
        _ => match value.try_as_str().flatten() {
            Some(text) => options.set(name, text)?,
            None => return Err(wrong(name, "a text, a whole number, or true or false", value)),
        },
    }
    match options.types.is_empty() || options.columns.is_empty() {
        true => Ok(()),
        false => {
            let message = format!("the option {name} stands beside another one that has types of columns");
            Err(EngineError::Sql {
                message,
                position: None,
                hint: Some("columns has the types of all columns; leave types out".to_string()),
            })
        }
    }
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

/// The columns that a struct names, each with the type that it has as text.
fn types(name: &str, value: &ScalarValue) -> Result<Vec<(String, DataType)>, EngineError> {
    let ScalarValue::Struct(columns) = value else { return Err(wrong(name, TYPES, value)) };
    let typed = columns.fields().iter().zip(columns.columns()).map(|(field, values)| {
        let type_name = ScalarValue::try_from_array(values, 0)?;
        match type_name.try_as_str().flatten() {
            Some(type_name) => Ok((field.name().clone(), type_named(type_name)?)),
            None => Err(wrong(name, TYPES, value)),
        }
    });
    typed.collect()
}

fn wrong(name: &str, expected: &str, value: &ScalarValue) -> EngineError {
    let message = format!("the option {name} is {expected}, and not {}", described_value(value));
    EngineError::Sql { message, position: None, hint: None }
}
