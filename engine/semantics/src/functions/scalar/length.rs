//! `length` of texts and lists, and `char_length` of texts alone. DataFusion's counts the letters of any value, for a list those of its
//! text.

use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::compute::{cast, kernels::length};
use arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue, internal_err};
use datafusion::functions::unicode::character_length as counted;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{ColumnarValue, Documentation, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};

use common::tensors::refused;
use common::type_names::declared_name;

pub fn length() -> ScalarUDF {
    made("length", vec![], true)
}

pub fn character_length() -> ScalarUDF {
    made("character_length", vec!["char_length".to_string()], false)
}

fn made(name: &'static str, aliases: Vec<String>, takes_lists: bool) -> ScalarUDF {
    ScalarUDF::from(Length { name, aliases, takes_lists, signature: Signature::user_defined(Volatility::Immutable) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Length {
    name: &'static str,
    aliases: Vec<String>,
    takes_lists: bool,
    signature: Signature,
}

impl ScalarUDFImpl for Length {
    fn name(&self) -> &str {
        self.name
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let taken = if self.takes_lists { "a text or a list" } else { "a text" };
        match types {
            [list] if list.is_list() && self.takes_lists => Ok(types.to_vec()),
            [nested] if nested.is_nested() => {
                let hint = nested.is_list().then_some("length and array_length count the elements of a list");
                Err(refused(format!("{} takes {taken}, and not {}", self.name, declared_name(nested)), hint))
            }
            [DataType::Dictionary(_, values)] if values.is_string() => Ok(types.to_vec()),
            [text] if text.is_string() => Ok(types.to_vec()),
            [_] => Ok(vec![DataType::Utf8View]),
            _ => Err(refused(format!("{} takes {taken}, and was given {} arguments", self.name, types.len()), None)),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [list] if list.is_list() => Ok(DataType::Int64),
            _ => counted().return_type(types),
        }
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.as_slice() {
            [ColumnarValue::Array(lists)] if lists.data_type().is_list() => Ok(ColumnarValue::Array(lengths(lists)?)),
            [ColumnarValue::Scalar(list)] if list.data_type().is_list() => {
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&lengths(&list.to_array()?)?, 0)?))
            }
            [_] => counted().invoke_with_args(args),
            _ => internal_err!("{} of {} arguments", self.name, args.args.len()),
        }
    }

    /// For texts it is DataFusion's function, whose name plans for other engines use.
    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        let is_text = self.takes_lists && args.len() == 1 && !info.get_data_type(&args[0])?.is_list();
        Ok(match is_text {
            true => {
                let function = Arc::new(character_length());
                ExprSimplifyResult::Simplified(Expr::ScalarFunction(ScalarFunction::new_udf(function, args)))
            }
            false => ExprSimplifyResult::Original(args),
        })
    }

    fn documentation(&self) -> Option<&Documentation> {
        counted_documentation()
    }
}

fn counted_documentation() -> Option<&'static Documentation> {
    static FUNCTION: std::sync::LazyLock<Arc<ScalarUDF>> = std::sync::LazyLock::new(counted);
    FUNCTION.documentation()
}

fn lengths(lists: &ArrayRef) -> Result<ArrayRef> {
    Ok(cast(&length::length(lists)?, &DataType::Int64)?)
}
