//! The output columns of a scan after a projection.

use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::projection::ProjectionExprs;

/// Of the output columns `shown` of a scan, those that the projection above it keeps; `None` if the projection computes or renames
/// anything.
pub fn projected_columns(shown: &[usize], projection: &ProjectionExprs) -> Option<Vec<usize>> {
    projection
        .iter()
        .map(|projected| {
            let column = projected.expr.downcast_ref::<Column>()?;
            (column.name() == projected.alias).then(|| shown[column.index()])
        })
        .collect()
}
