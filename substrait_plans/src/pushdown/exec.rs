//! The operator that reads from a node: one stream with the result of a plan or with a whole table.

use std::fmt;
use std::sync::Arc;

use arrow::compute::SortOptions;
use arrow::datatypes::SchemaRef;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{EquivalenceProperties, LexOrdering, Partitioning, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::limit::LimitStream;
use datafusion::physical_plan::metrics::{BaselineMetrics, ExecutionPlanMetricsSet, MetricsSet};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    ChildrenPropertiesMode, DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, ReplaceChildrenOptions, StatisticsArgs,
};
use engine::{ErrorKind, PortableFunction, Pushdown};
use futures::TryStreamExt;

use super::metrics::RemoteMetrics;
use super::node::{Node, NodeError, NodeRows, failed};
use super::remote_stream::{Columns, Match, RemoteStream};
use crate::user_functions::with_definitions;

/// A request to a node.
#[derive(Debug, Clone)]
pub enum RemoteRequest {
    Plan {
        bytes: Arc<[u8]>,
        /// The functions of users that it names.
        functions: Vec<Arc<PortableFunction>>,
        /// The plan in readable form, one operator a line.
        text: String,
    },
    /// The whole table.
    Table { namespace: String, name: String },
}

#[derive(Debug, Clone)]
pub struct RemoteCall {
    pub node: Arc<dyn Node>,
    pub level: Pushdown,
    pub work: RemoteRequest,
    /// The schema of the result.
    pub schema: SchemaRef,
    /// The columns of `schema` that are used; `None` for all.
    pub projection: Option<Vec<usize>>,
    /// The order of the rows, by columns of `schema`.
    pub order: Vec<(usize, SortOptions)>,
    /// The estimated number of rows.
    pub rows: Option<usize>,
    /// Reading stops after this many rows.
    pub limit: Option<usize>,
}

