//! TAG OBJECTS FROM a query: each row names an object and gives it tags.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, Int64Array, MapArray, RecordBatch, StringArray, StringViewArray};
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
        let of_rows = TagColumns::of(batch, &[ID, KIND, NAMESPACE, NAME])?;
        for (row, object) in objects.into_iter().enumerate() {
            tags.entry(object).or_default().put_all(&of_rows.row(row)?);
        }
    }
    let unnamed: Vec<ObjectId> = tags.keys().filter(|id| !named.contains_key(id)).copied().collect();
    let mut objects = by_id(&catalog, &unnamed)?;
    objects.extend(named.into_values());
    // An error is about the same object each time.
    objects.sort_by_key(|object| object.id);
    let count = objects.len() as u64;
    objects.retain_mut(|object| {
        let before = object.attributes.clone();
        object.attributes.put_all(&tags[&object.id]);
        object.attributes != before
    });
    if !objects.is_empty() {
        put(ctx, "TAG", objects)?;
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
        let kind = text_at(&kinds, row).ok_or_else(|| no_null(KIND))?;
        let Some(kind) = ObjectKind::of_word(kind) else {
            return Err(EngineError::unsupported(format!("objects of kind \"{kind}\""), Some("there are table, view, group and blob")));
        };
        let name = text_at(&names, row).ok_or_else(|| no_null(NAME))?;
        let namespace = namespaces.as_ref().and_then(|namespaces| text_at(namespaces, row)).unwrap_or(DEFAULT_NAMESPACE);
        let object = catalog.named(kind, namespace, name)?;
        ids.push(object.id);
        named.insert(object.id, object);
    }
    Ok(ids)
}

fn no_null(column: &str) -> EngineError {
    EngineError::Sql { message: format!("column {column} is NULL in a row; it names an object"), position: None, hint: None }
}

pub fn texts(batch: &RecordBatch, column: &str) -> Result<Option<StringArray>, EngineError> {
    let Some(column) = batch.column_by_name(column) else { return Ok(None) };
    Ok(Some(cast_to(column, &DataType::Utf8)?.as_string().clone()))
}

pub fn text_at(texts: &StringArray, row: usize) -> Option<&str> {
    texts.is_valid(row).then(|| texts.value(row))
}

/// The objects with these ids, which ascend. An object that has no row yet is found among all.
fn by_id(catalog: &ObjectCatalog<'_>, ids: &[ObjectId]) -> Result<Vec<ObjectRecord>, EngineError> {
    let found = catalog.get_all(ids)?;
    if found.len() == ids.len() {
        return Ok(found);
    }
    let mut found = catalog.all()?;
    found.retain(|object| ids.binary_search(&object.id).is_ok());
    let found_ids: BTreeSet<ObjectId> = found.iter().map(|object| object.id).collect();
    match ids.iter().find(|id| !found_ids.contains(id)) {
        Some(missing) => Err(StoreError::DoesNotExist { kind: "object", name: missing.to_string() }.into()),
        None => Ok(found),
    }
}

/// The tags of the rows of a batch.
pub struct TagColumns<'a> {
    columns: Vec<TagColumn<'a>>,
}

enum TagColumn<'a> {
    /// A tag, whose name is that of the column.
    Tag(&'a str, Values),
    /// Each entry of a map is a tag.
    Tags(TagMaps),
}

struct TagMaps {
    maps: MapArray,
    /// Of the entries of these maps.
    keys: StringArray,
    values: Values,
}

impl TagColumns<'_> {
    /// Every column but `others`.
    pub fn of<'a>(batch: &'a RecordBatch, others: &[&str]) -> Result<TagColumns<'a>, EngineError> {
        let mut columns = Vec::new();
        for (field, column) in batch.schema_ref().fields().iter().zip(batch.columns()) {
            match (field.name().as_str(), field.data_type()) {
                (name, _) if others.contains(&name) => {}
                (_, DataType::Map(..)) => columns.push(TagColumn::Tags(TagMaps::of(column.as_map())?)),
                (key, _) => {
                    check_key(key).map_err(StoreError::from)?;
                    columns.push(TagColumn::Tag(key, Values::of(column)?));
                }
            }
        }
        Ok(TagColumns { columns })
    }

    /// NULL is no tag. Of columns that give the same tag, the last one counts.
    pub fn row(&self, row: usize) -> Result<Attributes, EngineError> {
        let mut entries = Vec::with_capacity(self.columns.len());
        for column in &self.columns {
            match column {
                TagColumn::Tag(key, values) => entries.extend(values.get(key, row)?.map(|value| (*key, value))),
                TagColumn::Tags(maps) => maps.put_entries(row, &mut entries)?,
            }
        }
        Ok(Attributes::from_entries(entries).map_err(StoreError::from)?)
    }
}

impl TagMaps {
    fn of(maps: &MapArray) -> Result<TagMaps, EngineError> {
        // A slice of maps still has all entries of the array.
        let (first, last) = (maps.value_offsets()[0] as usize, maps.value_offsets()[maps.len()] as usize);
        let keys = cast_to(&maps.keys().slice(first, last - first), &DataType::Utf8)?;
        let values = Values::of(&maps.values().slice(first, last - first))?;
        Ok(TagMaps { maps: maps.clone(), keys: keys.as_string().clone(), values })
    }

    fn put_entries<'a>(&'a self, row: usize, to: &mut Vec<(&'a str, AttributeValue)>) -> Result<(), EngineError> {
        if self.maps.is_null(row) {
            return Ok(());
        }
        let offsets = self.maps.value_offsets();
        let (start, end) = (offsets[row] - offsets[0], offsets[row + 1] - offsets[0]);
        to.reserve((end - start) as usize);
        for entry in start as usize..end as usize {
            let key = self.keys.value(entry);
            to.extend(self.values.get(key, entry)?.map(|value| (key, value)));
        }
        Ok(())
    }
}

/// The values of a column. Most are numbers or texts, which are read without a detour.
enum Values {
    Integers(Int64Array),
    Doubles(Float64Array),
    Texts(StringViewArray),
    Others(ArrayRef),
}

impl Values {
    fn of(column: &ArrayRef) -> Result<Values, EngineError> {
        use DataType::*;
        Ok(match column.data_type() {
            Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 => Values::Integers(cast_to(column, &Int64)?.as_primitive().clone()),
            Float16 | Float32 | Float64 => Values::Doubles(cast_to(column, &Float64)?.as_primitive().clone()),
            Utf8 | LargeUtf8 | Utf8View => Values::Texts(cast_to(column, &Utf8View)?.as_string_view().clone()),
            _ => Values::Others(Arc::clone(column)),
        })
    }

    /// `None` for NULL.
    fn get(&self, key: &str, at: usize) -> Result<Option<AttributeValue>, EngineError> {
        Ok(match self {
            Values::Integers(values) => values.is_valid(at).then(|| AttributeValue::Integer(values.value(at))),
            Values::Doubles(values) => values.is_valid(at).then(|| AttributeValue::Double(values.value(at))),
            Values::Texts(values) => values.is_valid(at).then(|| AttributeValue::Text(values.value(at).to_string())),
            Values::Others(values) if values.is_null(at) || values.data_type().is_null() => None,
            Values::Others(values) => {
                let value = attribute(&ScalarValue::try_from_array(values, at)?)?;
                Some(value.ok_or_else(|| not_a_value(key, values.data_type()))?)
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
