//! A table of a node as a table for DataFusion.

use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNode;
use datafusion::common::{DFSchema, DataFusionError, Result, Statistics, TableReference};
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::expr_rewriter::unnormalize_cols;
use datafusion::logical_expr::utils::conjunction;
use datafusion::logical_expr::{Expr, LogicalPlan, TableProviderFilterPushDown, TableScanBuilder, TableType};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::projection::ProjectionExpr;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;
use engine::Pushdown;

use super::exec::{RemoteCall, RemoteExec, RemoteRequest};
use super::node::{Node, NodeError, NodeTable};
use super::on_node::on_node;
use super::write::{EncodedFragment, encode_fragment};
use crate::refusal::Refusal;

/// On its own it pushes filters, the projection and a limit down to the node. [`PushdownRule`](super::PushdownRule) pushes operators above
/// a scan down, in sessions that have it.
#[derive(Debug, Clone)]
pub struct RemoteTable {
    node: Arc<dyn Node>,
    namespace: String,
    name: String,
    schema: SchemaRef,
    rows: Option<u64>,
    languages: Arc<[String]>,
    level: Pushdown,
}

impl RemoteTable {
    pub fn new(node: Arc<dyn Node>, namespace: String, name: String, table: NodeTable, level: Pushdown) -> RemoteTable {
        RemoteTable { node, namespace, name, schema: with_nulls(&table.schema), rows: table.rows, languages: table.languages, level }
    }

    /// Requests the schema of the table from the node.
    pub async fn open(node: Arc<dyn Node>, namespace: String, name: String, level: Pushdown) -> Result<RemoteTable, NodeError> {
        let table = node.table(&namespace, &name).await?;
        Ok(RemoteTable::new(node, namespace, name, table, level))
    }

    pub fn node(&self) -> &Arc<dyn Node> {
        &self.node
    }

    pub fn level(&self) -> Pushdown {
        self.level
    }

    /// The languages of the functions of users that the node takes.
    pub(super) fn languages(&self) -> &Arc<[String]> {
        &self.languages
    }

    /// The node's name of it.
    pub(super) fn reference(&self) -> TableReference {
        TableReference::partial(self.namespace.as_str(), self.name.as_str())
    }

    /// The columns that the node reported, all of them nullable.
    pub fn table_schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The table with only these columns.
    pub(super) fn narrowed(&self, columns: &[usize]) -> Result<RemoteTable> {
        Ok(RemoteTable { schema: Arc::new(self.schema.project(columns)?), ..self.clone() })
    }

    /// Plans a scan.
    pub(super) fn planned(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if self.level != Pushdown::Off {
            match self.there(projection, filters, limit) {
                Ok(scan) => return Ok(scan),
                Err(refusal) => tracing::debug!(%refusal, table = %self.reference(), "the table is fetched whole"),
            }
        }
        match conjunction(filters.to_vec()) {
            None => Ok(Arc::new(self.whole(projection.cloned(), limit)?)),
            Some(condition) => self.filtered_here(state, projection, condition),
        }
    }

    fn there(&self, projection: Option<&Vec<usize>>, filters: &[Expr], limit: Option<usize>) -> Result<Arc<dyn ExecutionPlan>, Refusal> {
        let EncodedFragment { work, is_bare } = self.shipped(projection.cloned(), filters, limit)?;
        let shown = match projection {
            Some(projection) => Arc::new(self.schema.project(projection).map_err(DataFusionError::from)?),
            None => Arc::clone(&self.schema),
        };
        let (schema, projection) = EncodedFragment::columns(is_bare, &shown, None);
        let rows = self.row_count().filter(|_| filters.is_empty());
        let request = RemoteCall { work, schema, projection, ..self.request(rows, None) };
        Ok(Arc::new(RemoteExec::new(request)?))
    }

