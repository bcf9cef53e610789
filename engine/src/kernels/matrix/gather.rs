//! The batches of a kernel's inputs, as the scans hand them out.

use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion::common::runtime::JoinSet;
use datafusion::common::{Result, exec_datafusion_err};
use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use futures::StreamExt;

use crate::kernels::held::owned_bytes;
use crate::report::{MappedPlaces, ReportCollector};

/// All batches of each plan, in the order of its partitions, which are read at the same time. What does not lie in a mapped segment is
/// taken of `memory`.
pub async fn gathered(
    plans: Vec<Arc<dyn ExecutionPlan>>,
    context: &Arc<TaskContext>,
    memory: &Arc<MemoryReservation>,
) -> Result<Vec<Vec<RecordBatch>>> {
    let mut streams = Vec::new();
    for (input, plan) in plans.iter().enumerate() {
        for partition in 0..plan.output_partitioning().partition_count() {
            streams.push((input, partition, plan.execute(partition, Arc::clone(context))?));
        }
    }
    // Scans have said by now which segments they read.
    let mapped = Arc::new(mapped_places(context));
    let mut tasks = JoinSet::new();
    for (input, partition, mut stream) in streams {
        let (mapped, memory) = (Arc::clone(&mapped), Arc::clone(memory));
        tasks.spawn(async move {
            let mut batches = Vec::new();
            while let Some(batch) = stream.next().await.transpose()? {
                memory.try_grow(owned_bytes(&batch, &mapped))?;
                batches.push(batch);
            }
            Result::<_>::Ok((input, partition, batches))
        });
    }
    let mut read = Vec::new();
    while let Some(done) = tasks.join_next().await {
        read.push(done.map_err(|error| exec_datafusion_err!("a part of a kernel stopped unexpectedly ({error}); please report it"))??);
    }
    read.sort_by_key(|(input, partition, _)| (*input, *partition));
    let mut inputs = vec![Vec::new(); plans.len()];
    read.into_iter().for_each(|(input, _, batches)| inputs[input].extend(batches));
    Ok(inputs)
}

fn mapped_places(context: &TaskContext) -> MappedPlaces {
    let collector = context.session_config().get_extension::<ReportCollector>();
    collector.unwrap_or_default().mapped_places()
}
