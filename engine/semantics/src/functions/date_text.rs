//! `to_date(text)` is the cast to DATE. It reads the same texts, and its error names the text.

use arrow::datatypes::DataType;
use datafusion::common::DFSchema;
use datafusion::logical_expr::{Expr, ExprSchemable, cast};

pub fn date_of_text(expr: &Expr, schema: &DFSchema) -> Option<Expr> {
    let Expr::ScalarFunction(call) = expr else { return None };
    let [text] = call.args.as_slice() else { return None };
    let is_text = call.func.name() == "to_date" && text.get_type(schema).is_ok_and(|data_type| data_type.is_string());
    is_text.then(|| cast(text.clone(), DataType::Date32))
}
