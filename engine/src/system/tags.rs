//! `system.tags`: a row for each value of each tag.

use std::sync::Arc;

use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, TimestampNanosecondArray};
use datafusion::common::Result;
use pmem_store::attributes::AttributeValue;
use pmem_store::objects::{ObjectCatalog, ObjectRecord};

use super::build::{OPTIONAL, REQUIRED, batch, booleans, numbers, texts};
use super::pushed_filters::of_tags;
use super::source::Source;
use crate::objects::value_text;
use common::error::store_error;

struct Row<'a> {
    object: &'a ObjectRecord,
    key: &'a str,
    value: AttributeValue,
    /// Within a list, from 1 on.
    position: Option<u64>,
}

pub fn rows(source: Option<&Source<'_>>) -> Result<RecordBatch> {
    let (mut objects, mut wanted_tag) = (Vec::new(), None);
    if let Some(source) = source {
        let (wanted, tag) = of_tags(source.filters);
        wanted_tag = tag;
        objects = ObjectCatalog::of(source.snapshot).and_then(|catalog| catalog.search(&wanted)).map_err(store_error)?;
        objects.sort_by_key(|object| object.id);
    }
    let mut rows = Vec::new();
    for object in &objects {
        let tags = object.attributes.iter().filter(|(key, _)| wanted_tag.as_ref().is_none_or(|wanted| wanted == key));
        for (key, value) in tags {
            match value {
                AttributeValue::List(values) if !values.is_empty() => {
                    let positions = (1..).zip(values);
                    rows.extend(positions.map(|(position, value)| Row { object, key, value, position: Some(position) }));
                }
                value => rows.push(Row { object, key, value, position: None }),
            }
        }
    }
    let integers = rows.iter().map(|row| if let AttributeValue::Integer(value) = row.value { Some(value) } else { None });
    let doubles = rows.iter().map(|row| if let AttributeValue::Double(value) = row.value { Some(value) } else { None });
    let booleans_of = rows.iter().map(|row| if let AttributeValue::Boolean(value) = row.value { Some(value) } else { None });
    let instants_of = rows.iter().map(|row| if let AttributeValue::Timestamp(nanos) = row.value { Some(nanos) } else { None });
    let text_of = |row: &Row<'_>| matches!(row.value, AttributeValue::Text(_)).then(|| value_text(&row.value));
    batch(vec![
        ("object_id", numbers(rows.iter().map(|row| Some(row.object.id))), REQUIRED),
        ("kind", texts(rows.iter().map(|row| Some(row.object.kind.word()))), REQUIRED),
        ("schema_name", texts(rows.iter().map(|row| Some(&row.object.namespace))), REQUIRED),
        ("name", texts(rows.iter().map(|row| Some(&row.object.name))), REQUIRED),
        ("tag", texts(rows.iter().map(|row| Some(row.key))), REQUIRED),
        ("type", texts(rows.iter().map(|row| Some(row.value.type_name()))), REQUIRED),
        ("position", numbers(rows.iter().map(|row| row.position)), OPTIONAL),
        ("value", texts(rows.iter().map(|row| Some(value_text(&row.value)))), REQUIRED),
        ("integer_value", Arc::new(integers.collect::<Int64Array>()) as ArrayRef, OPTIONAL),
        ("double_value", Arc::new(doubles.collect::<Float64Array>()), OPTIONAL),
        ("text_value", texts(rows.iter().map(text_of)), OPTIONAL),
        ("boolean_value", booleans(booleans_of), OPTIONAL),
        ("timestamp_value", Arc::new(instants_of.collect::<TimestampNanosecondArray>().with_timezone("UTC")), OPTIONAL),
    ])
}
