//! A function of a module as a function of DataFusion.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Field, FieldRef, Fields};
use datafusion::common::{Result, ScalarValue, exec_err, internal_err};
use datafusion::execution::memory_pool::MemoryConsumer;
use datafusion::logical_expr::{ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use parking_lot::Mutex;

use super::WasmError;
use super::instance::{Instance, Limits, StopCheck};
use super::module::CompiledModule;
use super::types::{as_type, guest_field, guest_type};
use common::memory::StatementMemory;

/// It is made for one statement, whose threads share its instances.
pub struct WasmScalar {
    name: String,
    /// The name of the export.
    symbol: String,
    module: Arc<CompiledModule>,
    parameters: Fields,
    /// The same in the types that a module gets.
    guest_parameters: Fields,
    returns: FieldRef,
    guest_returns: DataType,
    limits: Limits,
    signature: Signature,
    idle: Mutex<Vec<Instance>>,
}

/// # Errors
///
/// The module does not export the function, or one of the types cannot be passed.
pub fn scalar_function(
    name: &str,
    symbol: &str,
    module: Arc<CompiledModule>,
    parameters: &[FieldRef],
    returns: FieldRef,
    volatility: Volatility,
    limits: Limits,
) -> Result<ScalarUDF, WasmError> {
    module.check(symbol)?;
    let guest_parameters: Fields = parameters.iter().map(guest_field).collect::<Result<_, WasmError>>()?;
    let guest_returns = guest_type(returns.data_type())?;
    let types = parameters.iter().map(|field| field.data_type().clone()).collect::<Vec<_>>();
    let signature = if types.is_empty() { Signature::nullary(volatility) } else { Signature::exact(types, volatility) };
    Ok(ScalarUDF::from(WasmScalar {
        name: name.to_string(),
        symbol: symbol.to_string(),
        module,
        parameters: parameters.iter().cloned().collect(),
        guest_parameters,
        returns,
        guest_returns,
        limits,
        signature,
        idle: Mutex::default(),
    }))
}

impl WasmScalar {
    fn identity(&self) -> (&str, &str, &str, &Fields, &Field, Limits) {
        (&self.name, &self.symbol, &self.module.hash, &self.parameters, &self.returns, self.limits)
    }

    fn call(&self, columns: &[ArrayRef], rows: usize, memory: &StatementMemory) -> Result<ArrayRef, WasmError> {
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
        let columns = columns.collect::<Result<Vec<_>, WasmError>>()?;
        // After an error the instance is dropped.
        instance.begin(is_cancelled);
        let result = instance.call(&self.symbol, &self.guest_parameters, &columns, rows, &self.guest_returns)?;
        self.idle.lock().push(instance);
        as_type(&result, self.returns.data_type())
    }
}

impl fmt::Debug for WasmScalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WasmScalar").field("name", &self.name).field("symbol", &self.symbol).finish_non_exhaustive()
    }
}

impl PartialEq for WasmScalar {
    fn eq(&self, other: &WasmScalar) -> bool {
        self.identity() == other.identity()
    }
}

impl Eq for WasmScalar {}

impl Hash for WasmScalar {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity().hash(state);
    }
}

impl ScalarUDFImpl for WasmScalar {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        internal_err!("the result has a field")
    }

    fn return_field_from_args(&self, _: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        Ok(Arc::new(self.returns.as_ref().clone().with_name(&self.name).with_nullable(true)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        // DataFusion keeps a call that it cannot compute while it plans, and computes it when the statement runs.
        let Some(memory) = StatementMemory::of(&args.config_options).filter(|memory| memory.runs()).cloned() else {
            return exec_err!("function {} is computed when the statement runs", self.name);
        };
        let is_constant =
            args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_))) && self.signature.volatility != Volatility::Volatile;
        let rows = if is_constant { 1 } else { args.number_rows };
        let columns = args.args.into_iter().map(|arg| arg.into_array(rows)).collect::<Result<Vec<_>>>()?;
        let result = self.call(&columns, rows, &memory);
        let result = result.map_err(|error| error.of(&self.name).into_datafusion())?;
        match is_constant {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&result, 0)?)),
            false => Ok(ColumnarValue::Array(result)),
        }
    }
}
