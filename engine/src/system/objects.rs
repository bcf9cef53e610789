//! `system.objects`: everything in the store that has a name.

use arrow::array::RecordBatch;
use datafusion::common::Result;
use pmem_store::objects::{ObjectCatalog, ObjectRecord};

use super::build::{OPTIONAL, REQUIRED, batch, booleans, instants, numbers, texts};
use super::pushed_filters::of_objects;
use super::source::Source;
use crate::objects::{describe, tags_json};
use common::error::store_error;

pub fn rows(source: Option<&Source<'_>>) -> Result<RecordBatch> {
    let mut objects = Vec::new();
    if let Some(source) = source {
        let wanted = of_objects(source.filters);
        objects = ObjectCatalog::of(source.snapshot).and_then(|catalog| catalog.search(&wanted)).map_err(store_error)?;
        describe(source.engine, source.snapshot, &mut objects).map_err(store_error)?;
        objects.sort_by(|one, other| (one.kind, &one.namespace, &one.name).cmp(&(other.kind, &other.namespace, &other.name)));
    }
    objects_batch(&objects)
}

/// Also the result of a search.
pub fn objects_batch(objects: &[ObjectRecord]) -> Result<RecordBatch> {
    let known = |time_ms: u64| (time_ms != 0).then_some(time_ms);
    batch(vec![
        ("object_id", numbers(objects.iter().map(|object| Some(object.id))), REQUIRED),
        ("kind", texts(objects.iter().map(|object| Some(object.kind.word()))), REQUIRED),
        ("schema_name", texts(objects.iter().map(|object| Some(&object.namespace))), REQUIRED),
        ("name", texts(objects.iter().map(|object| Some(&object.name))), REQUIRED),
        ("owner", texts(objects.iter().map(|object| object.owner.as_ref())), OPTIONAL),
        ("size_bytes", numbers(objects.iter().map(|object| Some(object.size_bytes))), REQUIRED),
        ("tier", texts(objects.iter().map(|object| object.tier.as_ref())), OPTIONAL),
        ("created_at", instants(objects.iter().map(|object| known(object.created_at_ms))), OPTIONAL),
        ("changed_at", instants(objects.iter().map(|object| known(object.changed_at_ms))), OPTIONAL),
        ("bytes_touched", numbers(objects.iter().map(|object| object.bytes_touched)), OPTIONAL),
        ("last_touched_at", instants(objects.iter().map(|object| object.last_touched_ms)), OPTIONAL),
        ("is_read_only", booleans(objects.iter().map(|object| Some(object.is_read_only))), REQUIRED),
        ("comment", texts(objects.iter().map(|object| object.comment.as_ref())), OPTIONAL),
        ("tags", texts(objects.iter().map(|object| tags_json(&object.attributes))), OPTIONAL),
    ])
}
