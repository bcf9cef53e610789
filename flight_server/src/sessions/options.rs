//! Session options: the settings that SET changes and SHOW shows.

use std::collections::HashMap;

use arrow::array::{Array, StringArray};
use arrow::compute::cast;
use arrow::datatypes::DataType;
use flight_wire::DEFAULT_SCHEMA;
use flight_wire::session_messages::{
    ErrorValue, GetSessionOptionsResult, OptionError, OptionValue, SessionOptionValue, SetSessionOptionsRequest, SetSessionOptionsResult,
};
use tonic::Status;

use super::connection::{Connection, SessionLock};
use crate::error::{arrow_status, status};

/// The name of the store as a catalog; `the_catalog_is_called_as_in_sql` holds it to the engine's.
pub const CATALOG: &str = "quiver";

/// Drivers set these options, the JDBC driver from its URL. They are fixed: there is one catalog, and one default schema.
const FIXED: [(&str, &str); 2] = [("catalog", CATALOG), (SCHEMA_OPTION, DEFAULT_SCHEMA)];
const SCHEMA_OPTION: &str = "schema";

/// Each option takes two statements.
const OPTIONS_MAX: usize = 1_000;

pub async fn set_options(connection: &Connection, request: SetSessionOptionsRequest) -> Result<SetSessionOptionsResult, Status> {
    let count = request.session_options.len();
    if count > OPTIONS_MAX {
        return Err(Status::invalid_argument(format!(
            "{count} options are set at once, and {OPTIONS_MAX} are taken; there are not that many"
        )));
    }
    check_schema(&request)?;
    let turn = connection.turn().await?;
    let mut errors = HashMap::new();
    for (name, value) in request.session_options {
        if let Err(error) = set_option(&turn, &name, value.option_value).await {
            errors.insert(name, OptionError { value: error as i32 });
        }
    }
    Ok(SetSessionOptionsResult { errors })
}

/// Programs rely on the schema that they have set. The answer has only an error number for an option, and no message,
/// so a wrong schema fails the whole call before anything is set.
fn check_schema(request: &SetSessionOptionsRequest) -> Result<(), Status> {
    let schema = request.session_options.get(SCHEMA_OPTION).and_then(|value| value.option_value.as_ref());
    match schema {
        None => Ok(()),
        Some(OptionValue::Text(schema)) if schema == DEFAULT_SCHEMA => Ok(()),
        Some(_) => Err(Status::invalid_argument(format!(
            "the schema of a session is \"{DEFAULT_SCHEMA}\" and cannot be set to another; name the schema with the table: other.t"
        ))),
    }
}

async fn set_option(turn: &SessionLock<'_>, name: &str, value: Option<OptionValue>) -> Result<(), ErrorValue> {
    let text = value.map(as_text).transpose()?;
    if let Some((_, fixed)) = FIXED.iter().find(|(option, _)| *option == name) {
        return if text.is_none_or(|text| text == *fixed) { Ok(()) } else { Err(ErrorValue::InvalidValue) };
    }
    // Only a valid name reaches the statement.
    if name.is_empty() || !name.chars().all(|char| char.is_ascii_alphanumeric() || matches!(char, '_' | '.')) {
        return Err(ErrorValue::InvalidName);
    }
    turn.run_own(&format!("SHOW {name}")).await.map_err(|_| ErrorValue::InvalidName)?;
    let sql = match text {
        Some(text) => format!("SET {name} = '{}'", text.replace('\'', "''")),
        None => format!("RESET {name}"),
    };
    turn.execute(&sql).await.map(|_| ()).map_err(|_| ErrorValue::InvalidValue)
}

fn as_text(value: OptionValue) -> Result<String, ErrorValue> {
    match value {
        OptionValue::Text(text) => Ok(text),
        OptionValue::Bool(flag) => Ok(flag.to_string()),
        OptionValue::Int(number) => Ok(number.to_string()),
        OptionValue::Double(number) => Ok(number.to_string()),
        // No setting has a list as its value.
        OptionValue::Texts(_) => Err(ErrorValue::InvalidValue),
    }
}

pub async fn get_options(connection: &Connection) -> Result<GetSessionOptionsResult, Status> {
    let turn = connection.turn().await?;
    let output = turn.execute("SELECT name, value FROM system.settings WHERE scope = 'session' AND value IS NOT NULL").await?;
    let (batches, _) = output.collect().await.map_err(status)?;
    let mut session_options = HashMap::from(FIXED.map(|(name, value)| (name.to_string(), text_value(value))));
    for batch in batches {
        let (names, values) = (texts(batch.column(0))?, texts(batch.column(1))?);
        let pairs = names.iter().flatten().zip(values.iter().flatten());
        session_options.extend(pairs.map(|(name, value)| (name.to_string(), text_value(value))));
    }
    Ok(GetSessionOptionsResult { session_options })
}

fn text_value(text: &str) -> SessionOptionValue {
    SessionOptionValue { option_value: Some(OptionValue::Text(text.to_string())) }
}

fn texts(column: &dyn Array) -> Result<StringArray, Status> {
    let column = cast(column, &DataType::Utf8).map_err(arrow_status)?;
    Ok(StringArray::from(column.to_data()))
}
