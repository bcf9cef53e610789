//! The size of a batch once every row has its own values. A value that many rows share is sent once: by dictionaries, by runs, and
//! by views of the same bytes. So a message of a few kilobytes may expand to more than any disk holds.
//!
//! **Invariant:** computing the size takes time and memory linear in the length of the message: each array is walked once.

use arrow::array::{
    Array, AsArray, DictionaryArray, FixedSizeListArray, GenericByteArray, GenericByteViewArray, GenericListArray, GenericListViewArray,
    OffsetSizeTrait, RecordBatch, RunArray, UnionArray, downcast_dictionary_array,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{
    ArrowDictionaryKeyType, ArrowNativeType, BinaryType, BinaryViewType, ByteArrayType, ByteViewType, DataType, Int16Type, Int32Type,
    Int64Type, LargeBinaryType, LargeUtf8Type, RunEndIndexType, Schema, StringViewType, Utf8Type,
};

/// The limit for rows of runs that are walked one by one, which is needed if the runs are nested in another type.
const ROWS_OF_RUNS_MAX: usize = 1 << 24;

/// Whether rows of `schema` can share values.
pub fn may_share(schema: &Schema) -> bool {
    schema.flattened_fields().iter().any(|field| {
        use DataType::{BinaryView, Dictionary, LargeListView, ListView, RunEndEncoded, Utf8View};
        matches!(field.data_type(), Dictionary(..) | RunEndEncoded(..) | Utf8View | BinaryView | ListView(_) | LargeListView(_))
    })
}

pub fn expanded_bytes(batch: &RecordBatch) -> u64 {
    sum(batch.columns().iter().map(|column| bytes_of(column)))
}

fn bytes_of(array: &dyn Array) -> u64 {
    use DataType::{
        Binary, BinaryView, Dictionary, FixedSizeList, LargeBinary, LargeList, LargeListView, LargeUtf8, List, ListView, Map,
        RunEndEncoded, Struct, Union, Utf8, Utf8View,
    };
    match array.data_type() {
        Struct(_) => sum(array.as_struct().columns().iter().map(|column| bytes_of(column))),
        List(_) => in_use(array.as_list::<i32>().offsets(), array.as_list::<i32>().values()),
        LargeList(_) => in_use(array.as_list::<i64>().offsets(), array.as_list::<i64>().values()),
        FixedSizeList(..) => bytes_of(array.as_fixed_size_list().values()),
        Map(..) => sum([array.as_map().keys(), array.as_map().values()].map(|of| in_use(array.as_map().offsets(), of))),
        RunEndEncoded(ends, _) => match ends.data_type() {
            DataType::Int16 => run_bytes::<Int16Type>(array),
            DataType::Int32 => run_bytes::<Int32Type>(array),
            _ => run_bytes::<Int64Type>(array),
        },
        Union(..) => of_union(array.as_union()),
        Utf8View => sum(of_views::<StringViewType>(array.as_byte_view())),
        BinaryView => sum(of_views::<BinaryViewType>(array.as_byte_view())),
        Utf8 | LargeUtf8 | Binary | LargeBinary | ListView(_) | LargeListView(_) | Dictionary(..) => sizes(array).sum(),
        other => times(array.len(), width(other)),
    }
}

/// The bytes of each value. A short message may have any number of values without bytes, so values of one size are not listed.
enum ExpandedSizes {
    Each { bytes: u64, count: usize },
    Many(Vec<u64>),
}

impl ExpandedSizes {
    fn each(bytes: u64, count: usize) -> ExpandedSizes {
        ExpandedSizes::Each { bytes, count }
    }

    fn sum(&self) -> u64 {
        match self {
            ExpandedSizes::Each { bytes, count } => times(*count, *bytes),
            ExpandedSizes::Many(sizes) => sum(sizes.iter().copied()),
        }
    }

    fn get(&self, place: usize) -> Option<u64> {
        match self {
            ExpandedSizes::Each { bytes, count } => (place < *count).then_some(*bytes),
            ExpandedSizes::Many(sizes) => sizes.get(place).copied(),
        }
    }

    fn before(self) -> PrefixSums {
        match self {
            ExpandedSizes::Each { bytes, count } => PrefixSums::Each { bytes, count },
            ExpandedSizes::Many(sizes) => PrefixSums::Many(before(&sizes)),
        }
    }
}

/// The bytes of all values before each value, and finally of all values.
enum PrefixSums {
    Each { bytes: u64, count: usize },
    Many(Vec<u64>),
}

impl PrefixSums {
    /// The bytes of a range of values. A range beyond the last value means that the message is invalid.
    fn between(&self, from: usize, to: usize) -> u64 {
        match self {
            PrefixSums::Each { bytes, count } if from <= to && to <= *count => times(to - from, *bytes),
            PrefixSums::Each { .. } => u64::MAX,
            PrefixSums::Many(before) => match (before.get(from), before.get(to)) {
                (Some(from), Some(to)) if *to < u64::MAX => to.saturating_sub(*from),
                _ => u64::MAX,
            },
        }
    }
}

fn sizes(array: &dyn Array) -> ExpandedSizes {
    use DataType::{
        Binary, BinaryView, Dictionary, FixedSizeList, LargeBinary, LargeList, LargeListView, LargeUtf8, List, ListView, Map,
        RunEndEncoded, Struct, Union, Utf8, Utf8View,
    };
    match array.data_type() {
        Utf8 => lengths::<Utf8Type>(array.as_bytes()),
        LargeUtf8 => lengths::<LargeUtf8Type>(array.as_bytes()),
        Binary => lengths::<BinaryType>(array.as_bytes()),
        LargeBinary => lengths::<LargeBinaryType>(array.as_bytes()),
        Utf8View => ExpandedSizes::Many(of_views::<StringViewType>(array.as_byte_view()).collect()),
        BinaryView => ExpandedSizes::Many(of_views::<BinaryViewType>(array.as_byte_view()).collect()),
        Struct(_) => added(array.len(), array.as_struct().columns().iter().map(|column| sizes(column))),
        List(_) => of_lists::<i32>(array.as_list()),
        LargeList(_) => of_lists::<i64>(array.as_list()),
        ListView(_) => of_list_views::<i32>(array.as_list_view()),
        LargeListView(_) => of_list_views::<i64>(array.as_list_view()),
        FixedSizeList(..) => of_fixed_lists(array.as_fixed_size_list()),
        Map(..) => {
            let map = array.as_map();
            added(map.len(), [map.keys(), map.values()].into_iter().map(|of| of_offsets(map.offsets(), of)))
        }
        Dictionary(..) => downcast_dictionary_array!(
            array => of_keys(array),
            _ => ExpandedSizes::each(u64::MAX, array.len())
        ),
        RunEndEncoded(ends, _) => match ends.data_type() {
            DataType::Int16 => of_runs::<Int16Type>(array),
            DataType::Int32 => of_runs::<Int32Type>(array),
            _ => of_runs::<Int64Type>(array),
        },
        // It is unknown which values a row has, so each row counts as if it had all of them.
        Union(..) => ExpandedSizes::each(of_union(array.as_union()), array.len()),
        other => ExpandedSizes::each(width(other), array.len()),
    }
}

/// The size of a value of a fixed-size type.
fn width(data_type: &DataType) -> u64 {
    match data_type {
        DataType::FixedSizeBinary(bytes) => u64::try_from(*bytes).unwrap_or(0),
        other => other.primitive_width().map_or(1, |bytes| bytes as u64),
    }
}

fn lengths<T: ByteArrayType>(array: &GenericByteArray<T>) -> ExpandedSizes {
    ExpandedSizes::Many(array.offsets().lengths().map(|bytes| bytes as u64).collect())
}

/// A view begins with its length. Under a NULL the length is arbitrary, and counts as 0.
fn of_views<T: ByteViewType>(array: &GenericByteViewArray<T>) -> impl Iterator<Item = u64> {
    let views = array.views().iter().enumerate();
    views.map(|(row, view)| if array.is_valid(row) { u64::from(*view as u32) } else { 0 })
}

fn in_use<O: OffsetSizeTrait>(offsets: &OffsetBuffer<O>, values: &dyn Array) -> u64 {
    let (first, end) = (offsets[0].as_usize(), offsets[offsets.len() - 1].as_usize());
    bytes_of(&values.slice(first, end - first))
}

fn of_lists<O: OffsetSizeTrait>(list: &GenericListArray<O>) -> ExpandedSizes {
    of_offsets(list.offsets(), list.values())
}

fn of_offsets<O: OffsetSizeTrait>(offsets: &OffsetBuffer<O>, values: &dyn Array) -> ExpandedSizes {
    let before = sizes(values).before();
    ExpandedSizes::Many(offsets.windows(2).map(|ends| before.between(ends[0].as_usize(), ends[1].as_usize())).collect())
}

fn of_list_views<O: OffsetSizeTrait>(list: &GenericListViewArray<O>) -> ExpandedSizes {
    let before = sizes(list.values()).before();
    let lists = list.offsets().iter().zip(list.sizes().iter()).map(|(offset, size)| (offset.as_usize(), size.as_usize()));
    ExpandedSizes::Many(lists.map(|(offset, size)| before.between(offset, offset.saturating_add(size))).collect())
}

fn of_fixed_lists(list: &FixedSizeListArray) -> ExpandedSizes {
    let width = list.value_length().as_usize();
    match sizes(list.values()) {
        ExpandedSizes::Each { bytes, .. } => ExpandedSizes::each(times(width, bytes), list.len()),
        // Lists without elements have no bytes.
        ExpandedSizes::Many(_) if width == 0 => ExpandedSizes::each(0, list.len()),
        many => {
            let before = many.before();
            ExpandedSizes::Many((0..list.len()).map(|row| before.between(row * width, (row + 1) * width)).collect())
        }
    }
}

fn of_keys<K: ArrowDictionaryKeyType>(dictionary: &DictionaryArray<K>) -> ExpandedSizes {
    let sizes = sizes(dictionary.values());
    let of_key = |key: K::Native| sizes.get(key.as_usize()).unwrap_or(u64::MAX);
    ExpandedSizes::Many(dictionary.keys().iter().map(|key| key.map_or(0, of_key)).collect())
}

fn of_runs<R: RunEndIndexType>(array: &dyn Array) -> ExpandedSizes {
    if array.len() > ROWS_OF_RUNS_MAX {
        // Every value counts as more than is ever allowed.
        return ExpandedSizes::each(u64::MAX, array.len());
    }
    ExpandedSizes::Many(runs::<R>(array).into_iter().flat_map(|(rows, bytes)| std::iter::repeat_n(bytes, rows)).collect())
}

fn run_bytes<R: RunEndIndexType>(array: &dyn Array) -> u64 {
    sum(runs::<R>(array).into_iter().map(|(rows, bytes)| times(rows, bytes)))
}

/// The number of rows of each run, and the bytes of one of them.
fn runs<R: RunEndIndexType>(array: &dyn Array) -> Vec<(usize, u64)> {
    let Some(runs) = array.as_any().downcast_ref::<RunArray<R>>() else { return vec![(1, u64::MAX)] };
    let (first, end) = (runs.offset(), runs.offset() + runs.len());
    let mut from = first;
    let sizes = sizes(runs.values());
    let ends = runs.run_ends().values().iter().enumerate();
    ends.map(|(run, run_end)| {
        let bytes = sizes.get(run).unwrap_or(u64::MAX);
        let to = run_end.as_usize().min(end);
        let rows = to.saturating_sub(from);
        from = from.max(to);
        (rows, bytes)
    })
    .collect()
}

fn of_union(array: &UnionArray) -> u64 {
    let DataType::Union(fields, _) = array.data_type() else { return 0 };
    sum(fields.iter().map(|(id, _)| bytes_of(array.child(id))))
}

/// Bytes of all values before each value, and finally of all values.
fn before(sizes: &[u64]) -> Vec<u64> {
    let mut total = 0_u64;
    let sums = sizes.iter().map(|bytes| {
        total = total.saturating_add(*bytes);
        total
    });
    std::iter::once(0).chain(sums).collect()
}

fn added(rows: usize, columns: impl Iterator<Item = ExpandedSizes>) -> ExpandedSizes {
    let (mut each, mut all) = (0_u64, None::<Vec<u64>>);
    for column in columns {
        match column {
            ExpandedSizes::Each { bytes, .. } => each = each.saturating_add(bytes),
            ExpandedSizes::Many(sizes) if sizes.len() != rows => return ExpandedSizes::each(u64::MAX, rows),
            ExpandedSizes::Many(sizes) => match &mut all {
                None => all = Some(sizes),
                Some(all) => all.iter_mut().zip(sizes).for_each(|(all, bytes)| *all = bytes.saturating_add(*all)),
            },
        }
    }
    match all {
        None => ExpandedSizes::each(each, rows),
        Some(all) => ExpandedSizes::Many(all.into_iter().map(|bytes| bytes.saturating_add(each)).collect()),
    }
}

fn times(values: usize, bytes: u64) -> u64 {
    (values as u64).saturating_mul(bytes)
}

fn sum(bytes: impl IntoIterator<Item = u64>) -> u64 {
    bytes.into_iter().fold(0, u64::saturating_add)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::{
        ArrayRef, DictionaryArray, Int8Array, Int32Array, Int64Array, LargeListArray, LargeListViewArray, ListArray, NullArray,
        StringArray, StringViewArray,
    };
    use arrow::datatypes::Field;

    use super::*;

    fn texts() -> ArrayRef {
        Arc::new(StringArray::from(vec!["", "four", "a text of some length"]))
    }

    #[test]
    fn shared_values_count_for_each_row() {
        let dictionary = DictionaryArray::new(Int8Array::from(vec![Some(1), Some(1), None, Some(2)]), texts());
        assert_eq!(bytes_of(&dictionary), 4 + 4 + 21);
        let runs = RunArray::<Int32Type>::try_new(&Int32Array::from(vec![10, 1_000, 1_001]), &texts()).unwrap();
        assert_eq!(bytes_of(&runs), 990 * 4 + 21);
        assert_eq!(bytes_of(&runs.slice(999, 2)), 4 + 21);
        let views = StringViewArray::from(vec!["a text of some length"]);
        let shared: ArrayRef = Arc::new(DictionaryArray::new(Int8Array::from(vec![0; 50]), Arc::new(views) as ArrayRef));
        assert_eq!(bytes_of(&shared), 50 * 21);
        let nested = DictionaryArray::new(Int8Array::from(vec![0, 0]), shared.slice(0, 1));
        assert_eq!(bytes_of(&nested), 2 * 21);
    }

    #[test]
    fn sizes_saturate() {
        let long: ArrayRef = Arc::new(StringArray::from(vec!["x".repeat(1 << 20)]));
        let runs = RunArray::<Int64Type>::try_new(&Int64Array::from(vec![i64::MAX]), &long).unwrap();
        assert_eq!(bytes_of(&runs), u64::MAX);
    }

    #[test]
    fn values_without_bytes_are_counted_without_a_walk() {
        let nothing: ArrayRef = Arc::new(NullArray::new(1 << 40));
        let item = Arc::new(Field::new("item", DataType::Null, true));
        let lists = LargeListViewArray::new(item.clone(), vec![0].into(), vec![1].into(), Arc::clone(&nothing), None);
        assert_eq!(bytes_of(&lists), 1);
        let list: ArrayRef = Arc::new(LargeListArray::new(item, OffsetBuffer::new(vec![0, 1 << 40].into()), nothing, None));
        let shared = DictionaryArray::new(Int8Array::from(vec![0, 0]), list);
        assert_eq!(bytes_of(&shared), 2 << 40);
    }

    #[test]
    fn nested_values_count() {
        let dictionary: ArrayRef = Arc::new(DictionaryArray::new(Int8Array::from(vec![1, 2, 2]), texts()));
        let item = Arc::new(Field::new("item", dictionary.data_type().clone(), true));
        let list = ListArray::new(item, OffsetBuffer::from_lengths([1, 2]), dictionary, None);
        assert_eq!(bytes_of(&list), 4 + 21 + 21);
        assert_eq!(bytes_of(&list.slice(0, 1)), 4);
        assert!(may_share(&Schema::new(vec![Field::new("a", list.data_type().clone(), true)])));
        assert!(!may_share(&Schema::new(vec![Field::new("a", DataType::Utf8, true)])));
    }
}
