//! The operator: it reads all points, and yields a row for each cluster.

use std::fmt;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, internal_err};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, ReplaceChildrenOptions,
};

use super::arguments::{Arguments, Init};
use super::lloyd::{Sharing, clusters};
use super::memory::Need;
use super::points::Points;
use super::rows::{rows, schema};
use super::start::first_centroids;
use crate::gather::collect_batches;
use crate::precopy::{Input, is_staged};
use crate::threads::{StopFlag, in_background};
use common::engine_settings::{Precopy, switches};
use common::memory::limit_bytes;
use common::messages::counted;
use common::names::KMEANS;
use common::report::ReportCollector;
use common::tensors::refused;

#[derive(Debug)]
pub struct KMeansExec {
    input: Arc<dyn ExecutionPlan>,
    arguments: Arc<Arguments>,
    is_vector: bool,
    /// Whether the store's files are persistent memory.
    is_persistent: bool,
    projection: Option<Vec<usize>>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl KMeansExec {
    pub fn new(input: Arc<dyn ExecutionPlan>, arguments: Arc<Arguments>, is_vector: bool, is_persistent: bool) -> KMeansExec {
        let (projection, properties) = (None, Arc::new(properties(schema())));
        KMeansExec { input, arguments, is_vector, is_persistent, projection, properties, metrics: ExecutionPlanMetricsSet::new() }
    }

    /// The same operator with some of the columns only.
    pub fn projected(self, projection: Option<&Vec<usize>>) -> Result<KMeansExec> {
        let Some(projection) = projection else { return Ok(self) };
        let schema = Arc::new(schema().project(projection)?);
        Ok(KMeansExec { properties: Arc::new(properties(schema)), projection: Some(projection.clone()), ..self })
    }
}

fn properties(schema: SchemaRef) -> PlanProperties {
    let equivalences = EquivalenceProperties::new(schema);
    PlanProperties::new(equivalences, Partitioning::UnknownPartitioning(1), EmissionType::Final, Boundedness::Bounded)
}

impl DisplayAs for KMeansExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Arguments { columns, k, iterations, tolerance, init, seed } = self.arguments.as_ref();
        match format {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                let columns = columns.join(", ");
                write!(
                    f,
                    "KMeansExec: columns=[{columns}], k={k}, iterations={iterations}, tolerance={tolerance}, init={init}, seed={seed}"
                )
            }
            DisplayFormatType::TreeRender => writeln!(f, "k={k}"),
        }
    }
}

impl ExecutionPlan for KMeansExec {
    fn name(&self) -> &str {
        "KMeansExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(&self, _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let (Some(input), true) = (children.pop(), children.is_empty()) else {
            return internal_err!("KMeansExec has one input");
        };
        let new = KMeansExec::new(input, Arc::clone(&self.arguments), self.is_vector, self.is_persistent);
        Ok(Arc::new(new.projected(self.projection.as_ref())?))
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if partition != 0 {
            return internal_err!("KMeansExec has no partition {partition}");
        }
        let run = Run {
            arguments: Arc::clone(&self.arguments),
            is_vector: self.is_vector,
            is_persistent: self.is_persistent,
            metrics: Counts::new(&self.metrics),
        };
        let (input, projection) = (Arc::clone(&self.input), self.projection.clone());
        let rows = async move {
            let rows = run.run(&input, &context).await?;
            Ok(match projection {
                Some(columns) => rows.project(&columns)?,
                None => rows,
            })
        };
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), futures::stream::once(rows))))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }
}

/// The metrics for EXPLAIN ANALYZE.
struct Counts {
    points: Count,
    iterations: Count,
    precopied_bytes: Count,
    output_rows: Count,
}

impl Counts {
    fn new(metrics: &ExecutionPlanMetricsSet) -> Counts {
        let count = |name: &'static str| MetricBuilder::new(metrics).counter(name, 0);
        Counts {
            points: count("points"),
            iterations: count("iterations"),
            precopied_bytes: count("precopied_bytes"),
            output_rows: MetricBuilder::new(metrics).output_rows(0),
        }
    }
}

