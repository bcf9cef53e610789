//! The common types of DOUBLEs and decimals.

use crate::functions::nested_types::{fields_of, with_field};
use arrow::datatypes::{DataType, FieldRef};

/// Makes every decimal that meets a float a DOUBLE, inside lists, structs and maps too. Returns whether there was one.
pub fn meet(types: &mut [DataType]) -> bool {
    if types.iter().any(DataType::is_floating) {
        let decimals = types.iter_mut().filter(|data_type| data_type.is_decimal());
        return decimals.map(|data_type| *data_type = DataType::Float64).count() > 0;
    }
    let nested: Vec<usize> = (0..types.len()).filter(|index| !fields_of(&types[*index]).is_empty()).collect();
    if nested.len() < 2 {
        return false;
    }
    let first = fields_of(&types[nested[0]]).to_vec();
    if nested.iter().any(|index| fields_of(&types[*index]).len() != first.len()) {
        return false;
    }
    let mut changed = false;
    for (position, field) in first.iter().enumerate() {
        let places: Vec<usize> = nested.iter().map(|index| place(&types[*index], &first, field, position)).collect();
        let in_type = |(index, place): (&usize, &usize)| fields_of(&types[*index])[*place].data_type().clone();
        let mut inner: Vec<DataType> = nested.iter().zip(&places).map(in_type).collect();
        if meet(&mut inner) {
            changed = true;
            for ((index, place), inner) in nested.iter().zip(&places).zip(inner) {
                types[*index] = with_field(&types[*index], *place, inner);
            }
        }
    }
    changed
}

/// The position of the field in `data_type` that matches `field`: structs with the same names match by name, as in DataFusion.
fn place(data_type: &DataType, first: &[FieldRef], field: &FieldRef, position: usize) -> usize {
    let fields = fields_of(data_type);
    let of_name = |name: &str| fields.iter().position(|other| other.name() == name);
    let same_names = first.iter().all(|field| of_name(field.name()).is_some());
    of_name(field.name()).filter(|_| same_names).unwrap_or(position)
}

/// Whether every float in `from` is a float in `to`.
pub fn keeps_floats(from: &DataType, to: &DataType) -> bool {
    if from.is_floating() {
        return to.is_floating();
    }
    let (from, to) = (fields_of(from), fields_of(to));
    from.len() != to.len() || from.iter().zip(to).all(|(from, to)| keeps_floats(from.data_type(), to.data_type()))
}

#[cfg(test)]
mod tests {
    use arrow::datatypes::DataType::{Decimal128, Float32, Float64, Int32, Null};
    use arrow::datatypes::Field;

    use super::*;

    const MONEY: DataType = Decimal128(10, 2);

    fn list(item: DataType) -> DataType {
        DataType::new_list(item, true)
    }

    fn record(fields: [(&str, DataType); 2]) -> DataType {
        DataType::Struct(fields.into_iter().map(|(name, data_type)| Field::new(name, data_type, true)).collect())
    }

    fn common_type(mut types: Vec<DataType>) -> Vec<DataType> {
        meet(&mut types);
        types
    }

    #[test]
    fn decimals_beside_a_float_become_doubles_and_nothing_else_does() {
        assert_eq!(common_type(vec![MONEY, Int32, Float64, Null, MONEY]), [Float64, Int32, Float64, Null, Float64]);
        assert_eq!(common_type(vec![Float32, MONEY]), [Float32, Float64]);
        for unchanged in [vec![MONEY, Int32], vec![Float64, Int32], vec![MONEY, Decimal128(38, 0)], vec![]] {
            assert_eq!(common_type(unchanged.clone()), unchanged);
        }
    }

    #[test]
    fn inside_lists_and_structs_they_meet_at_the_same_place() {
        assert_eq!(common_type(vec![list(MONEY), Null, list(Float64)]), [list(Float64), Null, list(Float64)]);
        assert_eq!(common_type(vec![list(MONEY), Float64]), [list(MONEY), Float64]);
        let (left, right) = (record([("a", Float64), ("b", MONEY)]), record([("a", MONEY), ("b", MONEY)]));
        assert_eq!(common_type(vec![left.clone(), right]), [left.clone(), left]);
    }

    #[test]
    fn structs_of_the_same_names_meet_by_name_and_others_by_position() {
        let floats = record([("a", Float64), ("b", Int32)]);
        assert_eq!(common_type(vec![floats.clone(), record([("b", Int32), ("a", MONEY)])])[1], record([("b", Int32), ("a", Float64)]));
        assert_eq!(common_type(vec![floats, record([("c", MONEY), ("a", Int32)])])[1], record([("c", Float64), ("a", Int32)]));
    }
}
