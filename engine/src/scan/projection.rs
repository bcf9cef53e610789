//! The columns that are left of a scan's under a projection.

use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::projection::ProjectionExprs;

/// Of a scan that puts out the columns `shown`, those of its table that the projection above it leaves; None where that computes
/// or renames something.
pub fn projected_columns(shown: &[usize], projection: &ProjectionExprs) -> Option<Vec<usize>> {
    projection
        .iter()
        .map(|projected| {
            let column = projected.expr.downcast_ref::<Column>()?;
            (column.name() == projected.alias).then(|| shown[column.index()])
        })
        .collect()
}
