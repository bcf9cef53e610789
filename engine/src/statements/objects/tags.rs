//! TAG, UNTAG and COMMENT ON.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef};
use arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::ScalarValue;
use datafusion::execution::SessionState;
use pmem_store::attributes::{AttributeValue, Attributes};
use pmem_store::objects::{ObjectCatalog, ObjectRecord};
use pmem_store::{Snapshot, StoreError};

use super::ObjectResult;
use super::names::{object, put};
use super::search::found;
use crate::execution::StatementContext;
use common::error::EngineError;
use sql::objects::{ObjectName, Selection, Tag};
use sql::versions::evaluate::constant;

/// A comment is shown whole in lists.
const COMMENT_BYTES_MAX: usize = 64 << 10;

pub fn comment(ctx: &StatementContext, on: &ObjectName, comment: Option<String>) -> Result<ObjectResult, EngineError> {
    if comment.as_ref().is_some_and(|comment| comment.len() > COMMENT_BYTES_MAX) {
        let message = format!("a comment has at most {COMMENT_BYTES_MAX} bytes");
        return Err(EngineError::Sql { message, position: None, hint: Some("put longer texts into a table".into()) });
    }
    let snapshot = ctx.catalog.snapshot();
    let mut object = object(ctx, &ObjectCatalog::of(&snapshot)?, on, "COMMENT ON")?;
    object.comment = comment.filter(|comment| !comment.is_empty());
    put(ctx, "COMMENT", vec![object])?;
    Ok(ObjectResult::Nothing)
}

pub fn tag(ctx: &StatementContext, selection: &Selection, tags: &[Tag]) -> Result<ObjectResult, EngineError> {
    let new = values_of(ctx, tags)?;
    change(ctx, "TAG", selection, |object| {
        object.attributes.put_all(&new);
        Ok(())
    })
}

/// A tag that an object named in the statement does not have is an error; among many objects some may not have it.
pub fn untag(ctx: &StatementContext, selection: &Selection, keys: Option<&[String]>) -> Result<ObjectResult, EngineError> {
    let is_strict = matches!(selection, Selection::Named(_));
    change(ctx, "UNTAG", selection, |object| {
        let Some(keys) = keys else {
            object.attributes.clear();
            return Ok(());
        };
        for key in keys {
            if object.attributes.remove(key).is_none() && is_strict {
                let message = format!("{} \"{}\" has no tag \"{key}\"", object.kind.word(), object.name);
                return Err(EngineError::Sql { message, position: None, hint: None });
            }
        }
        Ok(())
    })
}

/// Returns how many objects there are; those that stay as they are are not written.
fn change(
    ctx: &StatementContext,
    operation: &str,
    selection: &Selection,
    change: impl Fn(&mut ObjectRecord) -> Result<(), EngineError>,
) -> Result<ObjectResult, EngineError> {
    let snapshot = ctx.catalog.snapshot();
    let objects = selected(ctx, &snapshot, selection, operation)?;
    let count = objects.len() as u64;
    let mut changed = Vec::with_capacity(objects.len());
    for before in objects {
        let mut after = before.clone();
        change(&mut after)?;
        if after != before {
            changed.push(after);
        }
    }
    if !changed.is_empty() {
        put(ctx, operation, changed)?;
    }
    Ok(ObjectResult::Changed(count))
}

fn selected(ctx: &StatementContext, snapshot: &Snapshot, selection: &Selection, statement: &str) -> Result<Vec<ObjectRecord>, EngineError> {
    match selection {
        Selection::Named(names) => {
            let catalog = ObjectCatalog::of(snapshot)?;
            let objects = names.iter().map(|name| object(ctx, &catalog, name, statement));
            let mut objects: Vec<ObjectRecord> = objects.collect::<Result<_, _>>()?;
            objects.sort_by_key(|object| object.id);
            objects.dedup_by_key(|object| object.id);
            Ok(objects)
        }
        Selection::Found(search) => found(ctx, snapshot, search),
    }
}

