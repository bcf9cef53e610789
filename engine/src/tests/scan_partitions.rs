//! What a partition of a scan yields if it alone is polled, as a task of a cluster would do.

use std::sync::Arc;

use arrow::array::AsArray;
use arrow::datatypes::Int64Type;
use datafusion::common::stats::Precision;
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties};
use datafusion::prelude::{SessionConfig, SessionContext};
use futures::{StreamExt, TryStreamExt};
use tokio::runtime::Runtime;

use crate::shared::EngineShared;
use crate::sql_planner::views::SqlViewPlanner;
use crate::{Engine, EngineOptions};
use common::names::CATALOG;
use table::catalog::{CatalogHandle, StoreCatalog};

/// Enough zones for sixteen partitions.
const SEGMENT_ROWS: [i64; 3] = [600_000, 8_192, 20_001];
const ROWS: i64 = 600_000 + 8_192 + 20_001;

struct Scans {
    runtime: Runtime,
    context: SessionContext,
    _engine: Engine,
}

impl Scans {
    /// Table `t` of three segments with `id` 0, 1, 2 … and `k` = `id` % 10; table `sorted`, the same by `id`.
    fn new(partitions: usize) -> Scans {
        let runtime = Runtime::new().unwrap();
        let engine = Engine::open_temporary(EngineOptions::default()).unwrap();
        let run = |sql: String| {
            runtime.block_on(async { engine.session().unwrap().execute(&sql).await.unwrap().collect().await.unwrap() });
        };
        run("CREATE TABLE empty (id bigint, k bigint)".into());
        run("CREATE TABLE t (id bigint, k bigint)".into());
        run("CREATE TABLE sorted (id bigint, k bigint) ORDER BY (id)".into());
        let mut start = 0;
        for rows in SEGMENT_ROWS {
            let last = start + rows - 1;
            for table in ["t", "sorted"] {
                run(format!("INSERT INTO {table} SELECT value, value % 10 FROM generate_series({start}, {last}) AS g(value)"));
            }
            start += rows;
        }
        let catalog = StoreCatalog::new(
            Arc::<EngineShared>::clone(&engine.shared),
            engine.store().snapshot().unwrap(),
            Arc::default(),
            None,
            Arc::new(SqlViewPlanner),
        );
        let config = SessionConfig::new()
            .with_default_catalog_and_schema(CATALOG, "main")
            .with_create_default_catalog_and_schema(false)
            .with_target_partitions(partitions);
        let context = SessionContext::new_with_config(config);
        context.register_catalog(CATALOG, Arc::new(CatalogHandle(catalog)));
        Scans { runtime, context, _engine: engine }
    }

    /// The scan of the query: its plan without the operators that merge partitions.
    fn plan(&self, sql: &str) -> Arc<dyn ExecutionPlan> {
        let mut plan = self.runtime.block_on(async { self.context.sql(sql).await.unwrap().create_physical_plan().await.unwrap() });
        while plan.name() != "DataSourceExec" {
            let children = plan.children();
            assert_eq!(children.len(), 1, "{sql}");
            plan = Arc::clone(children[0]);
        }
        plan
    }

    fn poll(&self, plan: &Arc<dyn ExecutionPlan>, partition: usize) -> Vec<i64> {
        let stream = plan.execute(partition, self.context.task_ctx()).unwrap();
        let batches: Vec<_> = self.runtime.block_on(stream.try_collect()).unwrap();
        batches.iter().flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values().to_vec()).collect()
    }

    /// Each partition in a plan of its own, whose other partitions are never polled.
    fn alone(&self, sql: &str) -> Vec<Vec<i64>> {
        let partitions = self.plan(sql).output_partitioning().partition_count();
        (0..partitions).map(|partition| self.poll(&self.plan(sql), partition)).collect()
    }

    /// All partitions of one plan at once.
    fn together(&self, sql: &str) -> Vec<Vec<i64>> {
        let plan = self.plan(sql);
        let partitions = plan.output_partitioning().partition_count();
        let streams: Vec<_> = (0..partitions).map(|partition| plan.execute(partition, self.context.task_ctx()).unwrap()).collect();
        self.runtime.block_on(async {
            let tasks: Vec<_> = streams.into_iter().map(|stream| tokio::spawn(stream.try_collect::<Vec<_>>())).collect();
            let mut parts = Vec::new();
            for task in tasks {
                let batches = task.await.unwrap().unwrap();
                parts.push(batches.iter().flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values().to_vec()).collect());
            }
            parts
        })
    }
}

fn sorted(parts: Vec<Vec<i64>>) -> Vec<i64> {
    let mut all = parts.concat();
    all.sort_unstable();
    all
}

#[test]
fn every_partition_polled_alone_yields_its_part_and_the_parts_are_the_table() {
    for partitions in [1, 2, 3, 7, 16] {
        let scans = Scans::new(partitions);
        for table in ["t", "sorted"] {
            let sql = format!("SELECT id FROM {table}");
            let alone = scans.alone(&sql);
            assert_eq!(alone.len(), partitions);
            assert_eq!(alone, scans.together(&sql), "{partitions} partitions of {table}");
            assert_eq!(sorted(alone), (0..ROWS).collect::<Vec<_>>(), "{partitions} partitions of {table}");
        }
    }
}

