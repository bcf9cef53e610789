//! Structs by name, lists and maps element by element.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, LargeListArray, ListArray, MapArray, OffsetSizeTrait, StructArray, new_null_array};
use arrow::buffer::OffsetBuffer;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Field, FieldRef, Fields};

use common::masked_values::in_use;
use semantics::functions::FixedLists;

use super::{Misfit, can_conform, column_misfit, conform, mask_nulls, plain};

/// The index of the field `name`; a field with the same case is preferred.
pub fn find_field(fields: &Fields, name: &str) -> Option<usize> {
    fields.iter().position(|field| field.name() == name).or_else(|| fields.iter().position(|field| field.name().eq_ignore_ascii_case(name)))
}

pub(super) fn conform_struct(array: &ArrayRef, fields: &Fields) -> Result<ArrayRef, Misfit> {
    let structs = array.as_struct();
    let columns = fields.iter().map(|field| match find_field(structs.fields(), field.name()) {
        Some(index) => {
            let conformed = |column: &ArrayRef| conform(column, field.data_type());
            mask_nulls::mask_fields(structs.column(index), structs.nulls().cloned(), conformed)
                .map_err(|misfit| Misfit { problem: format!("in {}: {}", field.name(), misfit.problem), ..misfit })
        }
        None => Ok(new_null_array(field.data_type(), structs.len())),
    });
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let nulls = structs.nulls().cloned();
    let conformed = StructArray::try_new_with_length(fields.clone(), columns, nulls, array.len());
    Ok(Arc::new(conformed.map_err(column_misfit)?))
}

pub(super) fn conform_list(array: &ArrayRef, to: &DataType) -> Result<ArrayRef, Misfit> {
    let Some((from_element, to_element)) = plain::element(array.data_type()).zip(plain::element(to)) else {
        return super::conform_leaf(array, to);
    };
    let conformed = |elements: &ArrayRef| conform(elements, to_element.data_type());
    if matches!(array.data_type(), DataType::LargeList(_)) && matches!(to, DataType::LargeList(_)) {
        let list = array.as_list::<i64>();
        let (offsets, values) = in_use(list.offsets(), list.values());
        let (offsets, values) = mask_nulls::mask_lists(&values, offsets, list.nulls(), conformed)?;
        let list = LargeListArray::try_new(to_element.clone(), offsets, values, list.nulls().cloned());
        return Ok(Arc::new(list.map_err(column_misfit)?));
    }
    // Everything else is converted through a list with 32-bit offsets.
    let as_list = cast(array, &DataType::List(from_element.clone())).map_err(column_misfit)?;
    let list = as_list.as_list::<i32>();
    let (offsets, values) = in_use(list.offsets(), list.values());
    let (offsets, values) = mask_nulls::mask_lists(&values, offsets, list.nulls(), conformed)?;
    let list = ListArray::try_new(to_element.clone(), offsets, values, list.nulls().cloned()).map_err(column_misfit)?;
    let list: ArrayRef = Arc::new(list);
    match to {
        DataType::List(_) => Ok(list),
        DataType::FixedSizeList(..) => conform_sizes(&list, to),
        _ => super::conform_leaf(&list, to),
    }
}

fn conform_sizes(list: &ArrayRef, to: &DataType) -> Result<ArrayRef, Misfit> {
    let field = Field::new("", to.clone(), true);
    let Some(lists) = FixedLists::new(&field, true) else { return super::conform_leaf(list, to) };
    let sized = lists.convert(list).map_err(|error| Misfit { row: 0, problem: error.to_string() })?;
    match (0..list.len()).find(|row| sized.is_null(*row) && list.is_valid(*row)) {
        Some(row) => Err(super::misfit(list, row, to)),
        None => Ok(sized),
    }
}

/// The misfit of an element, with the row of the list that contains it.
pub(super) fn row_of<O: OffsetSizeTrait>(misfit: Misfit, offsets: &OffsetBuffer<O>) -> Misfit {
    let row = offsets.partition_point(|offset| offset.as_usize() <= misfit.row).saturating_sub(1);
    Misfit { row, ..misfit }
}

fn entry_types(field: &FieldRef) -> Option<(&FieldRef, &FieldRef)> {
    match field.data_type() {
        DataType::Struct(fields) if fields.len() == 2 => Some((&fields[0], &fields[1])),
        _ => None,
    }
}

pub(super) fn can_conform_maps(from: &FieldRef, to: &FieldRef) -> bool {
    match (entry_types(from), entry_types(to)) {
        (Some((from_key, from_value)), Some((to_key, to_value))) => {
            can_conform(from_key.data_type(), to_key.data_type()) && can_conform(from_value.data_type(), to_value.data_type())
        }
        _ => false,
    }
}

/// It takes keys and values by position, because writers do not agree on their names.
pub(super) fn conform_map(array: &ArrayRef, field: &FieldRef, is_sorted: bool) -> Result<ArrayRef, Misfit> {
    let map = array.as_map();
    let (key, value) = entry_types(field).ok_or_else(|| Misfit { row: 0, problem: "a map needs keys and values".to_owned() })?;
    let fields: Fields = vec![key.clone(), value.clone()].into();
    let entries: ArrayRef = Arc::new(map.entries().clone());
    let (offsets, entries) = in_use(map.offsets(), &entries);
    let conformed = |entries: &ArrayRef| {
        let entries = entries.as_struct();
        let columns = vec![conform(entries.column(0), key.data_type())?, conform(entries.column(1), value.data_type())?];
        Ok(Arc::new(StructArray::try_new(fields.clone(), columns, None).map_err(column_misfit)?) as ArrayRef)
    };
    let (offsets, entries) = mask_nulls::mask_lists(&entries, offsets, map.nulls(), conformed)?;
    let entries = entries.as_struct().clone();
    let entry = Arc::new(Field::new(field.name(), DataType::Struct(fields), false));
    let map = MapArray::try_new(entry, offsets, entries, map.nulls().cloned(), is_sorted).map_err(column_misfit)?;
    Ok(Arc::new(map))
}
