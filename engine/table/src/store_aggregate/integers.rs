//! Sums, differences and products of decimals and integers, in 64-bit integers.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, ArrowPrimitiveType, AsArray, PrimitiveArray};
use arrow::buffer::NullBuffer;
use arrow::datatypes::{DataType, Decimal64Type, Int8Type, Int16Type, Int32Type, Int64Type, Schema};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::Operator;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{BinaryExpr, CastExpr, Column, Literal};

/// Expressions that share their parts. An expression is named by its position; its parts have lower ones.
#[derive(Debug, Default)]
pub struct IntegerExprs(Vec<IntegerExpr>);

#[derive(Debug, Clone, Copy, PartialEq)]
enum IntegerExpr {
    /// The digits of a column of the scan.
    Column(usize),
    Constant(i64),
    Binary {
        operator: ArithmeticOperator,
        left: usize,
        right: usize,
    },
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum ArithmeticOperator {
    Plus,
    Minus,
    Times,
}

/// The values of an expression for the rows of a zone.
#[derive(Debug)]
pub struct Integers {
    pub values: Vec<i64>,
    pub nulls: Option<NullBuffer>,
    /// No value is further from 0, nor one that lies beneath a NULL.
    pub bound: u64,
}

impl IntegerExprs {
    /// Adds an expression over the columns of a scan. `None` if it is not made of decimals, or integers, and arithmetic on decimals.
    pub fn add(&mut self, expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Result<Option<usize>> {
        let before = self.0.len();
        let added = self.add_parts(expr, schema)?;
        if added.is_none() {
            self.0.truncate(before);
        }
        Ok(added)
    }

    fn add_parts(&mut self, expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Result<Option<usize>> {
        let data_type = expr.data_type(schema)?;
        if let Some(column) = expr.downcast_ref::<Column>() {
            return Ok(is_integer(&data_type).then(|| self.push(IntegerExpr::Column(column.index()))));
        }
        if let Some(literal) = expr.downcast_ref::<Literal>() {
            return Ok(digits(literal.value()).map(|digits| self.push(IntegerExpr::Constant(digits))));
        }
        if let Some(cast) = expr.downcast_ref::<CastExpr>() {
            // More digits before the point change nothing.
            return match (cast.expr().data_type(schema)?, &data_type) {
                (DataType::Decimal128(from, scale), DataType::Decimal128(to, other)) if scale == *other && from <= *to => {
                    self.add_parts(cast.expr(), schema)
                }
                (from, to) if from.is_signed_integer() && *to == DataType::Int64 => self.add_parts(cast.expr(), schema),
                _ => Ok(None),
            };
        }
        let Some(binary) = expr.downcast_ref::<BinaryExpr>() else { return Ok(None) };
        let types = (binary.left().data_type(schema)?, binary.right().data_type(schema)?, data_type);
        let (DataType::Decimal128(_, left_scale), DataType::Decimal128(_, right_scale), DataType::Decimal128(_, scale)) = types else {
            return Ok(None);
        };
        let operator = match binary.op() {
            Operator::Plus => ArithmeticOperator::Plus,
            Operator::Minus => ArithmeticOperator::Minus,
            Operator::Multiply if left_scale.checked_add(right_scale) == Some(scale) => ArithmeticOperator::Times,
            _ => return Ok(None),
        };
        let (Some(left), Some(right)) = (self.add_parts(binary.left(), schema)?, self.add_parts(binary.right(), schema)?) else {
            return Ok(None);
        };
        if operator == ArithmeticOperator::Times {
            return Ok(Some(self.push(IntegerExpr::Binary { operator, left, right })));
        }
        let operands = self.rescaled(left, left_scale, scale).zip(self.rescaled(right, right_scale, scale));
        Ok(operands.map(|(left, right)| self.push(IntegerExpr::Binary { operator, left, right })))
    }

    /// The same numbers with more digits behind the point.
    fn rescaled(&mut self, expr: usize, from: i8, to: i8) -> Option<usize> {
        let factor = 10i64.checked_pow(u32::try_from(to.checked_sub(from)?).ok()?)?;
        match (factor, self.0[expr]) {
            (1, _) => Some(expr),
            (_, IntegerExpr::Constant(digits)) => Some(self.push(IntegerExpr::Constant(digits.checked_mul(factor)?))),
            _ => {
                let right = self.push(IntegerExpr::Constant(factor));
                Some(self.push(IntegerExpr::Binary { operator: ArithmeticOperator::Times, left: expr, right }))
            }
        }
    }

    fn push(&mut self, expr: IntegerExpr) -> usize {
        self.0.iter().position(|other| *other == expr).unwrap_or_else(|| {
            self.0.push(expr);
            self.0.len() - 1
        })
    }

    /// The values of all expressions for rows of a scan, whose columns `stored` gives; `None` for one that could exceed 64 bits.
    pub fn evaluate<'a>(&self, rows: usize, stored: impl Fn(usize) -> &'a ArrayRef) -> Vec<Option<Integers>> {
        let mut results: Vec<Option<Integers>> = Vec::with_capacity(self.0.len());
        for expr in &self.0 {
            let result = match expr {
                IntegerExpr::Column(column) => of_column(stored(*column)),
                // Only operators read it.
                IntegerExpr::Constant(_) => None,
                IntegerExpr::Binary { operator, left, right } => {
                    let operand = |at: usize| match self.0.get(at) {
                        Some(IntegerExpr::Constant(constant)) => Some(Operand::Constant(*constant)),
                        _ => results.get(at).and_then(Option::as_ref).map(Operand::Values),
                    };
                    operand(*left).zip(operand(*right)).and_then(|(left, right)| combine(*operator, left, right, rows))
                }
            };
            results.push(result);
        }
        results
    }
}

fn is_integer(declared: &DataType) -> bool {
    matches!(declared, DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 | DataType::Decimal128(..))
}

fn digits(value: &ScalarValue) -> Option<i64> {
    match value {
        ScalarValue::Decimal128(Some(value), ..) => i64::try_from(*value).ok(),
        _ => None,
    }
}

#[derive(Clone, Copy)]
enum Operand<'a> {
    Values(&'a Integers),
    Constant(i64),
}

impl<'a> Operand<'a> {
    fn bound(&self) -> u64 {
        match self {
            Operand::Values(integers) => integers.bound,
            Operand::Constant(constant) => constant.unsigned_abs(),
        }
    }

