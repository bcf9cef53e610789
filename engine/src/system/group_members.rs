//! `system.group_members`: the direct members of each group.

use std::collections::HashMap;

use arrow::array::RecordBatch;
use datafusion::common::Result;
use pmem_store::objects::{ObjectCatalog, ObjectId, ObjectKind, ObjectRecord};

use super::build::{REQUIRED, batch, numbers, texts};
use super::source::Source;
use common::error::store_error;

pub fn rows(source: Option<&Source<'_>>) -> Result<RecordBatch> {
    let mut objects = Vec::new();
    if let Some(source) = source {
        objects = ObjectCatalog::of(source.snapshot).and_then(|catalog| catalog.all()).map_err(store_error)?;
    }
    let groups = objects.iter().filter(|object| object.kind == ObjectKind::Group);
    let groups: HashMap<ObjectId, &ObjectRecord> = groups.map(|group| (group.id, group)).collect();
    let mut rows: Vec<(&ObjectRecord, &ObjectRecord)> = objects
        .iter()
        .flat_map(|object| object.groups.iter().filter_map(|group| groups.get(group)).map(move |group| (*group, object)))
        .collect();
    rows.sort_by_key(|(group, object)| (&group.namespace, &group.name, object.kind, &object.namespace, &object.name));
    batch(vec![
        ("group_id", numbers(rows.iter().map(|(group, _)| Some(group.id))), REQUIRED),
        ("group_schema", texts(rows.iter().map(|(group, _)| Some(&group.namespace))), REQUIRED),
        ("group_name", texts(rows.iter().map(|(group, _)| Some(&group.name))), REQUIRED),
        ("object_id", numbers(rows.iter().map(|(_, object)| Some(object.id))), REQUIRED),
        ("kind", texts(rows.iter().map(|(_, object)| Some(object.kind.word()))), REQUIRED),
        ("schema_name", texts(rows.iter().map(|(_, object)| Some(&object.namespace))), REQUIRED),
        ("name", texts(rows.iter().map(|(_, object)| Some(&object.name))), REQUIRED),
    ])
}