    fn shipped(&self, projection: Option<Vec<usize>>, filters: &[Expr], limit: Option<usize>) -> Result<EncodedFragment, Refusal> {
        let scan = TableScanBuilder::new(self.reference(), provider_as_source(Arc::new(self.clone())));
        // Planners qualify columns with the local name of the table.
        let filters = unnormalize_cols(filters.iter().cloned());
        let scan = scan.with_projection(projection).with_filters(filters).with_fetch(limit).build()?;
        encode_fragment(&on_node(&LogicalPlan::TableScan(scan))?, &self.languages)
    }

    /// Fetches the whole table.
    fn whole(&self, projection: Option<Vec<usize>>, limit: Option<usize>) -> Result<RemoteExec> {
        RemoteExec::new(RemoteCall { projection, ..self.request(self.row_count(), limit) })
    }

    fn request(&self, rows: Option<usize>, limit: Option<usize>) -> RemoteCall {
        RemoteCall {
            node: Arc::clone(&self.node),
            level: self.level,
            work: RemoteRequest::Table { namespace: self.namespace.clone(), name: self.name.clone() },
            schema: Arc::clone(&self.schema),
            projection: None,
            order: Vec::new(),
            rows,
            limit,
        }
    }

    /// Filters here: the condition was accepted, but cannot be written as a plan after all.
    fn filtered_here(&self, state: &dyn Session, projection: Option<&Vec<usize>>, condition: Expr) -> Result<Arc<dyn ExecutionPlan>> {
        let schema = DFSchema::try_from(self.schema.as_ref().clone())?;
        let condition = state.create_physical_expr(condition, &schema)?;
        let filtered: Arc<dyn ExecutionPlan> = Arc::new(FilterExec::try_new(condition, Arc::new(self.whole(None, None)?))?);
        let Some(columns) = projection else { return Ok(filtered) };
        let columns = columns.iter().map(|place| {
            let name = self.schema.field(*place).name();
            ProjectionExpr::new(Arc::new(Column::new(name, *place)), name.clone())
        });
        Ok(Arc::new(ProjectionExec::try_new(columns, filtered)?))
    }

    fn row_count(&self) -> Option<usize> {
        usize::try_from(self.rows?).ok()
    }

    /// Whether the node can evaluate the filter alone.
    fn takes(&self, filter: &Expr) -> bool {
        let stays = filter.exists(|part| {
            Ok(matches!(
                part,
                Expr::ScalarSubquery(_) | Expr::InSubquery(_) | Expr::Exists(_) | Expr::SetComparison(_) | Expr::OuterReferenceColumn(..)
            ))
        });
        // The node would draw a different random number.
        if self.level == Pushdown::Off || filter.is_volatile() || stays.unwrap_or(true) {
            return false;
        }
        let refused = self.shipped(Some(Vec::new()), std::slice::from_ref(filter), None).err();
        if let Some(refusal) = &refused {
            tracing::debug!(%refusal, %filter, "a filter stays here");
        }
        refused.is_none()
    }
}

/// A node may drop NOT NULL later, and a plan from which the optimizer here has removed `IS NULL` would not show that it relied on it. A
/// field of a struct is nullable if the struct is, so fields of structs stay as they are.
fn with_nulls(schema: &SchemaRef) -> SchemaRef {
    // For a table of 10,000 columns this runs for each statement.
    if schema.fields().iter().all(|field| field.is_nullable()) {
        return Arc::clone(schema);
    }
    let fields = schema.fields().iter().map(|field| match field.is_nullable() {
        true => Arc::clone(field),
        false => Arc::new(field.as_ref().clone().with_nullable(true)),
    });
    Arc::new(Schema::new_with_metadata(fields.collect::<Vec<_>>(), schema.metadata().clone()))
}

#[async_trait]
impl TableProvider for RemoteTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.planned(state, projection, filters, limit)
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let answer = |filter: &&Expr| match self.takes(filter) {
            true => TableProviderFilterPushDown::Exact,
            false => TableProviderFilterPushDown::Unsupported,
        };
        Ok(filters.iter().map(answer).collect())
    }

    /// Never exact: rows may be added on the node while a plan is made here.
    fn statistics(&self) -> Option<Statistics> {
        let rows = Precision::Inexact(self.row_count()?);
        Some(Statistics::new_unknown(&self.schema).with_num_rows(rows))
    }
}
