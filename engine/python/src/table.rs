//! A function in Python that returns a table.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{Schema, SchemaRef};

use super::definition::Request;
use super::function::PythonFunction;
use super::results::typed;
use common::error::EngineError;
use common::memory::{LiveMemory, StatementMemory};
use common::user_functions::{TableInput, TableKernel};

struct PythonTable {
    function: PythonFunction,
    columns: SchemaRef,
}

/// `columns` are those of the result, in the types of SQL.
pub fn table_function(function: PythonFunction, columns: SchemaRef) -> Box<dyn TableKernel> {
    Box::new(PythonTable { function, columns })
}

impl TableKernel for PythonTable {
    fn identity(&self) -> String {
        self.function.identity()
    }

    fn call(&self, inputs: &[TableInput], in_place: &LiveMemory, memory: &StatementMemory) -> Result<Vec<RecordBatch>, EngineError> {
        let tables = inputs.iter().skip(1).map(|table| Arc::new(Schema::new(table.schema.fields().clone())));
        let function = self.function.with_tables(tables);
        let columns_of = |input: &TableInput| input.batches.iter().map(|batch| batch.columns().to_vec()).collect();
        let columns: Vec<Vec<Vec<ArrayRef>>> = inputs.iter().map(columns_of).collect();
        let done = function.call(Request::default(), &columns, Some(in_place), memory);
        let results = done.and_then(|results| results.iter().map(|result| typed(result, &self.columns)).collect());
        results.map_err(|error| error.of(&function.definition.name))
    }
}