struct Run {
    arguments: Arc<Arguments>,
    is_vector: bool,
    is_persistent: bool,
    metrics: Counts,
}

impl Run {
    async fn run(self, input: &Arc<dyn ExecutionPlan>, context: &Arc<TaskContext>) -> Result<RecordBatch> {
        let memory = Arc::new(MemoryConsumer::new(KMEANS).register(context.memory_pool()));
        let batches = collect_batches(std::slice::from_ref(input), context, &memory).await?.into_iter().flatten().collect();
        let context = Arc::clone(context);
        in_background(move |stop| self.compute(batches, &memory, &context, stop)).await
    }

    /// `of_batches` is the memory of the batches.
    fn compute(
        &self,
        batches: Vec<RecordBatch>,
        of_batches: &MemoryReservation,
        context: &TaskContext,
        stop: &StopFlag,
    ) -> Result<RecordBatch> {
        let config = context.session_config();
        let threads = config.target_partitions();
        let memory = of_batches.new_empty();
        let points = Points::of(&batches, self.is_vector, stop)?;
        drop(batches);
        memory.try_grow(points.list_bytes())?;
        self.metrics.points.add(points.rows());
        self.check_count(&points)?;
        let need = Need::of(&points, &self.arguments, threads)?;
        memory.try_grow(need.bytes()?)?;
        let report = config.get_extension::<ReportCollector>().unwrap_or_default();
        let size_bytes = points.size_bytes()?;
        let is_staged = self.stages(&points, context)?;
        let points = match is_staged {
            true => {
                memory.try_grow(size_bytes)?;
                ReportCollector::add(&report.precopied_bytes, size_bytes);
                self.metrics.precopied_bytes.add(size_bytes);
                let staged = points.staged(threads, stop)?;
                // Only the points kept the batches alive.
                of_batches.free();
                staged
            }
            false => points,
        };
        let first = first_centroids(&points, &self.arguments, threads, stop)?;
        let result = clusters(&points, first, &self.arguments, &Sharing { threads, stop }, &memory)?;
        if !is_staged {
            // The first pass reads what it touches.
            let again = self.passes_before() + result.inertias.len() - 1;
            ReportCollector::add(&report.reread_bytes, size_bytes.saturating_mul(again));
        }
        self.metrics.iterations.add(result.inertias.len());
        self.metrics.output_rows.add(self.arguments.k);
        memory.try_grow(need.result_bytes(result.inertias.len())?)?;
        rows(&result)
    }

    fn check_count(&self, points: &Points) -> Result<()> {
        let k = self.arguments.k;
        match points.rows() {
            0 => Err(refused(format!("{KMEANS} finds no rows: there is none, or each has a NULL"), None)),
            rows if rows < k => {
                let message = format!("{KMEANS} cannot make {} of {}", counted(k, "cluster"), counted(rows, "row"));
                Err(refused(message, Some("rows with a NULL do not count; k is at most the number of the others")))
            }
            _ => Ok(()),
        }
    }

    /// The largest number of passes over all points.
    fn passes(&self) -> usize {
        self.passes_before().saturating_add(self.arguments.iterations)
    }

    /// The passes that find the first centroids.
    fn passes_before(&self) -> usize {
        if matches!(self.arguments.init, Init::PlusPlus) { self.arguments.k - 1 } else { 0 }
    }

    fn stages(&self, points: &Points, context: &TaskContext) -> Result<bool> {
        let pool = context.memory_pool();
        let input = Input {
            passes: self.passes(),
            size_bytes: points.size_bytes()?,
            is_dense: points.is_dense()?,
            is_persistent: self.is_persistent,
            limit_bytes: limit_bytes(pool.as_ref()),
            used_bytes: pool.reserved(),
        };
        let precopy: Precopy = switches(context.session_config().options()).precopy();
        Ok(is_staged(precopy, &input))
    }
}
