//! Casts to lists, structs and maps, including the values inside of them.
//!
//! Arrow's own casts convert all elements of the child array, also those outside of every list: a slice has those of all other rows, and a
//! NULL list may have some too. A cast from lists to lists of a fixed size even uses them, which gives wrong values without an error.

use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, FixedSizeListArray, GenericListArray, MapArray, OffsetSizeTrait, StringViewArray, StructArray,
};
use arrow::compute::{CastOptions, cast};
use arrow::datatypes::{DataType, Field, FieldRef, Fields};
use arrow::error::ArrowError;
use arrow::util::display::ArrayFormatter;
use datafusion::common::Result;
use datafusion::common::format::DEFAULT_CAST_OPTIONS;
use datafusion::logical_expr::ColumnarValue;

use super::moments::{is_moved, moved};
use super::texts::{is_read_here, read};
use crate::functions::fixed_list::{self, FixedLists, NestedListCast};
use crate::functions::nearest_floats::{converted, with_floats};
use common::masked_values::{hidden_beneath, shown_elements};

/// Whether [`cast_shown`] differs from Arrow's cast.
pub fn is_done_here(from: &Field, to: &Field) -> bool {
    use DataType::{Dictionary, Float32, Float64, Map, Struct, Time32, Time64, Timestamp};
    match (from.data_type(), to.data_type()) {
        (from, to) if from == to => false,
        (Dictionary(_, values), _) => is_done_here(&from.clone().with_data_type(values.as_ref().clone()), to),
        (Float64, Float32) | (Map(..), Map(..)) => true,
        // DataFusion assumes that times of day are ordered as their timestamps are.
        (Timestamp(..), Time32(_) | Time64(_)) => true,
        (Struct(fields), Struct(wanted)) => pairs(fields, wanted).any(|(_, from, to)| is_done_here(from, to)),
        (from, to) => {
            is_read_here(from, to) || is_moved(from, to) || (from.is_list() && to.is_list()) || (from.is_nested() && to.is_string())
        }
    }
}

/// Casts the values to the target field. A value that does not fit becomes NULL if `safe`, otherwise an error.
pub fn cast_shown(array: &ArrayRef, from: &Field, to: &Field, safe: bool) -> Result<ArrayRef> {
    let made = in_part(array, from, to, safe)?;
    if made.data_type() == to.data_type() {
        return Ok(made);
    }
    let made = match with_floats(made.data_type(), to.data_type()) {
        Some(wanted) => converted(&made, &wanted)?,
        None => made,
    };
    let options = CastOptions { safe, ..DEFAULT_CAST_OPTIONS };
    ColumnarValue::Array(made).cast_to(to.data_type(), Some(&options))?.into_array(array.len())
}

/// Does the part of the cast that Arrow does wrongly; Arrow does the rest.
fn in_part(array: &ArrayRef, from: &Field, to: &Field, safe: bool) -> Result<ArrayRef> {
    use DataType::{Dictionary, Float32, Float64, Map, Struct};
    match (array.data_type(), to.data_type()) {
        (from, to) if from == to => Ok(Arc::clone(array)),
        (Dictionary(_, values), _) => cast_shown(&cast(array, values)?, &Field::new("", values.as_ref().clone(), true), to, safe),
        (Float64, Float32) => super::texts::narrow(array, safe),
        (from, to) if is_read_here(from, to) => read(array, to, safe),
        (from, to) if is_moved(from, to) => moved(array, to, safe),
        (found, wanted) if found.is_list() && wanted.is_list() => {
            if fixed_list::is_resized(found, wanted)
                && let Some(lists) = FixedLists::new(to, safe)
            {
                return lists.convert(array);
            }
            // A text may be a list.
            let has_texts = element(found).is_some_and(|item| item.data_type().is_string());
            match NestedListCast::new(from, to, safe).filter(|_| !has_texts) {
                Some(lists) => lists.convert(array),
                None => lists_of(array, element(found), element(wanted), safe),
            }
        }
        (found, wanted) if found.is_nested() && wanted.is_string() => text_of(array),
        (Struct(fields), Struct(wanted)) => structs_of(array, fields, wanted, safe),
        (Map(..), Map(entries, is_sorted)) => map_of(array, entries, *is_sorted, safe),
        _ => Ok(Arc::clone(array)),
    }
}

/// Arrow's cast writes a NULL inside as an empty text, and does not support lists of a fixed size.
fn text_of(nested: &ArrayRef) -> Result<ArrayRef> {
    let options = DEFAULT_CAST_OPTIONS.format_options.with_null("NULL");
    let formatter = ArrayFormatter::try_new(nested, &options)?;
    let texts = (0..nested.len()).map(|row| nested.is_valid(row).then(|| formatter.value(row).try_to_string()).transpose());
    Ok(Arc::new(texts.collect::<Result<StringViewArray, ArrowError>>()?))
}

