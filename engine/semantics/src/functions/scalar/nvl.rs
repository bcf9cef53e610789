//! `nvl` and `ifnull` are `coalesce` of two arguments. DataFusion's convert everything but numbers to texts: dates, times and lists too.

use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, internal_err};
use datafusion::functions::core::coalesce;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Documentation, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use common::tensors::refused;

pub fn nvl() -> ScalarUDF {
    let aliases = vec!["ifnull".to_string()];
    ScalarUDF::from(Nvl { inner: coalesce(), aliases, signature: Signature::user_defined(Volatility::Immutable) })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Nvl {
    inner: Arc<ScalarUDF>,
    aliases: Vec<String>,
    signature: Signature,
}

impl ScalarUDFImpl for Nvl {
    fn name(&self) -> &str {
        "nvl"
    }

    fn aliases(&self) -> &[String] {
        &self.aliases
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [_, _] => self.inner.coerce_types(types),
            _ => Err(refused(format!("nvl takes two arguments, and was given {}", types.len()), Some("coalesce takes any number"))),
        }
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        internal_err!("nvl of {types:?} has a field")
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        self.inner.return_field_from_args(args)
    }

    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        self.inner.simplify(args, info)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        self.inner.invoke_with_args(args)
    }

    fn conditional_arguments<'a>(&self, args: &'a [Expr]) -> Option<(Vec<&'a Expr>, Vec<&'a Expr>)> {
        self.inner.inner().conditional_arguments(args)
    }

    fn short_circuits(&self) -> bool {
        true
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }
}
