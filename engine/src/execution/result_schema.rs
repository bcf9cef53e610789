//! The schema of a result depends on the statement, not on how its rows are stored: if it can, DataFusion computes `min` and `max` from
//! statistics, as constants that are not nullable.
//!
//! Source: `datafusion-physical-optimizer/src/aggregate_statistics.rs`, which skips its `schema_check` for that reason.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use futures::StreamExt;

/// The stream of a plan, whose columns are nullable if the statement says so.
pub fn as_planned(planned: &Schema, stream: SendableRecordBatchStream) -> SendableRecordBatchStream {
    let stream_schema = stream.schema();
    let fields = stream_schema.fields();
    if fields.len() != planned.fields().len()
        || fields.iter().zip(planned.fields()).all(|(field, planned)| field.is_nullable() || !planned.is_nullable())
    {
        return stream;
    }
    let fields = fields.iter().zip(planned.fields()).map(|(field, planned)| match planned.is_nullable() && !field.is_nullable() {
        true => Arc::new(field.as_ref().clone().with_nullable(true)),
        false => Arc::clone(field),
    });
    let schema: SchemaRef = Arc::new(Schema::new_with_metadata(fields.collect::<Vec<_>>(), stream_schema.metadata().clone()));
    let labelled = Arc::clone(&schema);
    // A batch keeps metadata that the stream's schema does not have.
    let relabelled = move |batch: RecordBatch| batch.clone().with_schema(Arc::clone(&labelled)).unwrap_or(batch);
    let batches = stream.map(move |batch| batch.map(&relabelled));
    Box::pin(RecordBatchStreamAdapter::new(schema, batches))
}