    fn nulls(&self) -> Option<&'a NullBuffer> {
        match self {
            Operand::Values(integers) => integers.nulls.as_ref(),
            Operand::Constant(_) => None,
        }
    }
}

fn combine(operator: ArithmeticOperator, left: Operand<'_>, right: Operand<'_>, rows: usize) -> Option<Integers> {
    let (a, b) = (u128::from(left.bound()), u128::from(right.bound()));
    let bound = if operator == ArithmeticOperator::Times { a * b } else { a + b };
    let bound = u64::try_from(bound).ok().filter(|bound| *bound <= i64::MAX as u64)?;
    let values = match operator {
        ArithmeticOperator::Plus => zipped(left, right, rows, i64::wrapping_add),
        ArithmeticOperator::Minus => zipped(left, right, rows, i64::wrapping_sub),
        ArithmeticOperator::Times => zipped(left, right, rows, i64::wrapping_mul),
    };
    Some(Integers { values, nulls: NullBuffer::union(left.nulls(), right.nulls()), bound })
}

fn zipped(left: Operand<'_>, right: Operand<'_>, rows: usize, f: impl Fn(i64, i64) -> i64) -> Vec<i64> {
    match (left, right) {
        (Operand::Values(left), Operand::Values(right)) => left.values.iter().zip(&right.values).map(|(a, b)| f(*a, *b)).collect(),
        (Operand::Values(left), Operand::Constant(right)) => left.values.iter().map(|a| f(*a, right)).collect(),
        (Operand::Constant(left), Operand::Values(right)) => right.values.iter().map(|b| f(left, *b)).collect(),
        (Operand::Constant(left), Operand::Constant(right)) => vec![f(left, right); rows],
    }
}

fn of_column(stored: &ArrayRef) -> Option<Integers> {
    match stored.data_type() {
        DataType::Int8 => Some(widened(stored.as_primitive::<Int8Type>(), 1 << 7)),
        DataType::Int16 => Some(widened(stored.as_primitive::<Int16Type>(), 1 << 15)),
        DataType::Int32 => Some(widened(stored.as_primitive::<Int32Type>(), 1 << 31)),
        DataType::Int64 => bounded(stored.as_primitive::<Int64Type>()),
        DataType::Decimal64(..) => bounded(stored.as_primitive::<Decimal64Type>()),
        _ => None,
    }
}

fn widened<T: ArrowPrimitiveType<Native: Into<i64>>>(array: &PrimitiveArray<T>, bound: u64) -> Integers {
    Integers { values: array.values().iter().map(|value| (*value).into()).collect(), nulls: array.nulls().cloned(), bound }
}

/// The bound is that of the values.
fn bounded<T: ArrowPrimitiveType<Native = i64>>(array: &PrimitiveArray<T>) -> Option<Integers> {
    // The bits of all magnitudes: less than twice the greatest.
    let bits = array.values().iter().fold(0, |bits, value| bits | (value ^ (value >> 63)));
    let bound = (bits as u64).checked_add(1)?;
    Some(Integers { values: array.values().to_vec(), nulls: array.nulls().cloned(), bound })
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Decimal64Array, Int16Array, Int64Array};
    use arrow::datatypes::Field;
    use datafusion::physical_expr::expressions::{binary, lit};

