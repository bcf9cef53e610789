//! `||` of texts as a function, so that its memory is counted. If a query uses a result twice and concatenates both, level by level, each
//! level is twice as long as the one before.

use std::sync::{Arc, LazyLock};

use arrow::compute::kernels::concat_elements::concat_elements_dyn;
use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{DFSchema, Result, ScalarValue, internal_err};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::{
    BinaryExpr, ColumnarValue, Expr, ExprSchemable, Operator, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    Volatility,
};

use super::function::{counting, inner_of};
use super::growth::Growth;

static OF_TYPES: LazyLock<[(DataType, Arc<ScalarUDF>); 3]> = LazyLock::new(|| {
    [DataType::Utf8View, DataType::Utf8, DataType::LargeUtf8].map(|data_type| {
        let concatenation = Concatenation { data_type: data_type.clone(), signature: Signature::any(2, Volatility::Immutable) };
        (data_type, Arc::new(ScalarUDF::from(counting(Arc::new(ScalarUDF::from(concatenation)), Growth::Sum))))
    })
});

/// The call that replaces the operator, if it concatenates texts of one type.
pub fn concatenated(expr: &Expr, schema: &DFSchema) -> Option<Expr> {
    let Expr::BinaryExpr(BinaryExpr { left, op: Operator::StringConcat, right }) = expr else { return None };
    let (left_type, right_type) = (type_of(left, schema)?, type_of(right, schema)?);
    let (_, function) = OF_TYPES.iter().find(|(data_type, _)| *data_type == left_type && *data_type == right_type)?;
    Some(Expr::ScalarFunction(ScalarFunction::new_udf(Arc::clone(function), vec![left.as_ref().clone(), right.as_ref().clone()])))
}

/// Avoids finding the type of each term of a long chain again from all terms before it.
fn type_of(expr: &Expr, schema: &DFSchema) -> Option<DataType> {
    if let Expr::ScalarFunction(call) = expr
        && let Some(known) = inner_of(&call.func).and_then(|inner| inner.inner().downcast_ref::<Concatenation>())
    {
        return Some(known.data_type.clone());
    }
    expr.get_type(schema).ok()
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Concatenation {
    data_type: DataType,
    signature: Signature,
}

impl ScalarUDFImpl for Concatenation {
    fn name(&self) -> &str {
        "text_concatenation"
    }

    /// Columns keep their names.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        match args {
            [left, right] => Ok(format!("{} {} {}", left.schema_name(), Operator::StringConcat, right.schema_name())),
            _ => internal_err!("{} of {} arguments", self.name(), args.len()),
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.data_type.clone())
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let nullable = args.arg_fields.iter().any(|field| field.is_nullable());
        Ok(Arc::new(Field::new(self.name(), self.data_type.clone(), nullable)))
    }

    fn is_strict(&self) -> bool {
        true
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let is_constant = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
        let rows = if is_constant { 1 } else { args.number_rows };
        let [left, right] = args.args.as_slice() else { return internal_err!("{} of {} arguments", self.name(), args.args.len()) };
        let both = concat_elements_dyn(&left.to_array(rows)?, &right.to_array(rows)?)?;
        match is_constant {
            true => Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&both, 0)?)),
            false => Ok(ColumnarValue::Array(both)),
        }
    }
}
