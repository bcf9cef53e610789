//! `typeof(x)`: the name of the type in SQL.

use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};

use common::type_names::declared_name;

pub fn type_name() -> ScalarUDF {
    let (signature, aliases) = (Signature::any(1, Volatility::Immutable), vec!["pg_typeof".to_string()]);
    ScalarUDF::from(TypeName { signature, aliases })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct TypeName {
    signature: Signature,
    aliases: Vec<String>,
}

impl ScalarUDFImpl for TypeName {
    fn name(&self) -> &str {
        "typeof"
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let name = declared_name(args.arg_fields[0].data_type());
        Ok(ColumnarValue::Scalar(ScalarValue::Utf8View(Some(name))))
    }
}
