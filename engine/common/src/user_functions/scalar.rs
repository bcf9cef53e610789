//! Functions that return a value for each row.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, FieldRef, Fields};
use datafusion::common::{Result, ScalarValue, exec_err, internal_err};
use datafusion::logical_expr::{ColumnarValue, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};

use super::kernel::Kernel;
use super::portable::PortableFunction;
use crate::error::EngineError;
use crate::memory::StatementMemory;

/// A function of a user that returns a value for each row.
pub trait ScalarKernel: Send + Sync {
    /// What tells it from others of its name.
    fn identity(&self) -> String;

    /// The values for the rows of these columns. An error names the function.
    fn call(&self, columns: &[ArrayRef], rows: usize, memory: &StatementMemory) -> Result<ArrayRef, EngineError>;
}

/// A function of a user in a statement.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct UserScalar {
    name: String,
    returns: FieldRef,
    signature: Signature,
    kernel: Kernel<dyn ScalarKernel>,
}

impl UserScalar {
    pub fn new(name: &str, parameters: &Fields, returns: FieldRef, volatility: Volatility, kernel: Box<dyn ScalarKernel>) -> UserScalar {
        let types: Vec<DataType> = parameters.iter().map(|field| field.data_type().clone()).collect();
        let signature = if types.is_empty() { Signature::nullary(volatility) } else { Signature::exact(types, volatility) };
        let kernel = Kernel::new(kernel.identity(), kernel);
        UserScalar { name: name.to_string(), returns, signature, kernel }
    }

    pub fn with_portable(mut self, portable: Arc<PortableFunction>) -> UserScalar {
        self.kernel.portable = Some(portable);
        self
    }

    /// `None` if the function is not a user's.
    pub fn portable_of(function: &ScalarUDF) -> Option<&Arc<PortableFunction>> {
        function.inner().downcast_ref::<UserScalar>()?.kernel.portable.as_ref()
    }
}

impl ScalarUDFImpl for UserScalar {
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
        let result = self.kernel.code.call(&columns, rows, &memory).map_err(EngineError::into_datafusion)?;
        match is_constant {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&result, 0)?)),
            false => Ok(ColumnarValue::Array(result)),
        }
    }
}
