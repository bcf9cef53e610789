//! The values beneath NULLs. For a struct or a list that is NULL, Arrow does not define what its fields and elements hold, nor whether they
//! are NULL, too. Such a value must not cause an error because it does not fit.
//!
//! Usually all of them fit. So they are masked only if something does not.

use arrow::array::{ArrayRef, OffsetSizeTrait};
use arrow::buffer::{NullBuffer, OffsetBuffer};

use super::nested::row_of;
use super::{Misfit, column_misfit};
use common::masked_values::{hidden_beneath, without_null_lists};

/// The values that a field of structs, or the elements of all lists of a fixed size, have. `parents` has a bit for each value.
pub(super) fn mask_fields(
    values: &ArrayRef,
    parents: Option<NullBuffer>,
    look: impl Fn(&ArrayRef) -> Result<ArrayRef, Misfit>,
) -> Result<ArrayRef, Misfit> {
    look(values).or_else(|misfit| match parents.filter(|parents| parents.null_count() > 0) {
        Some(parents) => look(&hidden_beneath(values, &parents).map_err(column_misfit)?),
        None => Err(misfit),
    })
}

/// The elements that the lists use, and the position of each list among them.
pub(super) fn mask_lists<O: OffsetSizeTrait>(
    elements: &ArrayRef,
    offsets: OffsetBuffer<O>,
    lists: Option<&NullBuffer>,
    look: impl Fn(&ArrayRef) -> Result<ArrayRef, Misfit>,
) -> Result<(OffsetBuffer<O>, ArrayRef), Misfit> {
    match (look(elements), lists.filter(|lists| lists.null_count() > 0)) {
        (Ok(looked_at), _) => Ok((offsets, looked_at)),
        (Err(misfit), None) => Err(row_of(misfit, &offsets)),
        (Err(_), Some(lists)) => {
            let (offsets, elements) = without_null_lists(elements, &offsets, lists).map_err(column_misfit)?;
            let looked_at = look(&elements).map_err(|misfit| row_of(misfit, &offsets))?;
            Ok((offsets, looked_at))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{
        Array, AsArray, Decimal128Array, FixedSizeListArray, Int32Array, LargeListArray, ListArray, MapArray, RunArray, StringArray,
        StructArray,
    };
    use arrow::datatypes::{DataType, Field, FieldRef, Int32Type, Int64Type};

    use super::super::{conform, valid};
    use super::*;

    /// Six decimals; the third and the fourth are too large.
    fn decimals() -> ArrayRef {
        Arc::new(Decimal128Array::from(vec![1, 2, 1000, -1000, 5, 6]).with_precision_and_scale(3, 1).unwrap())
    }

    fn item(array: &ArrayRef, is_nullable: bool) -> FieldRef {
        Arc::new(Field::new("item", array.data_type().clone(), is_nullable))
    }

    fn structs(field: &ArrayRef, valid: &[bool]) -> ArrayRef {
        let fields = vec![Field::new("price", field.data_type().clone(), false)];
        Arc::new(StructArray::new(fields.into(), vec![field.clone()], Some(valid.to_vec().into())))
    }

    #[test]
    fn fields_of_structs_that_are_null_hold_no_values() {
        let decimals = decimals();
        let masked = structs(&decimals, &[true, true, false, false, true, true]);
        let within = valid(&masked).unwrap();
        assert_eq!(within.as_struct().column(0).len(), 6);
        assert_eq!((within.null_count(), within.data_type()), (2, masked.data_type()));
        let misfit = valid(&structs(&decimals, &[true, true, false, true, true, true])).unwrap_err();
        assert_eq!((misfit.row, misfit.problem.as_str()), (3, "in price: -100.0 does not fit DECIMAL(3,1)"));
        let outer = structs(&structs(&decimals, &[true; 6]), &[true, true, false, false, true, true]);
        assert_eq!(valid(&outer).unwrap().null_count(), 2);
        valid(&masked.slice(1, 4)).unwrap();
    }

    #[test]
    fn runs_beneath_a_struct_that_is_null_hold_no_values() {
        let decimals: ArrayRef = Arc::new(Decimal128Array::from(vec![1, 1000]).with_precision_and_scale(3, 1).unwrap());
        let runs: ArrayRef = Arc::new(RunArray::<Int32Type>::try_new(&Int32Array::from(vec![2, 3]), &decimals).unwrap());
        assert_eq!(valid(&structs(&runs, &[true, true, false])).unwrap().null_count(), 1);
        valid(&structs(&runs, &[true, false, true])).unwrap_err();
    }

    #[test]
    fn elements_of_lists_that_are_null_are_no_values() {
        let decimals = decimals();
        let nulls = |valid: [bool; 3]| Some(NullBuffer::from(valid.to_vec()));
        for is_nullable in [false, true] {
            let item = item(&decimals, is_nullable);
            let fixed = |valid| Arc::new(FixedSizeListArray::new(item.clone(), 2, decimals.clone(), nulls(valid))) as ArrayRef;
            let offsets = OffsetBuffer::from_lengths([2, 2, 2]);
            let list = |valid| Arc::new(ListArray::new(item.clone(), offsets.clone(), decimals.clone(), nulls(valid))) as ArrayRef;
            for array in [fixed([true, false, true]), list([true, false, true])] {
                assert_eq!(valid(&array).unwrap().as_ref(), array.as_ref());
            }
            for array in [fixed([false, true, true]), list([false, true, true])] {
                assert_eq!(valid(&array).unwrap_err().row, 1);
            }
        }
    }

    #[test]
    fn entries_of_maps_that_are_null_are_no_values() {
        let keys: ArrayRef = Arc::new(StringArray::from(vec!["a"; 6]));
        let decimals = decimals();
        let fields = vec![Field::new("key", DataType::Utf8, false), Field::new("value", decimals.data_type().clone(), true)];
        let entries = StructArray::new(fields.into(), vec![keys, decimals], None);
        let entry = Arc::new(Field::new("entries", entries.data_type().clone(), false));
        let offsets = OffsetBuffer::from_lengths([2, 2, 2]);
        let map = |valid: Vec<bool>| {
            Arc::new(MapArray::new(entry.clone(), offsets.clone(), entries.clone(), Some(valid.into()), false)) as ArrayRef
        };
        assert_eq!(valid(&map(vec![true, false, true])).unwrap().null_count(), 1);
        assert_eq!(valid(&map(vec![true, true, false])).unwrap_err().row, 1);
    }

    #[test]
    fn what_lies_beneath_a_null_is_not_brought_to_another_type() {
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["1", "x", "3"]));
        let to = DataType::Struct(vec![Field::new("price", DataType::Int64, false)].into());
        let brought = conform(&structs(&texts, &[true, false, true]), &to).unwrap();
        assert_eq!(brought.as_struct().column(0).as_primitive::<Int64Type>().value(2), 3);
        assert_eq!(conform(&structs(&texts, &[true, true, false]), &to).unwrap_err().row, 1);
        let item = item(&texts, true);
        let to = DataType::List(Arc::new(Field::new("item", DataType::Int64, false)));
        let offsets = OffsetBuffer::from_lengths([1, 1, 1]);
        let large =
            |valid: Vec<bool>| Arc::new(LargeListArray::new(item.clone(), offsets.clone(), texts.clone(), Some(valid.into()))) as ArrayRef;
        let brought = conform(&large(vec![true, false, true]), &to).unwrap();
        assert_eq!(brought.as_list::<i32>().value(2).as_primitive::<Int64Type>().value(0), 3);
        assert_eq!(conform(&large(vec![true, true, false]), &to).unwrap_err().row, 1);
    }
}
