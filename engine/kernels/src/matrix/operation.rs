//! The operations of the kernels.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Operation {
    Add,
    Multiply,
    Transpose,
    Scale(f64),
    /// A matrix and a vector.
    Vector,
    Norm,
    /// The product by SQL: `sum_product` over a join. Rows may share a position, and NULLs mean what they mean in a query.
    Product,
}

impl Operation {
    pub fn function(&self) -> &'static str {
        match self {
            Operation::Add => "matrix_add",
            Operation::Multiply => "matrix_multiply",
            Operation::Transpose => "matrix_transpose",
            Operation::Scale(_) => "matrix_scale",
            Operation::Vector => "matrix_vector",
            Operation::Norm => "matrix_norm",
            Operation::Product => "sum_product",
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.function())?;
        match self {
            Operation::Scale(by) => write!(f, " by {by}"),
            _ => Ok(()),
        }
    }
}
