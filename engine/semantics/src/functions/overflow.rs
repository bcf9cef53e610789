//! Errors for numbers that do not fit their type.

use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use datafusion::common::DataFusionError;

use common::error::EngineError;
use common::type_names::plain::sql_type_name;

const HINT: &str = "cast to a wider type first, such as DECIMAL(38,0)";

/// `what` is out of the range of `data_type`.
pub fn out_of_range(what: &str, data_type: &DataType) -> DataFusionError {
    let message = format!("{what} is out of range for {}", sql_type_name(data_type));
    EngineError::data(message, Some(HINT.to_string())).into_datafusion()
}

/// The error of a kernel; Arrow says `Overflow happened on: 1 + 2`.
pub fn kernel_error(error: ArrowError, data_type: &DataType) -> DataFusionError {
    match error {
        ArrowError::ArithmeticOverflow(message) => {
            let what = message.rsplit_once(": ").map_or(message.as_str(), |(_, what)| what);
            out_of_range(what, data_type)
        }
        other => other.into(),
    }
}