    fn column(name: &str, schema: &Schema) -> Arc<dyn PhysicalExpr> {
        Arc::new(Column::new_with_schema(name, schema).unwrap())
    }

    #[test]
    fn a_product_of_differences_is_that_of_its_digits() {
        let money = DataType::Decimal128(15, 2);
        let schema = Schema::new(vec![Field::new("a", money.clone(), true), Field::new("b", money, true)]);
        let one: Arc<dyn PhysicalExpr> = lit(ScalarValue::Decimal128(Some(1), 20, 0));
        let left = binary(one, Operator::Minus, column("b", &schema), &schema).unwrap();
        let product = binary(column("a", &schema), Operator::Multiply, left, &schema).unwrap();
        let mut exprs = IntegerExprs::default();
        let at = exprs.add(&product, &schema).unwrap().unwrap();
        assert_eq!(exprs.add(&product, &schema).unwrap(), Some(at), "it is shared");
        let columns: [ArrayRef; 2] = [
            Arc::new(Int16Array::from(vec![Some(1000), Some(-7), None])),
            Arc::new(Decimal64Array::from(vec![4, -5, 6]).with_precision_and_scale(15, 2).unwrap()),
        ];
        let results = exprs.evaluate(3, |column| &columns[column]);
        let result = results[at].as_ref().unwrap();
        assert_eq!(result.values[..2], [1000 * 96, -7 * 105]);
        assert!(result.nulls.as_ref().unwrap().is_null(2));
        assert_eq!(result.bound, (1 << 15) * (100 + 7));
    }

    #[test]
    fn what_could_exceed_64_bits_has_no_result() {
        let schema = Schema::new(vec![Field::new("a", DataType::Decimal128(18, 0), true)]);
        let square = binary(column("a", &schema), Operator::Multiply, column("a", &schema), &schema).unwrap();
        let mut exprs = IntegerExprs::default();
        let at = exprs.add(&square, &schema).unwrap().unwrap();
        let of = |value: i64| {
            let stored: ArrayRef = Arc::new(Int64Array::from(vec![value, 0]));
            exprs.evaluate(2, |_| &stored)[at].as_ref().map(|result| result.values[0])
        };
        assert_eq!(of(-3), Some(9));
        assert_eq!(of(1_000_000_000), Some(1_000_000_000_000_000_000));
        assert_eq!(of(3_037_000_500), None);
        assert_eq!(of(i64::MIN), None);
        assert_eq!(of(i64::MAX), None);
    }
}
