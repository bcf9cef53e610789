//! Limits the rows of a batch for operators whose expressions make far larger values than they read.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow::datatypes::Schema;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::execution::memory_pool::{MemoryLimit, MemoryPool};
use datafusion::physical_expr::expressions::Literal;
use datafusion::physical_expr::{HigherOrderFunctionExpr, PhysicalExpr, ScalarFunctionExpr};

use crate::functions::nested_order::constant;
use crate::functions::{is_bounded, scalar_bytes};

/// The bytes that an operator's expressions should make of one piece, intermediate values included.
const PIECE_BYTES: usize = 16 << 20;
/// One piece takes at most this fraction of the query's memory: each partition has several pieces, in its operators and between them.
const PIECE_ONE_OF: usize = 16;
/// It is not known yet how large the results of a row are.
const ROWS_FIRST: usize = 1;
const GROWTH_MAX: usize = 8;
/// A constant of this size is large if it is repeated for each row.
const CONSTANT_BYTES: usize = 1 << 10;
/// After so many rows the first ones say little about the next, so older measurements lose weight.
const ROWS_REMEMBERED: usize = 1 << 16;

/// Learned from piece to piece, shared by all partitions.
#[derive(Debug)]
pub struct AdaptiveBatch {
    piece_bytes: usize,
    /// The bytes of the constants; each row may get a copy of all of them.
    row_bytes: usize,
    rows: AtomicUsize,
    bytes: AtomicUsize,
}

impl Default for AdaptiveBatch {
    fn default() -> AdaptiveBatch {
        AdaptiveBatch { piece_bytes: PIECE_BYTES, row_bytes: 0, rows: AtomicUsize::new(0), bytes: AtomicUsize::new(0) }
    }
}

impl AdaptiveBatch {
    /// `None` if the results are about as large as the input. The limit follows from that of `pool`, if there is one.
    pub fn of<'a>(
        exprs: impl IntoIterator<Item = &'a Arc<dyn PhysicalExpr>>,
        schema: &Schema,
        pool: Option<&Arc<dyn MemoryPool>>,
    ) -> Option<Arc<AdaptiveBatch>> {
        let constants = exprs.into_iter().filter_map(|expr| grows(expr, schema));
        let row_bytes = constants.reduce(usize::saturating_add)?;
        let piece_bytes = match pool.map(|pool| pool.memory_limit()) {
            Some(MemoryLimit::Finite(bytes)) => PIECE_BYTES.min(bytes / PIECE_ONE_OF),
            _ => PIECE_BYTES,
        };
        Some(Arc::new(AdaptiveBatch { piece_bytes, row_bytes, ..AdaptiveBatch::default() }))
    }

    /// The number of rows of the next piece.
    pub fn next(&self) -> usize {
        let (rows, bytes) = (self.rows.load(Ordering::Relaxed), self.bytes.load(Ordering::Relaxed));
        let row_bytes = self.row_bytes.max(bytes.checked_div(rows).unwrap_or(0)).max(1);
        let most = if rows == 0 { ROWS_FIRST } else { rows.saturating_mul(GROWTH_MAX) };
        (self.piece_bytes / row_bytes).clamp(1, most)
    }

    pub fn hand_out(&self, rows: usize) {
        if self.rows.fetch_add(rows, Ordering::Relaxed) > ROWS_REMEMBERED {
            self.rows.store(ROWS_REMEMBERED / 2, Ordering::Relaxed);
            let bytes = self.bytes.load(Ordering::Relaxed);
            self.bytes.store(bytes / 2, Ordering::Relaxed);
        }
    }

    pub fn made(&self, bytes: usize) {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// The bytes of its constants, if the results of the expression may be far larger than its input.
pub fn grows(expr: &Arc<dyn PhysicalExpr>, schema: &Schema) -> Option<usize> {
    let (mut calls, mut constants) = (false, 0_usize);
    let walked = expr.apply(|node| {
        if let Some(literal) = node.downcast_ref::<Literal>() {
            constants = constants.saturating_add(scalar_bytes(literal.value()));
        } else if let Some(call) = node.downcast_ref::<ScalarFunctionExpr>() {
            constants = constants.saturating_add(constant::value(call.fun()).map_or(0, scalar_bytes));
            calls |= is_bounded(call.fun()) && !node.data_type(schema).is_ok_and(|data_type| data_type.is_primitive());
        } else {
            calls |= node.is::<HigherOrderFunctionExpr>();
        }
        Ok(TreeNodeRecursion::Continue)
    });
    (walked.is_err() || calls || constants > CONSTANT_BYTES).then_some(constants)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_grow_while_little_is_made_of_them() {
        let pieces = AdaptiveBatch::default();
        let mut handed = Vec::new();
        for _ in 0..4 {
            let rows = pieces.next().min(8_192);
            pieces.hand_out(rows);
            pieces.made(rows * 100);
            handed.push(rows);
        }
        assert_eq!(handed, [1, 8, 72, 648]);
    }

    #[test]
    fn much_of_a_row_makes_pieces_small() {
        let pieces = AdaptiveBatch::default();
        pieces.hand_out(16);
        pieces.made(16 << 20);
        assert_eq!(pieces.next(), 16);
        pieces.hand_out(16);
        pieces.made(1 << 30);
        assert_eq!(pieces.next(), 1);
        let constants = AdaptiveBatch { row_bytes: 4 << 20, ..AdaptiveBatch::default() };
        assert_eq!(constants.next(), 1);
        constants.hand_out(1);
        assert_eq!(constants.next(), 4);
    }
}
