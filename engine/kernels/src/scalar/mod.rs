//! Functions of vectors and matrices, one row at a time.

mod blocks;
mod buckets;
mod kernel;
mod norms;
mod operands;
mod pairs;
pub(super) mod types;

use datafusion::logical_expr::ScalarUDF;

use blocks::Block;
use buckets::WidthBucket;
use kernel::function;
use norms::Norm;
use pairs::Pair;

pub fn all() -> Vec<ScalarUDF> {
    let pairs = [Pair::Dot, Pair::L2Distance, Pair::CosineDistance].map(function);
    let norms = [Norm::L1, Norm::L2, Norm::Max].map(function);
    let blocks = [Block::Add, Block::Scale, Block::Transpose, Block::Multiply, Block::Vector].map(function);
    pairs.into_iter().chain(norms).chain(blocks).chain([function(WidthBucket)]).collect()
}
