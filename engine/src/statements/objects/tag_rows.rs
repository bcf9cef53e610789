//! TAG OBJECTS FROM a query: each row names an object and gives it tags.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, Int64Array, RecordBatch, StringViewArray};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use datafusion::common::{DataFusionError, ScalarValue};
use pmem_store::attributes::{AttributeValue, Attributes, check_key};
use pmem_store::objects::{ObjectCatalog, ObjectId, ObjectKind, ObjectRecord};
use pmem_store::{DEFAULT_NAMESPACE, StoreError};

use super::ObjectResult;
use super::names::put;
use super::tags::attribute;
use crate::execution::StatementContext;
use common::error::EngineError;

const ID: &str = "object_id";
const KIND: &str = "kind";
pub const NAMESPACE: &str = "schema_name";
pub const NAME: &str = "name";

/// NULL leaves the tag of an object as it is. Returns how many objects there are.
pub fn tag(ctx: &StatementContext, batches: &[RecordBatch]) -> Result<ObjectResult, EngineError> {
    let snapshot = ctx.catalog.snapshot();
    let catalog = ObjectCatalog::of(&snapshot)?;
    let mut tags: BTreeMap<ObjectId, Attributes> = BTreeMap::new();
    let mut named: HashMap<ObjectId, ObjectRecord> = HashMap::new();
    for batch in batches {
        let objects = objects_of(&catalog, batch, &mut named)?;
        let mut of_rows: Vec<Attributes> = vec![Attributes::new(); batch.num_rows()];
        put_tags(batch, &[ID, KIND, NAMESPACE, NAME], &mut of_rows)?;
        for (object, attributes) in objects.into_iter().zip(of_rows) {
            tags.entry(object).or_default().extend(attributes);
        }
    }
    let unnamed: Vec<ObjectId> = tags.keys().filter(|id| !named.contains_key(id)).copied().collect();
    named.extend(by_id(&catalog, &unnamed)?);
    let count = tags.len() as u64;
    let mut changed = Vec::with_capacity(tags.len());
    for (id, attributes) in tags {
        let Some(before) = named.remove(&id) else {
            return Err(StoreError::DoesNotExist { kind: "object", name: id.to_string() }.into());
        };
        let mut after = before.clone();
        after.attributes.extend(attributes);
        if after != before {
            changed.push(after);
        }
    }
    if !changed.is_empty() {
        put(ctx, "TAG", changed)?;
    }
    Ok(ObjectResult::Changed(count))
}

/// The object of each row: by its id, or by its kind and name.
fn objects_of(
    catalog: &ObjectCatalog<'_>,
    batch: &RecordBatch,
    named: &mut HashMap<ObjectId, ObjectRecord>,
) -> Result<Vec<ObjectId>, EngineError> {
    if let Some(ids) = batch.column_by_name(ID) {
        let ids = cast_to(ids, &DataType::Int64)?;
        let ids = ids.as_primitive::<Int64Type>();
        return ids.iter().map(|id| id.map(|id| id as ObjectId).ok_or_else(|| no_null(ID))).collect();
    }
    let (Some(kinds), Some(names)) = (texts(batch, KIND)?, texts(batch, NAME)?) else {
        let message = "the rows do not say which objects they are about".to_string();
        let hint = "give them a column object_id, or columns kind and name (and schema_name); all other columns are tags".to_string();
        return Err(EngineError::Sql { message, position: None, hint: Some(hint) });
    };
    let namespaces = texts(batch, NAMESPACE)?;
    let mut ids = Vec::with_capacity(batch.num_rows());
    for row in 0..batch.num_rows() {
        let kind = kinds[row].as_deref().ok_or_else(|| no_null(KIND))?;
        let Some(kind) = ObjectKind::of_word(kind) else {
            return Err(EngineError::unsupported(format!("objects of kind \"{kind}\""), Some("there are table, view, group and blob")));
        };
        let name = names[row].as_deref().ok_or_else(|| no_null(NAME))?;
        let namespace = namespaces.as_ref().and_then(|namespaces| namespaces[row].as_deref()).unwrap_or(DEFAULT_NAMESPACE);
        let object = catalog.named(kind, namespace, name)?;
        ids.push(object.id);
        named.insert(object.id, object);
    }
    Ok(ids)
}

fn no_null(column: &str) -> EngineError {
    EngineError::Sql { message: format!("column {column} is NULL in a row; it names an object"), position: None, hint: None }
}

