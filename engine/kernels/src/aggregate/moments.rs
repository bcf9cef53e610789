//! `covariance_matrix` and `correlation_matrix`.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Documentation, Signature, Volatility};

use super::function::{documented, refuse_distinct};
use super::summary::{Summing, list_of_doubles, state_types};
use crate::numeric::moments::Moments;
use crate::scalar::types::{as_number_type, as_vector_type, check_number_type, check_vector_type};
use common::tensors::{Vectors, refused};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Matrix {
    Covariances,
    Correlations,
}

impl Matrix {
    fn name(self) -> &'static str {
        match self {
            Matrix::Covariances => "covariance_matrix",
            Matrix::Correlations => "correlation_matrix",
        }
    }
}

pub fn matrix(matrix: Matrix) -> AggregateUDF {
    let description = match matrix {
        Matrix::Covariances => "The covariances of a sample of each two columns, as a list of rows.",
        Matrix::Correlations => "The correlations of each two columns, from -1 to 1, as a list of rows; NaN of a column that is constant.",
    };
    let documentation = documented(description, &format!("{}(x1, x2, …)", matrix.name()))
        .with_alternative_syntax(format!("{}(vector)", matrix.name()))
        .with_argument("x1, x2, …", "Numbers. Rows where one is NULL are left out.")
        .with_argument("vector", "Vectors of one length; their elements stand for the columns.")
        .build();
    AggregateUDF::from(OfColumns { matrix, signature: Signature::user_defined(Volatility::Immutable), documentation })
}

/// DOUBLE[][], n×n for n columns; NULL for fewer than two rows. NaN and infinities make NaN of every element that depends on their column.
#[derive(Debug, PartialEq, Eq, Hash)]
struct OfColumns {
    matrix: Matrix,
    signature: Signature,
    documentation: Documentation,
}

impl AggregateUDFImpl for OfColumns {
    fn name(&self) -> &str {
        self.matrix.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        Ok(match types {
            [vector] if Vectors::element(vector).is_some() => vec![as_vector_type(vector)],
            columns => columns.iter().map(as_number_type).collect(),
        })
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        match types {
            [] => return Err(refused(format!("{} takes columns of numbers, and was given none", self.name()), None)),
            [vector] if Vectors::element(vector).is_some() => check_vector_type(self.name(), vector)?,
            columns => columns.iter().try_for_each(|column| check_number_type(self.name(), "each argument", column))?,
        }
        Ok(list_of(list_of(DataType::Float64)))
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let field = |(what, data_type)| Arc::new(Field::new(format_state_name(args.name, what), data_type, true));
        Ok(state_types().map(field).to_vec())
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        refuse_distinct(self.name(), &args)?;
        let matrix = self.matrix;
        Ok(Box::new(Summing::new(matrix.name(), move |moments: Option<&Moments>| of_moments(matrix, moments))))
    }

    fn documentation(&self) -> Option<&Documentation> {
        Some(&self.documentation)
    }
}

fn of_moments(matrix: Matrix, moments: Option<&Moments>) -> Result<ScalarValue> {
    let rows_of = |numbers: Vec<f64>, width: usize| numbers.chunks(width).map(list_of_doubles).collect::<Vec<_>>();
    let numbers = moments.and_then(|moments| match matrix {
        Matrix::Covariances => moments.covariances(),
        Matrix::Correlations => moments.correlations(),
    });
    match (moments, numbers) {
        (Some(moments), Some(numbers)) => {
            let rows = rows_of(numbers, moments.width());
            Ok(ScalarValue::List(ScalarValue::new_list_nullable(&rows, &list_of(DataType::Float64))))
        }
        _ => ScalarValue::try_from(&list_of(list_of(DataType::Float64))),
    }
}

fn list_of(element: DataType) -> DataType {
    DataType::List(Arc::new(Field::new_list_field(element, true)))
}
