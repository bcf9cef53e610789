//! The rows of the input, held where they lie: a pass over them for each iteration reads no operator again.

use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use futures::{StreamExt, TryFutureExt};

use super::KMEANS;
use crate::kernels::held::owned_bytes;
use crate::report::ReportCollector;

pub struct Collected {
    /// Those of the first partition first.
    pub batches: Vec<RecordBatch>,
    /// What of them is no mapped segment's.
    pub reservation: Arc<MemoryReservation>,
}

pub async fn collect(input: &Arc<dyn ExecutionPlan>, context: &Arc<TaskContext>) -> Result<Collected> {
    let reservation = Arc::new(MemoryConsumer::new(KMEANS).register(context.memory_pool()));
    let tasks = (0..input.output_partitioning().partition_count()).map(|partition| {
        let (input, context, reservation) = (Arc::clone(input), Arc::clone(context), Arc::clone(&reservation));
        let task = SpawnedTask::spawn(async move { partition_of(&input, partition, &context, &reservation).await });
        // Where one fails, the others are dropped, which ends them.
        task.join_unwind().map_err(|error| DataFusionError::ExecutionJoin(Box::new(error)))
    });
    let mut batches = Vec::new();
    for partition in futures::future::try_join_all(tasks).await? {
        batches.extend(partition?);
    }
    Ok(Collected { batches, reservation })
}

async fn partition_of(
    input: &Arc<dyn ExecutionPlan>,
    partition: usize,
    context: &Arc<TaskContext>,
    reservation: &MemoryReservation,
) -> Result<Vec<RecordBatch>> {
    let mut stream = input.execute(partition, Arc::clone(context))?;
    // Scans have told their segments when they were opened.
    let report = context.session_config().get_extension::<ReportCollector>().unwrap_or_default();
    let mapped = report.mapped_places();
    let mut batches = Vec::new();
    while let Some(batch) = stream.next().await {
        let batch = batch?;
        reservation.try_grow(owned_bytes(&batch, &mapped))?;
        batches.push(batch);
    }
    Ok(batches)
}
