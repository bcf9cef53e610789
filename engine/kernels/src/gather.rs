//! Collects the batches of a kernel's inputs as the scans yield them; they stay in place, so that they can be read several times.

use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion::common::runtime::JoinSet;
use datafusion::common::{Result, exec_datafusion_err};
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use futures::StreamExt;
use parking_lot::Mutex;

use common::memory::LiveMemory;
use common::report::ReportCollector;

/// All batches of each plan, in the order of its partitions, which are read concurrently. Their memory is reserved in `memory`.
pub async fn collect_batches(
    plans: &[Arc<dyn ExecutionPlan>],
    context: &Arc<TaskContext>,
    memory: &Arc<MemoryReservation>,
) -> Result<Vec<Vec<RecordBatch>>> {
    let collector = context.session_config().get_extension::<ReportCollector>().unwrap_or_default();
    // All streams share it, because they may yield slices of one allocation.
    let counted = Arc::new(CountedBytes { live_memory: Mutex::default(), collector, memory: Arc::clone(memory) });
    let mut tasks = JoinSet::new();
    for (input, plan) in plans.iter().enumerate() {
        for partition in 0..plan.output_partitioning().partition_count() {
            let (stream, counted) = (plan.execute(partition, Arc::clone(context))?, Arc::clone(&counted));
            tasks.spawn(async move { Result::<_>::Ok((input, partition, counted.all(stream).await?)) });
        }
    }
    let mut read = Vec::new();
    // If one fails, the others are dropped, which ends them.
    while let Some(done) = tasks.join_next().await {
        read.push(done.map_err(|error| exec_datafusion_err!("a part of a kernel stopped unexpectedly ({error}); please report it"))??);
    }
    read.sort_by_key(|(input, partition, _)| (*input, *partition));
    let mut inputs = vec![Vec::new(); plans.len()];
    read.into_iter().for_each(|(input, _, batches)| inputs[input].extend(batches));
    Ok(inputs)
}

struct CountedBytes {
    live_memory: Mutex<LiveMemory>,
    collector: Arc<ReportCollector>,
    memory: Arc<MemoryReservation>,
}

impl CountedBytes {
    async fn all(&self, mut stream: SendableRecordBatchStream) -> Result<Vec<RecordBatch>> {
        let mut batches = Vec::new();
        while let Some(batch) = stream.next().await.transpose()? {
            let bytes = {
                let mut live_memory = self.live_memory.lock();
                live_memory.look_at_all(&self.collector);
                live_memory.take(&batch)
            };
            self.memory.try_grow(bytes)?;
            batches.push(batch);
        }
        Ok(batches)
    }
}

#[cfg(test)]
mod tests {
    use arrow::array::{ArrayRef, ListArray};
    use arrow::datatypes::Float64Type;
    use datafusion::datasource::memory::MemorySourceConfig;
    use datafusion::execution::memory_pool::{GreedyMemoryPool, MemoryConsumer, MemoryPool};

    use super::*;

    #[tokio::test]
    async fn slices_of_one_allocation_take_its_memory_once() {
        let rows = (0..1_000).map(|row| Some(vec![Some(f64::from(row)); 10]));
        let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>(rows));
        let whole = RecordBatch::try_from_iter([("x", lists)]).unwrap();
        let slices: Vec<RecordBatch> = (0..10).map(|slice| whole.slice(slice * 100, 100)).collect();
        let partitions = [slices[..5].to_vec(), slices[5..].to_vec()];
        let plan: Arc<dyn ExecutionPlan> = MemorySourceConfig::try_new_exec(&partitions, whole.schema(), None).unwrap();
        let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(1 << 20));
        let memory = Arc::new(MemoryConsumer::new("f").register(&pool));
        let read = collect_batches(&[Arc::clone(&plan), plan], &Arc::default(), &memory).await.unwrap();
        assert_eq!(read, [slices.clone(), slices]);
        // 10,000 numbers of 8 bytes, which builders keep in up to twice as much, but not ten or twenty times as much.
        assert!((80_000..200_000).contains(&memory.size()), "{}", memory.size());
    }
}