/// The last value counts if a tag is given twice.
pub fn values_of(ctx: &StatementContext, tags: &[Tag]) -> Result<Attributes, EngineError> {
    let values = tags.iter().map(|tag| {
        if tag.value.eq_ignore_ascii_case("NULL") {
            let message = format!("tag \"{}\" cannot be NULL", tag.key);
            let hint = "UNTAG removes a tag: what an object does not have is NULL in conditions".to_string();
            return Err(EngineError::Sql { message, position: None, hint: Some(hint) });
        }
        Ok((tag.key.as_str(), value_of(&ctx.state, &tag.value)?))
    });
    let values = values.collect::<Result<_, EngineError>>()?;
    Ok(Attributes::from_entries(values).map_err(StoreError::from)?)
}

/// The value of a constant expression.
pub fn value_of(state: &SessionState, sql: &str) -> Result<AttributeValue, EngineError> {
    // Planning an expression takes longer than a search.
    if let Some(value) = literal(sql) {
        return Ok(value);
    }
    let value = constant(state, sql)?;
    let refused = || {
        let (message, hint) =
            (format!("{sql} cannot be the value of a tag"), "a tag is a number, a text, a boolean, a time, or a list of these");
        EngineError::Sql { message, position: None, hint: Some(hint.into()) }
    };
    attribute(&value)?.ok_or_else(refused)
}

/// A number or text that stands for itself; `None` for any other expression.
fn literal(sql: &str) -> Option<AttributeValue> {
    if let Some(text) = sql.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        let is_plain = !text.contains('\'') && !text.contains('\\');
        return is_plain.then(|| AttributeValue::Text(text.to_string()));
    }
    let is_integer = sql.trim_start_matches('-').bytes().all(|byte| byte.is_ascii_digit());
    if is_integer { sql.parse().ok().map(AttributeValue::Integer) } else { None }
}

/// `None` for NULL, and for a value that is no tag.
pub fn attribute(value: &ScalarValue) -> Result<Option<AttributeValue>, EngineError> {
    use DataType::*;
    let cast = |to: &DataType| value.cast_to(to);
    Ok(match value.data_type() {
        _ if value.is_null() => None,
        Boolean => {
            if let ScalarValue::Boolean(Some(value)) = value {
                Some(AttributeValue::Boolean(*value))
            } else {
                None
            }
        }
        UInt64 | Int8 | Int16 | Int32 | Int64 | UInt8 | UInt16 | UInt32 => match cast(&Int64)? {
            ScalarValue::Int64(Some(value)) => Some(AttributeValue::Integer(value)),
            _ => None,
        },
        Float16 | Float32 | Float64 | Decimal32(..) | Decimal64(..) | Decimal128(..) | Decimal256(..) => match cast(&Float64)? {
            ScalarValue::Float64(Some(value)) => Some(AttributeValue::Double(value)),
            _ => None,
        },
        Utf8 | LargeUtf8 | Utf8View => value.try_as_str().flatten().map(|text| AttributeValue::Text(text.to_string())),
        // A date is its first moment.
        Date32 | Date64 | Timestamp(..) => match cast(&Timestamp(TimeUnit::Nanosecond, Some("UTC".into())))? {
            ScalarValue::TimestampNanosecond(Some(nanos), _) => Some(AttributeValue::Timestamp(nanos)),
            _ => None,
        },
        List(_) | LargeList(_) | FixedSizeList(..) => list(&elements(value)?)?,
        _ => None,
    })
}

fn elements(value: &ScalarValue) -> Result<ArrayRef, EngineError> {
    let array = value.to_array()?;
    Ok(match value {
        ScalarValue::List(lists) => lists.value(0),
        ScalarValue::LargeList(lists) => lists.value(0),
        ScalarValue::FixedSizeList(lists) => lists.value(0),
        _ => Arc::clone(&array),
    })
}

fn list(elements: &ArrayRef) -> Result<Option<AttributeValue>, EngineError> {
    let mut values = Vec::with_capacity(elements.len());
    for at in 0..elements.len() {
        match attribute(&ScalarValue::try_from_array(elements, at)?)? {
            None | Some(AttributeValue::List(_)) => return Ok(None),
            Some(value) => values.push(value),
        }
    }
    Ok(Some(AttributeValue::List(values)))
}