#[derive(Debug)]
pub struct RemoteExec {
    request: RemoteCall,
    name: String,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl RemoteExec {
    pub fn new(request: RemoteCall) -> Result<RemoteExec> {
        let shown = match &request.projection {
            Some(columns) => Arc::new(request.schema.project(columns)?),
            None => Arc::clone(&request.schema),
        };
        let ordering = LexOrdering::new(shown_order(&request));
        let equivalences = EquivalenceProperties::new_with_orderings(shown, ordering);
        let properties =
            PlanProperties::new(equivalences, Partitioning::UnknownPartitioning(1), EmissionType::Incremental, Boundedness::Bounded);
        Ok(RemoteExec { request, name: "RemoteExec".into(), properties: Arc::new(properties), metrics: ExecutionPlanMetricsSet::new() })
    }

    /// Includes all details of EXPLAIN in the name: if another library runs the operator, EXPLAIN shows nothing else.
    pub fn with_telling_name(&self) -> RemoteExec {
        RemoteExec {
            request: self.request.clone(),
            name: format!("RemoteExec: {}", self.description(" | ")),
            properties: Arc::clone(&self.properties),
            metrics: ExecutionPlanMetricsSet::new(),
        }
    }

    fn description(&self, between: &str) -> String {
        let RemoteCall { node, level, work, limit, .. } = &self.request;
        let mut description = format!("node={}, level={level}", node.address());
        if let Some(limit) = limit {
            description += &format!(", limit={limit}");
        }
        match work {
            RemoteRequest::Table { namespace, name } => description += &format!(", the whole table {namespace}.{name}"),
            RemoteRequest::Plan { bytes, functions, text } => {
                let names: Vec<&str> = functions.iter().map(|function| function.name.as_str()).collect();
                let with_functions = if names.is_empty() { String::new() } else { format!(", with the functions {}", names.join(", ")) };
                description += &format!(", runs there ({} bytes{with_functions}):", bytes.len());
                text.trim_end().lines().for_each(|line| description += &format!("{between}{line}"));
            }
        }
        description
    }
}

/// The order up to the first column that is not used.
fn shown_order(request: &RemoteCall) -> Vec<PhysicalSortExpr> {
    let place = |column: usize| match &request.projection {
        Some(columns) => columns.iter().position(|used| *used == column),
        None => Some(column),
    };
    let keys = request.order.iter().map_while(|(column, options)| {
        let expr = Arc::new(Column::new(request.schema.field(*column).name(), place(*column)?));
        Some(PhysicalSortExpr::new(expr, *options))
    });
    keys.collect()
}

impl ExecutionPlan for RemoteExec {
    fn name(&self) -> &str {
        &self.name
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(&self, _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _options: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        match children.is_empty() {
            true => Ok(self),
            false => internal_err!("RemoteExec has no children"),
        }
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    /// Sends nothing to the node before the first batch is polled.
    fn execute(&self, partition: usize, _context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if partition != 0 {
            return internal_err!("RemoteExec has one partition, and {partition} was asked for");
        }
        let metrics = RemoteMetrics::new(&self.metrics, partition);
        let stream = futures::stream::once(begun(self.request.clone(), metrics)).try_flatten();
        let stream: SendableRecordBatchStream = Box::pin(RecordBatchStreamAdapter::new(self.schema(), stream));
        Ok(match self.request.limit {
            // Its counters are dropped: those of the stream below are shown.
            Some(limit) => {
                let counters = BaselineMetrics::new(&ExecutionPlanMetricsSet::new(), partition);
                Box::pin(LimitStream::new(stream, 0, Some(limit), counters))
            }
            None => stream,
        })
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn statistics_from_inputs(&self, _inputs: &[Arc<Statistics>], _args: &StatisticsArgs) -> Result<Arc<Statistics>> {
        let rows = match (self.request.rows, self.request.limit) {
            (Some(rows), Some(limit)) => Precision::Inexact(rows.min(limit)),
            (Some(rows), None) | (None, Some(rows)) => Precision::Inexact(rows),
            (None, None) => Precision::Absent,
        };
        Ok(Arc::new(Statistics::new_unknown(&self.schema()).with_num_rows(rows)))
    }
}

async fn begun(request: RemoteCall, metrics: RemoteMetrics) -> Result<RemoteStream> {
    let RemoteCall { node, work, schema, projection, .. } = request;
    let (rows, found_by) = match &work {
        RemoteRequest::Plan { bytes, functions, .. } => (run(node.as_ref(), bytes, functions).await, Match::Place),
        RemoteRequest::Table { namespace, name } => (node.fetch(namespace, name).await, Match::Name),
    };
    let rows: NodeRows = rows.map_err(failed)?;
    let columns = Columns::new(node.address(), &rows.schema, &schema, projection.as_deref(), found_by);
    let columns = columns.inspect_err(|_| node.forget()).map_err(failed)?;
    Ok(RemoteStream::new(rows, columns, metrics))
}

/// Sends the definitions of functions with a plan if the node may not have them.
async fn run(node: &dyn Node, plan: &[u8], functions: &[Arc<PortableFunction>]) -> Result<NodeRows, NodeError> {
    if functions.is_empty() {
        return node.run(plan.to_vec()).await;
    }
    if node.has_functions(functions) {
        match node.run(plan.to_vec()).await {
            Err(NodeError::Refused { kind: Some(kind), .. }) if kind == ErrorKind::Unsupported.name() => {}
            answer => return answer,
        }
    }
    let rows = node.run(with_definitions(plan, functions.iter().map(Arc::as_ref))).await?;
    node.note_functions(functions);
    Ok(rows)
}

impl DisplayAs for RemoteExec {
    fn fmt_as(&self, format: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match format {
            DisplayFormatType::Default | DisplayFormatType::Verbose => write!(f, "RemoteExec: {}", self.description("\n      | ")),
            DisplayFormatType::TreeRender => {
                writeln!(f, "node={}", self.request.node.address())?;
                writeln!(f, "level={}", self.request.level)?;
                match &self.request.work {
                    RemoteRequest::Table { namespace, name } => writeln!(f, "table={namespace}.{name}"),
                    // EXPLAIN would split a line at =.
                    RemoteRequest::Plan { text, .. } => text.lines().try_for_each(|line| writeln!(f, "{}", line.replace('=', ":"))),
                }
            }
        }
    }
}
