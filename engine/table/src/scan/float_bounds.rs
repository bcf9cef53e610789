//! Zone bounds for decimals that a filter compares as floats: the bounds of the decimals, cast to floats, because the cast is monotonic.
//! Zone pruning understands only columns and casts, so these become extra columns.

use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray};
use arrow::compute::CastOptions;
use arrow::datatypes::{DataType, Field, Float32Type, Float64Type, Schema, SchemaRef};
use arrow::error::ArrowError;
use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::physical_expr::expressions::{CastExpr, Column};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};

use semantics::functions::{cast_nearest, is_nearest_floats};

/// A decimal column of the table, seen as floats.
#[derive(Debug)]
pub struct FloatColumn {
    pub name: String,
    /// The position of the decimal column in the physical schema.
    pub source: usize,
    pub data_type: DataType,
}

impl FloatColumn {
    /// `bound` is a bound of the decimals. A lower bound of zero becomes -0.0, so that both zeros are found, as in the bounds of floats.
    pub fn bound(&self, bound: &ArrayRef, is_least: bool) -> Result<ArrayRef, ArrowError> {
        let floats = cast_nearest(bound, &self.data_type, &CastOptions::default())?;
        Ok(match (&self.data_type, is_least) {
            (_, false) => floats,
            (DataType::Float32, _) => {
                Arc::new(floats.as_primitive::<Float32Type>().unary::<_, Float32Type>(|bound| if bound == 0.0 { -0.0 } else { bound }))
            }
            _ => Arc::new(floats.as_primitive::<Float64Type>().unary::<_, Float64Type>(|bound| if bound == 0.0 { -0.0 } else { bound })),
        })
    }
}

/// The filter with such columns, the columns, and the schema with them at its end.
pub fn with_float_columns(
    filter: &Arc<dyn PhysicalExpr>,
    physical: &SchemaRef,
) -> Result<(Arc<dyn PhysicalExpr>, Vec<FloatColumn>, SchemaRef)> {
    let mut columns: Vec<FloatColumn> = Vec::new();
    let filter = Arc::clone(filter).transform_down(|node| {
        let Some((source, data_type)) = decimals_as_floats(&node, physical) else { return Ok(Transformed::no(node)) };
        // No declared column can have such a name.
        let name = format!("\0{source} {data_type}");
        let at = columns.iter().position(|column| column.name == name).unwrap_or_else(|| {
            columns.push(FloatColumn { name: name.clone(), source, data_type });
            columns.len() - 1
        });
        Ok(Transformed::yes(Arc::new(Column::new(&name, physical.fields().len() + at))))
    })?;
    if columns.is_empty() {
        return Ok((filter.data, columns, Arc::clone(physical)));
    }
    let fields = columns.iter().map(|column| Arc::new(Field::new(&column.name, column.data_type.clone(), true)));
    let fields: Vec<_> = physical.fields().iter().cloned().chain(fields).collect();
    Ok((filter.data, columns, Arc::new(Schema::new(fields))))
}

fn decimals_as_floats(node: &Arc<dyn PhysicalExpr>, physical: &SchemaRef) -> Option<(usize, DataType)> {
    let call = node.downcast_ref::<ScalarFunctionExpr>().filter(|call| is_nearest_floats(call.fun()))?;
    let [operand] = call.args() else { return None };
    let scale = operand.data_type(physical).ok().and_then(|data_type| scale_of(&data_type))?;
    // A narrow physical column is widened first.
    let column = operand.downcast_ref::<CastExpr>().map_or(operand, |cast| cast.expr()).downcast_ref::<Column>()?;
    let stored = scale_of(physical.fields().get(column.index())?.data_type())?;
    (stored == scale && call.return_type().is_floating()).then(|| (column.index(), call.return_type().clone()))
}

fn scale_of(decimal: &DataType) -> Option<i8> {
    match decimal {
        DataType::Decimal32(_, scale) | DataType::Decimal64(_, scale) | DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale) => {
            Some(*scale)
        }
        _ => None,
    }
}