pub fn texts(batch: &RecordBatch, column: &str) -> Result<Option<Vec<Option<String>>>, EngineError> {
    let Some(column) = batch.column_by_name(column) else { return Ok(None) };
    let texts = cast_to(column, &DataType::Utf8)?;
    Ok(Some(texts.as_string::<i32>().iter().map(|text| text.map(str::to_string)).collect()))
}

/// Objects that have no row yet are found among all.
fn by_id(catalog: &ObjectCatalog<'_>, ids: &[ObjectId]) -> Result<HashMap<ObjectId, ObjectRecord>, EngineError> {
    let mut found: HashMap<ObjectId, ObjectRecord> = catalog.get_all(ids)?.into_iter().map(|object| (object.id, object)).collect();
    if found.len() < ids.len() {
        let all = catalog.all()?.into_iter().filter(|object| ids.binary_search(&object.id).is_ok());
        found.extend(all.map(|object| (object.id, object)));
    }
    Ok(found)
}

/// The tags of each row: every column but `others`.
pub fn put_tags(batch: &RecordBatch, others: &[&str], of_rows: &mut [Attributes]) -> Result<(), EngineError> {
    for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
        match (field.name().as_str(), field.data_type()) {
            (name, _) if others.contains(&name) => {}
            (_, DataType::Map(..)) => put_maps(column, of_rows)?,
            (key, _) => put_column(key, column, of_rows)?,
        }
    }
    Ok(())
}

fn put_column(key: &str, column: &ArrayRef, of_rows: &mut [Attributes]) -> Result<(), EngineError> {
    check_key(key).map_err(StoreError::from)?;
    let (name, values): (Arc<str>, _) = (key.into(), Values::of(column));
    for (row, attributes) in of_rows.iter_mut().enumerate().filter(|(row, _)| column.is_valid(*row)) {
        attributes.insert(Arc::clone(&name), values.get(key, row)?);
    }
    Ok(())
}

/// Each entry of a map is a tag.
fn put_maps(column: &ArrayRef, of_rows: &mut [Attributes]) -> Result<(), EngineError> {
    let maps = column.as_map();
    let keys = cast_to(maps.keys(), &DataType::Utf8)?;
    let (keys, values) = (keys.as_string::<i32>(), Values::of(maps.values()));
    let mut names: HashMap<&str, Arc<str>> = HashMap::new();
    for (row, attributes) in of_rows.iter_mut().enumerate().filter(|(row, _)| maps.is_valid(*row)) {
        let entries = maps.value_offsets()[row] as usize..maps.value_offsets()[row + 1] as usize;
        for entry in entries.filter(|entry| maps.values().is_valid(*entry)) {
            let key = keys.value(entry);
            let name = match names.get(key) {
                Some(name) => Arc::clone(name),
                None => {
                    check_key(key).map_err(StoreError::from)?;
                    Arc::clone(names.entry(key).or_insert(key.into()))
                }
            };
            attributes.insert(name, values.get(key, entry)?);
        }
    }
    Ok(())
}

/// The values of a column, of which numbers and texts are read without a detour.
enum Values<'a> {
    Integers(&'a Int64Array),
    Doubles(&'a Float64Array),
    Texts(&'a StringViewArray),
    Others(&'a ArrayRef),
}

impl Values<'_> {
    fn of(column: &ArrayRef) -> Values<'_> {
        match column.data_type() {
            DataType::Int64 => Values::Integers(column.as_primitive()),
            DataType::Float64 => Values::Doubles(column.as_primitive()),
            DataType::Utf8View => Values::Texts(column.as_string_view()),
            _ => Values::Others(column),
        }
    }

    fn get(&self, key: &str, at: usize) -> Result<AttributeValue, EngineError> {
        Ok(match self {
            Values::Integers(values) => AttributeValue::Integer(values.value(at)),
            Values::Doubles(values) => AttributeValue::Double(values.value(at)),
            Values::Texts(values) => AttributeValue::Text(values.value(at).to_string()),
            Values::Others(values) => {
                let value = attribute(&ScalarValue::try_from_array(values, at)?)?;
                value.ok_or_else(|| not_a_value(key, values.data_type()))?
            }
        })
    }
}

pub fn cast_to(array: &dyn Array, to: &DataType) -> Result<ArrayRef, EngineError> {
    cast(array, to).map_err(|error| DataFusionError::from(error).into())
}

fn not_a_value(key: &str, data_type: &DataType) -> EngineError {
    let name = common::type_names::declared_name(data_type);
    let hint = "a tag is a number, a text, a boolean, a time, or a list of these; a MAP has a tag for each of its entries";
    EngineError::unsupported(format!("{name} as the type of tag \"{key}\""), Some(hint))
}
