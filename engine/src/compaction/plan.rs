//! The query that reads the rows of a job: the table's columns and the row id, in the key's order.

use std::sync::Arc;

use arrow::compute::SortOptions;
use datafusion::common::Result;
use datafusion::datasource::source::DataSourceExec;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, UnboundedMemoryPool};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet};
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::sorts::streaming_merge::StreamingMergeBuilder;
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use datafusion::prelude::SessionConfig;
use pmem_store::{TableSnapshot, ZONE_ROWS};

use super::memory::{JobMemory, Need};
use semantics::cancel;
use table::scan::{ScanPart, StoreScan};

/// Each stream of a merge holds the batch that is being merged, the next one, and their keys.
const MERGED_MAX: usize = 16;
const MERGED_BATCHES: usize = 3;
/// The fraction of the memory for merging.
const MERGED_SHARE: usize = 4;
/// The memory of a sort per input byte: the rows, their copies and their keys.
const SORTED_TIMES: usize = 3;
const SORT_BYTES_MIN: usize = 8 << 20;
/// Another partition pays off only with this much memory to sort in.
const SORT_BYTES_PARTITION: usize = 32 << 20;
const SORT_RESERVED_MIN: usize = 512 << 10;
const SORT_RESERVED_MAX: usize = 10 << 20;
/// The maximum bytes of a batch that is merged or sorted; wide rows make it shorter.
const BATCH_BYTES: usize = 8 << 20;
const BATCH_ROWS_MIN: usize = 64;

/// How the rows of a job are read.
pub struct ReadPlan {
    table: TableSnapshot,
    order: Option<LexOrdering>,
    /// Already in the key's order. If there is no key, all parts.
    merged: Vec<Arc<ScanPart>>,
    /// To be sorted.
    sorted: Vec<Arc<ScanPart>>,
    merge_bytes: usize,
}

impl ReadPlan {
    /// `parts` says for each part whether it is in the key's order.
    pub fn new(table: &TableSnapshot, parts: Vec<(Arc<ScanPart>, bool)>, memory_bytes: usize) -> ReadPlan {
        let order = key_order(table);
        let (merged, sorted): (Vec<_>, Vec<_>) = parts.into_iter().partition(|(_, is_sorted)| *is_sorted || order.is_none());
        let plain = |parts: Vec<(Arc<ScanPart>, bool)>| parts.into_iter().map(|(part, _)| part).collect::<Vec<_>>();
        let (merged, sorted) = (plain(merged), plain(sorted));
        let mut plan = ReadPlan { table: table.clone(), order, merged, sorted, merge_bytes: 0 };
        if plan.order.is_some() && plan.merged.len() + plan.sorted.len() > 1 {
            plan.choose_merged(memory_bytes / MERGED_SHARE);
        }
        plan
    }

    /// Small parts, and those beyond what a merge can hold, are sorted again.
    fn choose_merged(&mut self, mut left_bytes: usize) {
        self.merged.sort_by_key(|part| std::cmp::Reverse(part.size_bytes()));
        let fits = |part: &&Arc<ScanPart>| {
            let needed = zone_bytes(part) * MERGED_BATCHES;
            let fits = needed <= left_bytes;
            left_bytes = left_bytes.saturating_sub(needed);
            fits
        };
        let count = self.merged.iter().take(MERGED_MAX).take_while(fits).count();
        self.sorted.extend(self.merged.drain(count..));
        let all = self.merged.iter().chain(&self.sorted).map(zone_bytes);
        self.merge_bytes = (self.merged.len() + 1) * MERGED_BATCHES * all.max().unwrap_or(0);
    }

    /// The memory need, without the row positions.
    pub fn need(&self) -> Need {
        let bytes: usize = self.sorted.iter().map(|part| part.memory_bytes() as usize).sum();
        match bytes {
            0 => Need { fixed_bytes: self.merge_bytes, ..Need::default() },
            _ => Need {
                fixed_bytes: self.merge_bytes,
                sort_bytes: (bytes * SORTED_TIMES).max(SORT_BYTES_MIN),
                sort_bytes_min: SORT_BYTES_MIN,
            },
        }
    }

