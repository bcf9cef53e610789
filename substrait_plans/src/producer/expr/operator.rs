//! Operators.

use arrow::datatypes::DataType;
use datafusion::common::DFSchema;
use datafusion::logical_expr::{BinaryExpr, Expr, ExprSchemable, Operator};

use super::super::functions::kinds::{is_float, is_signed, kinds_of};
use super::super::functions::own::OWN;
use super::super::functions::standard::{ARITHMETIC, DECIMALS};
use super::super::registry::Function;
use super::super::writer::Writer;
use super::may_be_null;
use crate::proto::Expression;
use crate::refusal::Refusal;

impl Writer {
    /// `whole` is the expression of the operator.
    pub(super) fn binary(&mut self, binary: &BinaryExpr, whole: &Expr, schema: &DFSchema) -> Result<Expression, Refusal> {
        let BinaryExpr { left, op, right } = binary;
        let comparison = match op {
            Operator::And | Operator::Or => return self.chain(binary, schema),
            Operator::StringConcat => return self.joined_text(left, right, schema),
            Operator::RegexMatch => return self.pattern("regex_match", false, left, right, schema),
            Operator::RegexIMatch => return self.pattern("regex_imatch", false, left, right, schema),
            Operator::RegexNotMatch => return self.pattern("regex_match", true, left, right, schema),
            Operator::RegexNotIMatch => return self.pattern("regex_imatch", true, left, right, schema),
            Operator::LikeMatch => return self.pattern("like", false, left, right, schema),
            Operator::ILikeMatch => return self.pattern("ilike", false, left, right, schema),
            Operator::NotLikeMatch => return self.pattern("like", true, left, right, schema),
            Operator::NotILikeMatch => return self.pattern("ilike", true, left, right, schema),
            Operator::Eq => Some("equal"),
            Operator::NotEq => Some("not_equal"),
            Operator::Lt => Some("lt"),
            Operator::LtEq => Some("lte"),
            Operator::Gt => Some("gt"),
            Operator::GtEq => Some("gte"),
            Operator::IsDistinctFrom => Some("is_distinct_from"),
            Operator::IsNotDistinctFrom => Some("is_not_distinct_from"),
            _ => None,
        };
        if let Some(name) = comparison {
            return self.comparison(name, left, right, schema);
        }
        let name = match op {
            Operator::Plus => "add",
            Operator::Minus => "subtract",
            Operator::Multiply => "multiply",
            Operator::Divide => "divide",
            Operator::Modulo => "modulus",
            Operator::BitwiseAnd => "bitwise_and",
            Operator::BitwiseOr => "bitwise_or",
            Operator::BitwiseXor => "bitwise_xor",
            Operator::BitwiseShiftLeft => "bitwise_shift_left",
            Operator::BitwiseShiftRight => "bitwise_shift_right",
            other => return Err(Refusal::new(format!("the operator {other}"), "it is not on the list of what plans of Quiver say")),
        };
        self.arithmetic(name, &[left.as_ref(), right.as_ref()], whole, false, schema)
    }

    pub(super) fn negative(&mut self, operand: &Expr, whole: &Expr, is_checked: bool, schema: &DFSchema) -> Result<Expression, Refusal> {
        self.arithmetic("negate", &[operand], whole, is_checked, schema)
    }

    /// The engine's functions that fail where the operators would wrap.
    pub(super) fn checked(&mut self, name: &str, operands: &[Expr], whole: &Expr, schema: &DFSchema) -> Result<Expression, Refusal> {
        let operands: Vec<&Expr> = operands.iter().collect();
        self.arithmetic(name, &operands, whole, true, schema)
    }

    fn arithmetic(
        &mut self,
        name: &str,
        operands: &[&Expr],
        whole: &Expr,
        is_checked: bool,
        schema: &DFSchema,
    ) -> Result<Expression, Refusal> {
        // The operands come first: that fails if the expression is too deep for computing its type.
        let written = operands.iter().map(|operand| self.expr(operand, schema)).collect::<Result<_, _>>()?;
        let types = operands.iter().map(|operand| Ok(operand.get_type(schema)?)).collect::<Result<Vec<_>, Refusal>>()?;
        let output = whole.get_type(schema)?;
        let mut function = arithmetic(name, &types, &output);
        // Our own functions have no options.
        if is_checked && function.urn != OWN {
            function = function.with("overflow", "ERROR");
        }
        self.call(&function, written, &output, operands.iter().any(|operand| may_be_null(operand, schema)))
    }
}

/// The standard's function if it supports these types, otherwise ours of the same name.
fn arithmetic(name: &str, types: &[DataType], output: &DataType) -> Function {
    let all = |is: fn(&DataType) -> bool| types.iter().all(is);
    let is_same = types.iter().all(|data_type| data_type == output);
    let is_bitwise = name.starts_with("bitwise");
    let is_standard = match name {
        "bitwise_shift_left" | "bitwise_shift_right" => false,
        // The standard does not define the remainder of floats.
        "modulus" => all(is_signed),
        _ => all(is_signed) || (all(is_float) && !is_bitwise),
    };
    let is_decimal = |data_type: &DataType| matches!(data_type, DataType::Decimal128(..));
    let has_decimals = matches!(name, "add" | "subtract" | "multiply" | "divide" | "modulus");
    let urn = if is_standard && is_same {
        ARITHMETIC
    } else if has_decimals && types.iter().all(is_decimal) && is_decimal(output) {
        DECIMALS
    } else {
        OWN
    };
    Function::new(urn, name, &kinds_of(types))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_on_types_that_the_standard_has_not_is_ours() {
        use DataType::*;
        let name = |name: &str, types: &[DataType], output: DataType| {
            let function = arithmetic(name, types, &output);
            (function.urn == OWN, function.name)
        };
        assert_eq!(name("add", &[Int64, Int64], Int64), (false, "add:i64_i64".into()));
        assert_eq!(name("divide", &[Float32, Float32], Float32), (false, "divide:fp32_fp32".into()));
        assert_eq!(name("multiply", &[Decimal128(15, 2), Decimal128(15, 2)], Decimal128(31, 4)), (false, "multiply:dec_dec".into()));
        assert_eq!(name("add", &[UInt64, UInt64], UInt64), (true, "add:u!u64_u!u64".into()));
        assert_eq!(name("modulus", &[Float64, Float64], Float64), (true, "modulus:fp64_fp64".into()));
        assert_eq!(name("bitwise_and", &[Float64, Float64], Float64), (true, "bitwise_and:fp64_fp64".into()));
        assert_eq!(name("negate", &[Decimal128(15, 2)], Decimal128(15, 2)), (true, "negate:dec".into()));
        let months = Interval(arrow::datatypes::IntervalUnit::YearMonth);
        assert_eq!(name("add", &[Date32, months], Date32), (true, "add:date_iyear".into()));
    }
}
