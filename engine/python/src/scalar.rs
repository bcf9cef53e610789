//! A function in Python as a function of DataFusion.

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::{FieldRef, Fields};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Volatility;

use super::definition::Request;
use super::error::{PythonError, invalid};
use super::function::PythonFunction;
use common::error::EngineError;
use common::memory::StatementMemory;
use common::user_functions::{ScalarKernel, UserScalar, as_type};

struct PythonScalar {
    function: PythonFunction,
    returns: FieldRef,
}

pub fn scalar_function(function: PythonFunction, parameters: &Fields, returns: FieldRef, volatility: Volatility) -> UserScalar {
    let name = function.definition.name.clone();
    let kernel = PythonScalar { function, returns: FieldRef::clone(&returns) };
    UserScalar::new(&name, parameters, returns, volatility, Box::new(kernel))
}

impl PythonScalar {
    fn result(&self, columns: &[ArrayRef], rows: usize, memory: &StatementMemory) -> Result<ArrayRef, PythonError> {
        // Without parameters it returns one value, for all rows.
        let called_rows = if columns.is_empty() { 1 } else { rows };
        let request = Request { rows: called_rows, ..Request::default() };
        let batches = self.function.call(request, &[vec![columns.to_vec()]], None, memory)?;
        let result = batches.first().map(|batch| batch.column(0)).filter(|column| column.len() == called_rows);
        let result = as_type(result.ok_or_else(|| invalid("it has another number of values"))?, self.returns.data_type())?;
        if called_rows == rows {
            return Ok(result);
        }
        let value = ScalarValue::try_from_array(&result, 0).and_then(|value| value.to_array_of_size(rows));
        value.map_err(|error| invalid(&error.to_string()))
    }
}

impl ScalarKernel for PythonScalar {
    fn identity(&self) -> String {
        self.function.identity()
    }

    fn call(&self, columns: &[ArrayRef], rows: usize, memory: &StatementMemory) -> Result<ArrayRef, EngineError> {
        self.result(columns, rows, memory).map_err(|error| error.of(&self.function.definition.name))
    }
}
