//! Lists, maps and structs as constants.

use std::fmt::Display;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, MapArray, StructArray, new_empty_array};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, FieldRef, Fields};
use datafusion::scalar::ScalarValue;

use super::literal::{literal_named, null};
use crate::error::PlanError;
use crate::proto::Type;
use crate::proto::expression::Literal;
use crate::proto::expression::literal::LiteralType;
use crate::proto::expression::literal::map::KeyValue;
use crate::proto::r#type::{Kind, List as ListType, Map as MapType};
use crate::types::{Names, TypeReader};

/// All items have one type, and use the same names.
pub fn list(reader: &TypeReader<'_>, items: &[Literal], names: &mut Names<'_>, place: &dyn Display) -> Result<ScalarValue, PlanError> {
    let values = same_names(reader, items.iter(), names, place)?;
    let Some(first) = values.iter().find(|value| value.data_type() != DataType::Null) else {
        return Err(PlanError::invalid("a list of no items, or of NULLs without a type", place));
    };
    let data_type = first.data_type();
    let values = one_type(values, &data_type, place)?;
    Ok(ScalarValue::List(ScalarValue::new_list_nullable(&values, &data_type)))
}

pub fn empty_list(reader: &TypeReader<'_>, of: &ListType, names: &mut Names<'_>, place: &dyn Display) -> Result<ScalarValue, PlanError> {
    let of = Type { kind: Some(Kind::List(Box::new(of.clone()))) };
    match reader.named(&of, names, place)? {
        DataType::List(item) => Ok(ScalarValue::List(ScalarValue::new_list_nullable(&[], item.data_type()))),
        other => Err(PlanError::invalid(format!("an empty list of type {other}"), place)),
    }
}

pub fn map(reader: &TypeReader<'_>, pairs: &[KeyValue], names: &mut Names<'_>, place: &dyn Display) -> Result<ScalarValue, PlanError> {
    let missing = |what| PlanError::missing(what, place);
    let keys = pairs.iter().map(|pair| pair.key.as_ref().ok_or_else(|| missing("the key of a map")));
    let keys = keys.collect::<Result<Vec<_>, _>>()?;
    let values = pairs.iter().map(|pair| pair.value.as_ref().ok_or_else(|| missing("the value of a map")));
    let values = values.collect::<Result<Vec<_>, _>>()?;
    let keys = array(same_names(reader, keys.into_iter(), names, place)?, place)?;
    let values = array(same_names(reader, values.into_iter(), names, place)?, place)?;
    if keys.null_count() > 0 {
        return Err(PlanError::invalid("NULL as the key of a map", place));
    }
    of_entries(keys, values, place)
}

pub fn empty_map(reader: &TypeReader<'_>, of: &MapType, names: &mut Names<'_>, place: &dyn Display) -> Result<ScalarValue, PlanError> {
    let of = Type { kind: Some(Kind::Map(Box::new(of.clone()))) };
    match reader.named(&of, names, place)? {
        DataType::Map(entries, _) => match entries.data_type() {
            DataType::Struct(fields) if fields.len() == 2 => {
                of_entries(new_empty_array(fields[0].data_type()), new_empty_array(fields[1].data_type()), place)
            }
            other => Err(PlanError::invalid(format!("a map of {other}"), place)),
        },
        other => Err(PlanError::invalid(format!("an empty map of type {other}"), place)),
    }
}

fn of_entries(keys: ArrayRef, values: ArrayRef, place: &dyn Display) -> Result<ScalarValue, PlanError> {
    let wrong = |error: arrow::error::ArrowError| PlanError::invalid(format!("a map that is none ({error})"), place);
    let (key, value) = (Field::new("key", keys.data_type().clone(), false), Field::new("value", values.data_type().clone(), true));
    let count = i32::try_from(keys.len()).map_err(|_| PlanError::invalid("a map of too many entries", place))?;
    let entries = StructArray::try_new(Fields::from(vec![key, value]), vec![keys, values], None).map_err(wrong)?;
    let field = Arc::new(Field::new("entries", entries.data_type().clone(), false));
    let offsets = OffsetBuffer::new(vec![0, count].into());
    Ok(ScalarValue::Map(Arc::new(MapArray::try_new(field, offsets, entries, None, false).map_err(wrong)?)))
}

/// Each field gets the next name, and its contents the names after that.
pub fn structure(
    reader: &TypeReader<'_>,
    fields: &[Literal],
    names: &mut Names<'_>,
    place: &dyn Display,
) -> Result<ScalarValue, PlanError> {
    let mut columns: Vec<(FieldRef, ArrayRef)> = Vec::with_capacity(fields.len());
    for (index, field) in fields.iter().enumerate() {
        let name = names.next(index, place)?;
        let value = literal_named(reader, field, names, place)?;
        columns.push((Arc::new(Field::new(name, value.data_type(), true)), array(vec![value], place)?));
    }
    if columns.is_empty() {
        return Err(PlanError::unsupported("a struct without fields", place));
    }
    Ok(ScalarValue::Struct(Arc::new(StructArray::from(columns))))
}

/// Reads values that have the same fields: each of them uses the same names.
fn same_names<'l>(
    reader: &TypeReader<'_>,
    of: impl Iterator<Item = &'l Literal>,
    names: &mut Names<'_>,
    place: &dyn Display,
) -> Result<Vec<ScalarValue>, PlanError> {
    let before = names.clone();
    let mut values = Vec::new();
    for literal in of {
        let mut own = before.clone();
        values.push(literal_named(reader, literal, &mut own, place)?);
        if !matches!(literal.literal_type, Some(LiteralType::Null(_))) || values.len() == 1 {
            *names = own;
        }
    }
    Ok(values)
}

fn one_type(values: Vec<ScalarValue>, data_type: &DataType, place: &dyn Display) -> Result<Vec<ScalarValue>, PlanError> {
    let typed = values.into_iter().map(|value| match value.data_type() {
        of if of == *data_type => Ok(value),
        _ if value.is_null() => null(data_type, place),
        of => Err(PlanError::invalid(format!("a list of values of the types {data_type} and {of}"), place)),
    });
    typed.collect()
}

/// Makes an array of values of one type.
fn array(values: Vec<ScalarValue>, place: &dyn Display) -> Result<ArrayRef, PlanError> {
    let first = values.iter().map(ScalarValue::data_type).find(|data_type| *data_type != DataType::Null);
    let values = match first {
        Some(data_type) => one_type(values, &data_type, place)?,
        None => values,
    };
    ScalarValue::iter_to_array(values)
        .map_err(|error| PlanError::invalid(format!("values that make no column ({})", error.strip_backtrace()), place))
}