fn element(lists: &DataType) -> Option<&FieldRef> {
    crate::functions::nested_types::fields_of(lists).first()
}

/// Lists of the same kind with the target type of elements.
fn lists_of(lists: &ArrayRef, from: Option<&FieldRef>, to: Option<&FieldRef>, safe: bool) -> Result<ArrayRef> {
    let Some((from, to)) = from.zip(to) else { return Ok(Arc::clone(lists)) };
    match lists.data_type() {
        DataType::List(_) => elements_of(lists.as_list::<i32>(), from, to, safe),
        DataType::LargeList(_) => elements_of(lists.as_list::<i64>(), from, to, safe),
        DataType::FixedSizeList(_, width) => {
            let fixed = lists.as_fixed_size_list();
            let parents = fixed.nulls().map(|nulls| nulls.expand(usize::try_from(*width).unwrap_or_default()));
            let values = beneath(fixed.values(), parents.as_ref(), |values| cast_shown(values, from, to, safe))?;
            let nulls = fixed.nulls().cloned();
            Ok(Arc::new(FixedSizeListArray::try_new_with_length(Arc::clone(to), *width, values, nulls, fixed.len())?))
        }
        // List views may have elements that are in no list, or in several.
        _ => lists_of(&cast(lists, &DataType::LargeList(Arc::clone(from)))?, Some(from), Some(to), safe),
    }
}

fn elements_of<O: OffsetSizeTrait>(lists: &GenericListArray<O>, from: &FieldRef, to: &FieldRef, safe: bool) -> Result<ArrayRef> {
    let (offsets, elements) = shown_elements(lists.offsets(), lists.values(), lists.nulls())?;
    let elements = cast_shown(&elements, from, to, safe)?;
    Ok(Arc::new(GenericListArray::<O>::try_new(Arc::clone(to), offsets, elements, lists.nulls().cloned())?))
}

/// The fields that are cast, with their index in `fields`: fields match by name, as in DataFusion.
fn pairs<'a>(fields: &'a Fields, wanted: &'a Fields) -> impl Iterator<Item = (usize, &'a FieldRef, &'a FieldRef)> {
    wanted.iter().filter_map(move |to| fields.find(to.name()).map(|(place, from)| (place, from, to)))
}

/// The same fields; those that exist in the target are cast.
fn structs_of(structs: &ArrayRef, fields: &Fields, wanted: &Fields, safe: bool) -> Result<ArrayRef> {
    let structs = structs.as_struct();
    let (mut made, mut columns) = (fields.iter().cloned().collect::<Vec<_>>(), structs.columns().to_vec());
    for (place, from, to) in pairs(fields, wanted) {
        columns[place] = beneath(&columns[place], structs.nulls(), |values| cast_shown(values, from, to, safe))?;
        made[place] = Arc::new(from.as_ref().clone().with_data_type(to.data_type().clone()).with_nullable(true));
    }
    Ok(Arc::new(StructArray::try_new_with_length(made.into(), columns, structs.nulls().cloned(), structs.len())?))
}

/// Keys and values match by position.
fn map_of(map: &ArrayRef, entries: &FieldRef, is_sorted: bool, safe: bool) -> Result<ArrayRef> {
    let map = map.as_map();
    let DataType::Struct(wanted) = entries.data_type() else { return Ok(Arc::new(map.clone())) };
    let all: ArrayRef = Arc::new(map.entries().clone());
    let (offsets, shown) = shown_elements(map.offsets(), &all, map.nulls())?;
    let shown = shown.as_struct();
    let columns = shown.columns().iter().zip(shown.fields()).zip(wanted);
    let columns = columns.map(|((column, from), to)| cast_shown(column, from, to, safe)).collect::<Result<Vec<_>>>()?;
    let made = StructArray::try_new_with_length(wanted.clone(), columns, None, shown.len())?;
    Ok(Arc::new(MapArray::try_new(Arc::clone(entries), offsets, made, map.nulls().cloned(), is_sorted)?))
}

/// Values beneath NULL parents need not fit. Usually they do, so they are masked only after an error.
fn beneath(
    values: &ArrayRef,
    parents: Option<&arrow::buffer::NullBuffer>,
    made: impl Fn(&ArrayRef) -> Result<ArrayRef>,
) -> Result<ArrayRef> {
    made(values).or_else(|error| match parents.filter(|parents| parents.null_count() > 0) {
        Some(parents) => made(&hidden_beneath(values, parents)?),
        None => Err(error),
    })
}
