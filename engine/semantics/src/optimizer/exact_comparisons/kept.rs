//! Keeps a cast in place by making it the argument of a function that DataFusion does not see through.

use arrow::datatypes::DataType;
use datafusion::common::Result;
use datafusion::common::utils::take_function_args;
use datafusion::logical_expr::{ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};

#[derive(Debug, PartialEq, Eq, Hash)]
struct KeptExpr {
    signature: Signature,
}

/// Returns the same value. Only plans have the function; no statement can name it.
pub fn kept(cast: Expr) -> Expr {
    ScalarUDF::from(KeptExpr { signature: Signature::any(1, Volatility::Immutable) }).call(vec![cast])
}

impl ScalarUDFImpl for KeptExpr {
    fn name(&self) -> &str {
        "kept"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        let [of_value] = take_function_args(self.name(), types)?;
        Ok(of_value.clone())
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [value] = take_function_args(self.name(), args.args)?;
        Ok(value)
    }
}
