//! The window functions that rank rows.

use std::sync::Arc;

use datafusion::physical_expr::window::{StandardWindowExpr, WindowExpr};
use datafusion::physical_plan::windows::WindowUDFExpr;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RankKind {
    /// Counts rows. Equal ones come in any order.
    RowNumber,
    /// Counts rows, and equal ones have the same rank.
    Rank,
    /// Counts different rows.
    DenseRank,
}

impl RankKind {
    pub fn name(self) -> &'static str {
        match self {
            RankKind::RowNumber => "row_number",
            RankKind::Rank => "rank",
            RankKind::DenseRank => "dense_rank",
        }
    }
}

/// `None` for other functions.
pub fn kind_of(function: &Arc<dyn WindowExpr>) -> Option<RankKind> {
    let standard = function.as_any().downcast_ref::<StandardWindowExpr>()?;
    let name = standard.get_standard_func_expr().as_any().downcast_ref::<WindowUDFExpr>()?.fun().name();
    [RankKind::RowNumber, RankKind::Rank, RankKind::DenseRank].into_iter().find(|kind| kind.name() == name)
}

/// Whether a function ranks the rows of the same groups in the same order. Such a rank does not depend on the rows behind.
pub fn is_same_rank(function: &Arc<dyn WindowExpr>, rank: &Arc<dyn WindowExpr>) -> bool {
    kind_of(function).is_some() && function.partition_by() == rank.partition_by() && function.order_by() == rank.order_by()
}
