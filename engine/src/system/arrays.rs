//! `system.arrays`: the dimensions of arrays.

use arrays::definition::{ArrayDefinition, Dimension};
use arrow::array::RecordBatch;
use datafusion::common::Result;
use pmem_store::StoreError;
use pmem_store::attributes::AttributeValue;
use pmem_store::objects::{Comparison, ObjectCatalog, ObjectKind, ObjectRecord, Predicate, PropertyKey};

use super::build::{OPTIONAL, REQUIRED, batch, booleans, numbers, texts};
use super::pushed_filters::of_objects;
use super::source::Source;
use common::error::{EngineError, store_error};
use common::type_names::declared_name;
use table::catalog::lengths_of_array;
use table::definition::definition_of_array;

struct Row {
    object: ObjectRecord,
    cell_type: String,
    fill: String,
    /// From 1.
    position: u64,
    dimension: Dimension,
    /// `None` for a user who may not read the array.
    length: Option<u64>,
}

pub fn rows(source: Option<&Source<'_>>) -> Result<RecordBatch> {
    let mut rows = Vec::new();
    if let Some(source) = source {
        rows = of_source(source)?;
    }
    batch(vec![
        ("object_id", numbers(rows.iter().map(|row| Some(row.object.id))), REQUIRED),
        ("schema_name", texts(rows.iter().map(|row| Some(&row.object.namespace))), REQUIRED),
        ("name", texts(rows.iter().map(|row| Some(&row.object.name))), REQUIRED),
        ("cell_type", texts(rows.iter().map(|row| Some(&row.cell_type))), REQUIRED),
        ("fill", texts(rows.iter().map(|row| Some(&row.fill))), REQUIRED),
        ("position", numbers(rows.iter().map(|row| Some(row.position))), REQUIRED),
        ("dimension", texts(rows.iter().map(|row| Some(&row.dimension.name))), REQUIRED),
        ("length", numbers(rows.iter().map(|row| row.length)), OPTIONAL),
        ("is_unlimited", booleans(rows.iter().map(|row| Some(row.dimension.length.is_none()))), REQUIRED),
        ("chunk", numbers(rows.iter().map(|row| Some(row.dimension.chunk))), REQUIRED),
        ("unit", texts(rows.iter().map(|row| row.dimension.unit.as_ref())), OPTIONAL),
    ])
}

fn of_source(source: &Source<'_>) -> Result<Vec<Row>> {
    let value = AttributeValue::Text(ObjectKind::Array.word().to_string());
    let is_array = Predicate::Compare { key: PropertyKey::Kind, operator: Comparison::Equal, value };
    let wanted = Predicate::And(vec![is_array, of_objects(source.filters)]);
    let mut found = ObjectCatalog::of(source.snapshot).and_then(|catalog| catalog.search(&wanted)).map_err(store_error)?;
    found.sort_by(|one, other| (&one.namespace, &one.name).cmp(&(&other.namespace, &other.name)));
    let mut rows = Vec::new();
    for object in found {
        let Some(chunks) = source.snapshot.table_by_id(object.id).map_err(store_error)? else { continue };
        let Some(definition) = definition_of_array(&chunks) else { continue };
        let definition: ArrayDefinition = definition?;
        let lengths = match source.reads(&chunks).then(|| lengths_of_array(&definition, &chunks)).transpose() {
            // A query of this array gets the error.
            Err(EngineError::Store(StoreError::LogDamaged { .. })) => None,
            lengths => lengths?,
        };
        let (cell_type, fill) = (declared_name(&definition.element), definition.fill.to_string());
        rows.extend(definition.dimensions.into_iter().enumerate().map(|(at, dimension)| Row {
            object: object.clone(),
            cell_type: cell_type.clone(),
            fill: fill.clone(),
            position: at as u64 + 1,
            dimension,
            length: lengths.as_ref().map(|lengths| lengths[at]),
        }));
    }
    Ok::<_, EngineError>(rows).map_err(Into::into)
}
