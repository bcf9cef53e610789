//! `version()` names Quiver, and not DataFusion.

use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};

const VERSION: &str = concat!("Quiver ", env!("CARGO_PKG_VERSION"));

#[derive(Debug, PartialEq, Eq, Hash)]
struct Version {
    signature: Signature,
}

pub fn version() -> ScalarUDF {
    ScalarUDF::from(Version { signature: Signature::nullary(Volatility::Immutable) })
}

impl ScalarUDFImpl for Version {
    fn name(&self) -> &str {
        "version"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        Ok(ColumnarValue::Scalar(ScalarValue::Utf8View(Some(VERSION.to_string()))))
    }
}