#[test]
fn a_filter_changes_nothing_about_who_reads_what() {
    let scans = Scans::new(5);
    for (filter, expected) in [
        ("k = 3", (0..ROWS).filter(|id| id % 10 == 3).collect::<Vec<_>>()),
        ("id BETWEEN 590000 AND 610000", (590_000..=610_000).collect()),
        ("id = 600000", vec![600_000]),
        ("id < 0", Vec::new()),
    ] {
        let sql = format!("SELECT id FROM t WHERE {filter}");
        let alone = scans.alone(&sql);
        assert_eq!(alone, scans.together(&sql), "{filter}");
        assert_eq!(sorted(alone), expected, "{filter}");
    }
}

#[test]
fn a_partition_polled_twice_or_last_first_yields_the_same() {
    let scans = Scans::new(4);
    let plan = scans.plan("SELECT id FROM t WHERE k < 5");
    let partitions = plan.output_partitioning().partition_count();
    let forward: Vec<_> = (0..partitions).map(|partition| scans.poll(&plan, partition)).collect();
    let backward: Vec<_> = (0..partitions).rev().map(|partition| scans.poll(&plan, partition)).collect();
    assert!(forward.iter().eq(backward.iter().rev()));
}

#[test]
fn a_partition_given_up_leaves_its_part_unread() {
    let scans = Scans::new(4);
    let plan = scans.plan("SELECT id FROM t");
    let expected = scans.alone("SELECT id FROM t");
    let mut first = plan.execute(0, scans.context.task_ctx()).unwrap();
    scans.runtime.block_on(async { first.next().await.unwrap().unwrap() });
    drop(first);
    for (partition, rows) in expected.iter().enumerate().skip(1) {
        assert_eq!(&scans.poll(&plan, partition), rows);
    }
}

#[test]
fn a_limit_bounds_each_partition_alone() {
    let scans = Scans::new(4);
    for part in scans.alone("SELECT id FROM t LIMIT 100") {
        assert!(part.len() <= 100, "{} rows", part.len());
    }
    let parts = scans.alone("SELECT id FROM t WHERE k = 3 LIMIT 7");
    assert!(parts.iter().map(Vec::len).sum::<usize>() >= 7);
    assert!(parts.iter().flatten().all(|id| id % 10 == 3));
}

#[test]
fn the_rows_expected_with_a_limit_are_those_of_each_partition_below_it() {
    let scans = Scans::new(4);
    let plan = scans.plan("SELECT id FROM t");
    let expected = |plan: &Arc<dyn ExecutionPlan>, partition| {
        let source = plan.downcast_ref::<DataSourceExec>().unwrap().data_source();
        source.partition_statistics(partition).unwrap().num_rows
    };
    let smallest = scans.alone("SELECT id FROM t").iter().map(Vec::len).min().unwrap();
    for limit in [7, smallest + 1, ROWS as usize] {
        let limited = plan.with_fetch(Some(limit)).unwrap();
        let rows: Vec<usize> = (0..4).map(|partition| scans.poll(&limited, partition).len()).collect();
        assert_eq!(expected(&limited, None), Precision::Exact(rows.iter().sum()), "{limit}: {rows:?}");
        for (partition, rows) in rows.into_iter().enumerate() {
            assert_eq!(expected(&limited, Some(partition)), Precision::Exact(rows), "{limit}, partition {partition}");
        }
    }
    let filtered = scans.plan("SELECT id FROM t WHERE k = 3").with_fetch(Some(7)).unwrap();
    assert_eq!(expected(&filtered, None), Precision::Inexact(4 * 7));
}

#[test]
fn a_partition_of_an_ordered_table_is_in_order() {
    let scans = Scans::new(3);
    for part in scans.alone("SELECT id FROM sorted ORDER BY id") {
        assert!(part.is_sorted());
    }
}

#[test]
fn an_empty_table_has_partitions_without_rows() {
    let scans = Scans::new(3);
    let parts = scans.alone("SELECT id FROM empty");
    assert!(!parts.is_empty() && parts.iter().all(Vec::is_empty));
}

#[test]
fn rows_are_counted_where_no_column_is_put_out() {
    let scans = Scans::new(5);
    let plan = scans.plan("SELECT count(*) FROM t WHERE k <> 3");
    assert!(plan.schema().fields().is_empty());
    let rows = |partition| {
        let stream = plan.execute(partition, scans.context.task_ctx()).unwrap();
        let batches: Vec<_> = scans.runtime.block_on(stream.try_collect()).unwrap();
        batches.iter().map(|batch| batch.num_rows()).sum::<usize>()
    };
    let counted: usize = (0..plan.output_partitioning().partition_count()).map(rows).sum();
    assert_eq!(counted, (0..ROWS).filter(|id| id % 10 != 3).count());
}
