//! `system.blobs`: blobs with their bytes, which are read when a query gets to them.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryViewBuilder, RecordBatch};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::execution::TaskContext;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};
use datafusion::physical_plan::{ExecutionPlan, SendableRecordBatchStream};
use pmem_store::Snapshot;
use pmem_store::attributes::AttributeValue;
use pmem_store::objects::{Blobs, Comparison, ObjectCatalog, ObjectId, ObjectKind, ObjectRecord, Predicate, PropertyKey};

use super::build::{numbers, texts};
use super::pushed_filters::of_objects;
use common::error::{EngineError, store_error};

/// Blobs of one batch.
const BATCH_BLOBS: usize = 1_024;
/// Arrow's views have offsets of 32 bits.
const VIEW_BYTES_MAX: usize = i32::MAX as usize;

#[derive(Debug)]
pub struct BlobsTable {
    snapshot: Arc<Snapshot>,
    schema: SchemaRef,
}

impl BlobsTable {
    pub fn new(snapshot: &Arc<Snapshot>) -> BlobsTable {
        let fields = vec![
            Field::new("object_id", DataType::Int64, false),
            Field::new("schema_name", DataType::Utf8, false),
            Field::new("name", DataType::Utf8, false),
            Field::new("size_bytes", DataType::Int64, false),
            Field::new("content", DataType::BinaryView, false),
        ];
        BlobsTable { snapshot: Arc::clone(snapshot), schema: Arc::new(Schema::new(fields)) }
    }
}

#[async_trait]
impl TableProvider for BlobsTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::View
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let is_blob = Predicate::Compare {
            key: PropertyKey::Kind,
            operator: Comparison::Equal,
            value: AttributeValue::Text(ObjectKind::Blob.word().to_string()),
        };
        let wanted = Predicate::And(vec![is_blob, of_objects(filters)]);
        let mut found = ObjectCatalog::of(&self.snapshot).and_then(|catalog| catalog.search(&wanted)).map_err(store_error)?;
        found.sort_by_key(|blob| blob.id);
        let projected = projection.map_or_else(|| Ok(self.schema()), |columns| self.schema.project(columns).map(Arc::new))?;
        let reads_content = projected.column_with_name("content").is_some();
        let rows =
            BlobRows { schema: self.schema(), found: found.into(), blobs: self.snapshot.blobs().map_err(store_error)?, reads_content };
        let scan = StreamingTableExec::try_new(self.schema(), vec![Arc::new(rows)], projection, Vec::new(), false, limit)?;
        Ok(Arc::new(scan))
    }
}

#[derive(Debug)]
struct BlobRows {
    schema: SchemaRef,
    found: Arc<[ObjectRecord]>,
    blobs: Blobs,
    reads_content: bool,
}

impl PartitionStream for BlobRows {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let (schema, found, blobs, reads_content) =
            (Arc::clone(&self.schema), Arc::clone(&self.found), self.blobs.clone(), self.reads_content);
        let batches = (0..found.len().div_ceil(BATCH_BLOBS)).map(move |index| {
            let part = &found[index * BATCH_BLOBS..found.len().min((index + 1) * BATCH_BLOBS)];
            batch(&schema, part, &blobs, reads_content)
        });
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), futures::stream::iter(batches)))
    }
}

/// The bytes stay in the mapping: a value refers to them.
fn batch(schema: &SchemaRef, found: &[ObjectRecord], blobs: &Blobs, reads_content: bool) -> Result<RecordBatch> {
    let ids: Vec<ObjectId> = found.iter().map(|blob| blob.id).collect();
    let mut bytes = if reads_content { blobs.contents(&ids).map_err(store_error)? } else { BTreeMap::new() };
    let mut contents = BinaryViewBuilder::new();
    for blob in found {
        let Some(content) = bytes.remove(&blob.id).filter(|content| !content.is_empty()) else {
            contents.append_value([]);
            continue;
        };
        if content.len() > VIEW_BYTES_MAX {
            let hint = "COPY BLOB … TO a file";
            let what = format!("blob \"{}\" of {} bytes as a value of a query", blob.name, content.len());
            return Err(EngineError::unsupported(what, Some(hint)).into_datafusion());
        }
        let length = content.len() as u32;
        let block = contents.append_block(content);
        contents.try_append_view(block, 0, length)?;
    }
    let columns: Vec<ArrayRef> = vec![
        numbers(found.iter().map(|blob| Some(blob.id))),
        texts(found.iter().map(|blob| Some(&blob.namespace))),
        texts(found.iter().map(|blob| Some(&blob.name))),
        numbers(found.iter().map(|blob| Some(blob.size_bytes))),
        Arc::new(contents.finish()),
    ];
    Ok(RecordBatch::try_new(Arc::clone(schema), columns)?)
}