    pub fn run(self, memory: &JobMemory, partitions: usize) -> Result<SendableRecordBatchStream> {
        let partitions = (memory.sort_bytes / SORT_BYTES_PARTITION).clamp(1, partitions);
        let zone_bytes_max = self.merged.iter().chain(&self.sorted).map(zone_bytes).max().unwrap_or(0);
        let mut inputs = Vec::new();
        if !self.merged.is_empty() {
            let one = self.order.is_none().then_some(1);
            inputs.push(scan(&self.table, self.merged, one)?);
        }
        if let Some(order) = self.order.as_ref().filter(|_| !self.sorted.is_empty()) {
            let sort = SortExec::new(order.clone(), scan(&self.table, self.sorted, Some(partitions))?);
            inputs.push(Arc::new(sort.with_preserve_partitioning(true)));
        }
        let (plan, reader) = cancel::interruptible(UnionExec::try_new(inputs)?, None)?;
        let task = Arc::new(task(memory, partitions, zone_bytes_max));
        let order = self.order;
        Ok(cancel::on_a_task_of(reader, plan.schema(), move || merged(&plan, order, &task, partitions > 1)))
    }
}

fn task(memory: &JobMemory, partitions: usize, zone_bytes: usize) -> TaskContext {
    let batch_rows = (ZONE_ROWS * BATCH_BYTES / zone_bytes.max(1)).clamp(BATCH_ROWS_MIN, ZONE_ROWS);
    let mut config = SessionConfig::new().with_target_partitions(partitions).with_batch_size(batch_rows);
    // Each partition of a sort reserves this much for merging; it must not be most of the memory.
    let share = memory.sort_bytes / (16 * partitions);
    config.options_mut().execution.sort_spill_reservation_bytes = share.clamp(SORT_RESERVED_MIN, SORT_RESERVED_MAX);
    TaskContext::default().with_session_config(config).with_runtime(Arc::clone(&memory.runtime))
}

/// Merges the partitions of the plan into one stream in the key's order.
fn merged(
    plan: &Arc<dyn ExecutionPlan>,
    order: Option<LexOrdering>,
    task: &Arc<TaskContext>,
    on_tasks: bool,
) -> Result<SendableRecordBatchStream> {
    let partitions = plan.output_partitioning().partition_count();
    let stream = |partition| -> Result<SendableRecordBatchStream> {
        if !on_tasks {
            return plan.execute(partition, Arc::clone(task));
        }
        // The merge polls all of them before it begins, so they sort in parallel.
        let (plan, task) = (Arc::clone(plan), Arc::clone(task));
        Ok(cancel::on_a_task(plan.schema(), move || plan.execute(partition, task)))
    };
    let Some(order) = order.filter(|_| partitions > 1) else { return stream(0) };
    // Its memory was estimated and reserved beforehand.
    let uncounted: Arc<dyn MemoryPool> = Arc::new(UnboundedMemoryPool::default());
    StreamingMergeBuilder::new()
        .with_streams((0..partitions).map(stream).collect::<Result<_>>()?)
        .with_schema(plan.schema())
        .with_expressions(&order)
        .with_metrics(BaselineMetrics::new(&ExecutionPlanMetricsSet::new(), 0))
        .with_batch_size(task.session_config().batch_size())
        .with_reservation(MemoryConsumer::new("merge of a compaction").register(&uncounted))
        .with_round_robin_tie_breaker(false)
        .build()
}

fn key_order(table: &TableSnapshot) -> Option<LexOrdering> {
    let columns = table.record().cluster_key.iter().filter_map(|order| {
        let index = table.schema().index_of(&order.column).ok()?;
        let options = SortOptions { descending: order.descending, nulls_first: order.nulls_first };
        Some(PhysicalSortExpr::new(Arc::new(Column::new(&order.column, index)), options))
    });
    LexOrdering::new(columns.collect::<Vec<_>>())
}

fn scan(table: &TableSnapshot, parts: Vec<Arc<ScanPart>>, partitions: Option<usize>) -> Result<Arc<dyn ExecutionPlan>> {
    Ok(DataSourceExec::from_data_source(StoreScan::of_parts(table.clone(), parts, partitions)?))
}

fn zone_bytes(part: &Arc<ScanPart>) -> usize {
    part.memory_bytes() as usize / part.zone_count().max(1)
}
