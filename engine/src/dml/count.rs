//! The row count that a statement which changes rows returns.

use arrow::array::AsArray;
use arrow::datatypes::UInt64Type;
use datafusion::execution::SendableRecordBatchStream;
use futures::StreamExt;

use common::error::EngineError;

/// Runs the plan to its end, and returns the number of changed rows.
pub async fn count(mut rows: SendableRecordBatchStream) -> Result<u64, EngineError> {
    let mut count = 0;
    while let Some(batch) = rows.next().await {
        count += batch?.column(0).as_primitive::<UInt64Type>().values().iter().sum::<u64>();
    }
    Ok(count)
}
