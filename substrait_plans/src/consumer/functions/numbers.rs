//! Numeric functions that DataFusion defines differently.

use arrow::datatypes::DataType;
use datafusion::common::Result as DfResult;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator, lit};
use datafusion::scalar::ScalarValue;

use super::call::{Call, cast};

/// NaN is greater than all numbers here, so it is neither finite nor infinite.
pub fn is_finite(call: Call<'_>) -> DfResult<Expr> {
    Ok(magnitude(call)?.lt(lit(f64::INFINITY)))
}

pub fn is_infinite(call: Call<'_>) -> DfResult<Expr> {
    Ok(magnitude(call)?.eq(lit(f64::INFINITY)))
}

fn magnitude(mut call: Call<'_>) -> DfResult<Expr> {
    let value = call.one()?;
    call.function("abs", vec![cast(value, DataType::Float64)])
}

/// The result has the type of the number.
pub fn sign(mut call: Call<'_>) -> DfResult<Expr> {
    let value = call.one()?;
    let data_type = call.type_of(&value)?;
    let sign = call.function("signum", vec![value])?;
    Ok(if call.type_of(&sign)? == data_type { sign } else { cast(sign, data_type) })
}

/// DataFusion takes the base first.
pub fn log_of_base(mut call: Call<'_>) -> DfResult<Expr> {
    let (value, base) = call.two()?;
    call.function("log", vec![base, value])
}

/// Exclusive or with all bits set.
pub fn bitwise_not(mut call: Call<'_>) -> DfResult<Expr> {
    let value = call.one()?;
    let data_type = call.type_of(&value)?;
    if !data_type.is_signed_integer() {
        return Err(call.invalid(format!("bits of {data_type}")).into());
    }
    let ones = Expr::Literal(ScalarValue::Int64(Some(-1)).cast_to(&data_type)?, None);
    Ok(Expr::BinaryExpr(BinaryExpr::new(Box::new(value), Operator::BitwiseXor, Box::new(ones))))
}
