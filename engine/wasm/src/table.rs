//! A function of a module that returns a table. It gets a struct array of one row: a value for each parameter, and for a table a list of its rows,
//! which are structs. It leaves a struct array with the rows of its result.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ListArray, RecordBatch, StructArray};
use arrow::buffer::OffsetBuffer;
use arrow::compute::concat;
use arrow::datatypes::{DataType, Field, FieldRef, Fields, SchemaRef};
use datafusion::execution::memory_pool::MemoryConsumer;

use super::WasmError;
use super::instance::StopCheck;
use super::module::CompiledModule;
use super::types::guest_field;
use common::error::EngineError;
use common::memory::{LiveMemory, StatementMemory};
use common::user_functions::{FunctionLimits, TableInput, TableKernel, as_type};

struct WasmTable {
    name: String,
    /// The name of the export.
    symbol: String,
    module: Arc<CompiledModule>,
    /// For each parameter whether it is a table.
    is_table: Vec<bool>,
    /// In the types that the module returns.
    guest_columns: Fields,
    columns: SchemaRef,
    limits: FunctionLimits,
}

/// `columns` are those of the result, in the types of SQL.
///
/// # Errors
///
/// The module does not export the function, or one of the types cannot be passed.
pub fn table_function(
    name: &str,
    symbol: &str,
    module: Arc<CompiledModule>,
    is_table: Vec<bool>,
    columns: SchemaRef,
    limits: FunctionLimits,
) -> Result<Box<dyn TableKernel>, WasmError> {
    module.check(symbol)?;
    let guest_columns = columns.fields().iter().map(guest_field).collect::<Result<_, WasmError>>()?;
    let (name, symbol) = (name.to_string(), symbol.to_string());
    Ok(Box::new(WasmTable { name, symbol, module, is_table, guest_columns, columns, limits }))
}

impl WasmTable {
    fn result(&self, inputs: &[TableInput], memory: &StatementMemory) -> Result<RecordBatch, WasmError> {
        let reservation = || MemoryConsumer::new(format!("function {}", self.name)).register(memory.pool());
        // The tables are here as a whole, and in the module's memory.
        let copies = reservation();
        let size_bytes = inputs.iter().flat_map(|input| &input.batches).map(RecordBatch::get_array_memory_size).sum();
        copies.try_grow(size_bytes).map_err(|_| WasmError::OutOfMemory { limit_bytes: self.limits.memory_bytes })?;
        let (fields, columns) = self.arguments(inputs)?;
        let mut instance = self.module.instance(self.limits, reservation())?;
        let watch = memory.clone();
        let is_cancelled: StopCheck = Arc::new(move || watch.has_no_reader());
        instance.begin(is_cancelled);
        let table = instance.call_table(&self.symbol, &fields, &columns, &self.guest_columns)?;
        let columns = table.columns().iter().zip(self.columns.fields()).map(|(column, field)| as_type(column, field.data_type()));
        Ok(RecordBatch::try_new(Arc::clone(&self.columns), columns.collect::<Result<_, _>>()?)?)
    }

    /// A column of one row for each parameter.
    fn arguments(&self, inputs: &[TableInput]) -> Result<(Fields, Vec<ArrayRef>), WasmError> {
        let (values, tables) = inputs.split_at(1.min(inputs.len()));
        let row = values.iter().flat_map(|input| &input.batches).find(|batch| batch.num_rows() == 1);
        let mut values = values.iter().flat_map(|input| input.schema.fields()).enumerate();
        let mut tables = tables.iter();
        let (mut fields, mut columns) = (Vec::new(), Vec::new());
        for is_table in &self.is_table {
            let (field, column) = match (is_table, row) {
                (true, _) => list_of_rows(tables.next().ok_or_else(without_input)?)?,
                (false, Some(row)) => {
                    let (at, field) = values.next().ok_or_else(without_input)?;
                    let field = guest_field(field)?;
                    let column = as_type(row.column(at), field.data_type())?;
                    (field, column)
                }
                (false, None) => return Err(without_input()),
            };
            fields.push(field);
            columns.push(column);
        }
        Ok((fields.into(), columns))
    }
}

fn without_input() -> WasmError {
    WasmError::Failed("an argument is missing".into())
}

fn list_of_rows(table: &TableInput) -> Result<(FieldRef, ArrayRef), WasmError> {
    let fields = table.schema.fields().iter().map(guest_field).collect::<Result<Fields, WasmError>>()?;
    let column = |(at, field): (usize, &FieldRef)| -> Result<ArrayRef, WasmError> {
        let pieces = table.batches.iter().map(|batch| as_type(batch.column(at), field.data_type())).collect::<Result<Vec<_>, _>>()?;
        match pieces.is_empty() {
            true => Ok(arrow::array::new_empty_array(field.data_type())),
            false => Ok(concat(&pieces.iter().map(AsRef::as_ref).collect::<Vec<&dyn Array>>())?),
        }
    };
    let columns = fields.iter().enumerate().map(column).collect::<Result<Vec<_>, _>>()?;
    let rows = table.batches.iter().map(RecordBatch::num_rows).sum::<usize>();
    if i32::try_from(rows).is_err() {
        return Err(WasmError::Failed(format!("a table of {rows} rows is too large for a module")));
    }
    let rows_of_table = StructArray::try_new_with_length(fields, columns, None, rows)?;
    let item = Arc::new(Field::new_list_field(rows_of_table.data_type().clone(), false));
    let list = ListArray::try_new(Arc::clone(&item), OffsetBuffer::from_lengths([rows]), Arc::new(rows_of_table), None)?;
    Ok((Arc::new(Field::new("table", DataType::List(item), false)), Arc::new(list)))
}

impl TableKernel for WasmTable {
    fn identity(&self) -> String {
        format!("{} {} {:?}", self.module.hash, self.symbol, self.limits)
    }

    fn call(&self, inputs: &[TableInput], _in_place: &LiveMemory, memory: &StatementMemory) -> Result<Vec<RecordBatch>, EngineError> {
        self.result(inputs, memory).map(|table| vec![table]).map_err(|error| error.of(&self.name))
    }
}
