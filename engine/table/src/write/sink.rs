//! INSERT as DataFusion runs it: a sink at the end of a plan.

use std::fmt;
use std::sync::Arc;

use arrow::compute::SortOptions;
use arrow::datatypes::{Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::common::{Result, not_impl_err};
use datafusion::datasource::sink::{DataSink, DataSinkExec};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::dml::InsertOp;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{LexRequirement, PhysicalSortRequirement};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan};
use pmem_store::TableSnapshot;

use super::rows::{RowWriter, WriteMode, WriteTarget};
use super::scope::WriteScope;
use crate::constraints::check_shapes;
use common::error::EngineError;

/// The plan that writes what `input` yields to `table`, sorted by its cluster key.
pub fn insert_plan(
    scope: WriteScope,
    table: &TableSnapshot,
    input: Arc<dyn ExecutionPlan>,
    operation: InsertOp,
) -> Result<Arc<dyn ExecutionPlan>> {
    let replace = match operation {
        InsertOp::Append => false,
        InsertOp::Overwrite => true,
        InsertOp::Replace => return not_impl_err!("REPLACE INTO is not supported"),
    };
    check_shapes(table.schema(), &input.schema())?;
    let record = table.record();
    let target = WriteTarget {
        namespace: record.namespace.clone(),
        table: record.name.clone(),
        schema: Arc::clone(table.schema()),
        cluster_key: record.cluster_key.clone(),
        what: WriteMode::Existing { id: record.id, replace },
    };
    let order = record.cluster_key.iter().filter_map(|order| {
        let index = table.schema().index_of(&order.column).ok()?;
        let options = SortOptions { descending: order.descending, nulls_first: order.nulls_first };
        Some(PhysicalSortRequirement::new(Arc::new(Column::new(&order.column, index)), Some(options)))
    });
    let order = LexRequirement::new(order.collect::<Vec<_>>());
    let sink = StoreSink { scope, schema: nullable(&target.schema), target };
    Ok(Arc::new(DataSinkExec::new(input, Arc::new(sink), order)))
}

/// The schema with all columns nullable.
pub fn nullable(schema: &Schema) -> SchemaRef {
    let fields = schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

#[derive(Debug)]
struct StoreSink {
    scope: WriteScope,
    /// With all columns nullable, so that our own check runs, which names table, column and row.
    schema: SchemaRef,
    target: WriteTarget,
}

impl DisplayAs for StoreSink {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreSink table={}.{}", self.target.namespace, self.target.table)
    }
}

#[async_trait]
impl DataSink for StoreSink {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    async fn write_all(&self, data: SendableRecordBatchStream, _: &Arc<TaskContext>) -> Result<u64> {
        let writer = RowWriter::new(&self.scope, self.target.clone())?;
        let writer = writer.write_all(data).await?;
        Ok(writer.commit("INSERT").await.map_err(EngineError::into_datafusion)?)
    }
}
