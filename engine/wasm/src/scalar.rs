//! A function of a module as a function of DataFusion.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, FieldRef, Fields};
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::logical_expr::Volatility;
use parking_lot::Mutex;

use super::WasmError;
use super::instance::{Instance, StopCheck};
use super::module::CompiledModule;
use super::types::{guest_field, guest_type};
use common::error::EngineError;
use common::memory::StatementMemory;
use common::user_functions::{FunctionLimits, ScalarKernel, UserScalar, as_type};

/// It is made for one statement, whose threads share its instances.
struct WasmScalar {
    name: String,
    /// The name of the export.
    symbol: String,
    module: Arc<CompiledModule>,
    /// In the types that a module gets.
    guest_parameters: Fields,
    returns: FieldRef,
    guest_returns: DataType,
    limits: FunctionLimits,
    idle: Mutex<Vec<Instance>>,
}

/// # Errors
///
/// The module does not export the function, or one of the types cannot be passed.
pub fn scalar_function(
    name: &str,
    symbol: &str,
    module: Arc<CompiledModule>,
    parameters: &Fields,
    returns: FieldRef,
    volatility: Volatility,
    limits: FunctionLimits,
) -> Result<UserScalar, WasmError> {
    module.check(symbol)?;
    let kernel = WasmScalar {
        name: name.to_string(),
        symbol: symbol.to_string(),
        module,
        guest_parameters: parameters.iter().map(guest_field).collect::<Result<_, WasmError>>()?,
        guest_returns: guest_type(returns.data_type())?,
        returns: Arc::clone(&returns),
        limits,
        idle: Mutex::default(),
    };
    Ok(UserScalar::new(name, parameters, returns, volatility, Box::new(kernel)))
}

impl WasmScalar {
    fn result(&self, columns: &[ArrayRef], rows: usize, memory: &StatementMemory) -> Result<ArrayRef, WasmError> {
        // The lock ends here.
        let idle = self.idle.lock().pop();
        let mut instance = match idle {
            Some(instance) => instance,
            None => {
                let consumer = MemoryConsumer::new(format!("function {}", self.name));
                self.module.instance(self.limits, consumer.register(memory.pool()))?
            }
        };
        let watch = memory.clone();
        let is_cancelled: StopCheck = Arc::new(move || watch.has_no_reader());
        let columns = columns.iter().zip(&self.guest_parameters).map(|(column, field)| as_type(column, field.data_type()));
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        // After an error the instance is dropped.
        instance.begin(is_cancelled);
        let result = instance.call(&self.symbol, &self.guest_parameters, &columns, rows, &self.guest_returns)?;
        self.idle.lock().push(instance);
        Ok(as_type(&result, self.returns.data_type())?)
    }
}

impl ScalarKernel for WasmScalar {
    fn identity(&self) -> String {
        format!("{} {} {:?}", self.module.hash, self.symbol, self.limits)
    }

    fn call(&self, columns: &[ArrayRef], rows: usize, memory: &StatementMemory) -> Result<ArrayRef, EngineError> {
        self.result(columns, rows, memory).map_err(|error| error.of(&self.name))
    }
}
