//! Functions of lambdas, which are left to when the statement runs: how much a lambda makes of each element nobody knows before.

use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::{
    ColumnarValue, Documentation, Expr, HigherOrderFunctionArgs, HigherOrderReturnFieldArgs, HigherOrderSignature, HigherOrderUDF,
    HigherOrderUDFImpl, LambdaParametersProgress, ValueOrLambda,
};

use super::payload::Argument;
use crate::memory::{StatementMemory, reserve};

/// All of DataFusion's, for sessions to know them by their names.
pub fn bounded_higher_order_functions() -> impl Iterator<Item = Arc<HigherOrderUDF>> {
    let functions = datafusion::functions_nested::all_default_higher_order_functions().into_iter();
    functions.map(|inner| Arc::new(HigherOrderUDF::from(BoundedHigherOrder { inner })))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct BoundedHigherOrder {
    inner: Arc<HigherOrderUDF>,
}

impl HigherOrderUDFImpl for BoundedHigherOrder {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        self.inner.schema_name(args)
    }

    fn signature(&self) -> &HigherOrderSignature {
        self.inner.signature()
    }

    fn lambda_parameters(&self, step: usize, fields: &[ValueOrLambda<FieldRef, Option<FieldRef>>]) -> Result<LambdaParametersProgress> {
        self.inner.lambda_parameters(step, fields)
    }

    fn coerce_values_for_lambdas(&self, fields: &[ValueOrLambda<DataType, DataType>]) -> Result<Option<Vec<DataType>>> {
        self.inner.coerce_values_for_lambdas(fields)
    }

    fn return_field_from_args(&self, args: HigherOrderReturnFieldArgs<'_>) -> Result<FieldRef> {
        self.inner.return_field_from_args(args)
    }

    fn clear_null_values(&self) -> bool {
        self.inner.clear_null_values()
    }

    fn invoke_with_args(&self, args: HigherOrderFunctionArgs) -> Result<ColumnarValue> {
        if let Some(memory) = StatementMemory::of(&args.config_options) {
            if !memory.runs() {
                return exec_err!("{}() is computed when the statement runs, where a constant is needed", self.name());
            }
            // A constant list is made one for each row.
            let lists = args.args.iter().filter_map(|arg| if let ValueOrLambda::Value(value) = arg { Some(value) } else { None });
            let bytes = lists.fold(0, |sum: usize, list| sum.saturating_add(Argument(list).bytes(args.number_rows)));
            reserve(memory.pool(), || format!("{}()", self.name()), bytes)?;
        }
        self.inner.invoke_with_args(args)
    }

    fn short_circuits(&self) -> bool {
        self.inner.short_circuits()
    }

    fn conditional_arguments<'a>(&self, args: &'a [Expr]) -> Option<(Vec<&'a Expr>, Vec<&'a Expr>)> {
        self.inner.conditional_arguments(args)
    }

    fn coerce_value_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_value_types(arg_types)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }
}
