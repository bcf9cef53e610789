//! Compares plain values with those of arrow, and checks which stay in place.

use std::time::Instant;

use arrow::array::{AsArray, BinaryViewArray, StringViewArray, StringViewBuilder, UInt32Array};
use arrow::buffer::NullBuffer;
use arrow::compute::{cast, take};
use arrow::datatypes::{BinaryType, BinaryViewType, DataType, StringViewType, Utf8Type};

use super::*;

/// SplitMix64: the same numbers in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % end as u64) as usize
    }

    fn text(&mut self, bytes: usize) -> String {
        let mut text = String::new();
        while text.len() < bytes {
            let space = bytes - text.len();
            let char = ['a', 'b', 'é', '語', '😀'][self.below(5)];
            text.push(if char.len_utf8() <= space { char } else { 'c' });
        }
        text
    }
}

/// The lengths of values of a column, and the percentage of NULLs.
struct Shape {
    lengths: &'static [usize],
    nulls: usize,
}

const SHAPES: [Shape; 7] = [
    Shape { lengths: &[48], nulls: 0 },
    Shape { lengths: &[13, 20, 63, 64, 65, 200, 0], nulls: 20 },
    Shape { lengths: &[0, 1, 3, 4, 5, 11, 12], nulls: 10 },
    Shape { lengths: &[0, 2, 12, 13, 14, 40, 64, 65, 66, 128, 300], nulls: 0 },
    Shape { lengths: &[0, 12, 13, 64, 90], nulls: 50 },
    Shape { lengths: &[0], nulls: 3 },
    Shape { lengths: &[30], nulls: 100 },
];

fn column(random: &mut Random, shape: &Shape, rows: usize) -> StringViewArray {
    let mut builder = match random.below(3) {
        0 => StringViewBuilder::new(),
        1 => StringViewBuilder::new().with_fixed_block_size(256),
        _ => StringViewBuilder::new().with_deduplicate_strings(),
    };
    for _ in 0..rows {
        let is_null = random.below(100) < shape.nulls;
        let length = shape.lengths[random.below(shape.lengths.len())];
        let text = random.text(length);
        builder.append_option((!is_null).then_some(text));
    }
    builder.finish()
}

fn sliced(random: &mut Random, array: &StringViewArray) -> StringViewArray {
    let from = random.below(array.len() + 1);
    array.slice(from, random.below(array.len() - from + 1))
}

/// A column after a filter or a join: rows in any order, some of them twice.
fn shuffled(random: &mut Random, array: &StringViewArray) -> StringViewArray {
    let rows = UInt32Array::from_iter_values((0..array.len()).map(|_| random.below(array.len()) as u32));
    take(array, &rows, None).unwrap().as_string_view().clone()
}

/// NULLs with values under them.
fn masked(random: &mut Random, array: &StringViewArray) -> StringViewArray {
    let (views, buffers, _) = array.clone().into_parts();
    let nulls: NullBuffer = (0..views.len()).map(|_| random.below(4) > 0).collect();
    StringViewArray::new(views, buffers, Some(nulls))
}

fn same<V, P>(views: &GenericByteViewArray<V>)
where
    V: ByteViewType,
    P: ByteArrayType<Offset = i32, Native = V::Native>,
{
    let actual = plain::<V, P>(views).unwrap();
    actual.to_data().validate_full().unwrap();
    let expected = cast(views, &P::DATA_TYPE).unwrap();
    assert_eq!(&actual, &expected);
    let (actual, expected) = (actual.as_bytes::<P>(), expected.as_bytes::<P>());
    assert_eq!(actual.value_offsets(), expected.value_offsets());
    assert_eq!(actual.value_data(), expected.value_data());
}

#[test]
fn plain_values_are_those_that_arrow_makes() {
    let mut random = Random(1);
    for round in 0..400 {
        let shape = &SHAPES[round % SHAPES.len()];
        let rows = 1 + random.below(300);
        let whole = column(&mut random, shape, rows);
        let shuffled = shuffled(&mut random, &whole);
        for array in [whole.gc(), whole, shuffled.gc(), shuffled] {
            let slice = sliced(&mut random, &array);
            let masked = masked(&mut random, &array);
            let slice_of_masked = sliced(&mut random, &masked);
            for array in [array, slice, masked, slice_of_masked] {
                same::<StringViewType, Utf8Type>(&array);
                same::<BinaryViewType, BinaryType>(&array.to_binary_view());
            }
        }
    }
    same::<StringViewType, Utf8Type>(&StringViewArray::new_null(0));
    same::<StringViewType, Utf8Type>(&StringViewArray::new_null(10));
}

fn long(row: usize) -> String {
    format!("{row} and so on, longer than a view has room for")
}

#[test]
fn values_in_the_order_of_the_rows_are_sent_in_place() {
    let texts = (0..5_000).map(|row| match row % 10 {
        3 => None,
        7 => Some(String::new()),
        _ => Some(long(row)),
    });
    let texts = StringViewArray::from_iter(texts).gc().slice(1_000, 3_000);
    let sent = plain::<StringViewType, Utf8Type>(&texts).unwrap();
    assert_eq!(sent.as_string::<i32>().values().as_ptr(), texts.value(0).as_ptr());
    same::<StringViewType, Utf8Type>(&texts);

    let with_a_short_one = (0..100).map(|row| if row == 50 { "short".to_string() } else { long(row) });
    let texts = StringViewArray::from_iter_values(with_a_short_one).gc();
    let sent = plain::<StringViewType, Utf8Type>(&texts).unwrap();
    assert_ne!(sent.as_string::<i32>().values().as_ptr(), texts.value(0).as_ptr());
}

#[test]
fn more_bytes_than_offsets_can_reach_are_an_error() {
    const BYTES: u128 = 1 << 20;
    let view = BYTES | (u128::from(u32::from_le_bytes(*b"aaaa")) << 32);
    let buffer = Buffer::from_vec(vec![b'a'; BYTES as usize]);
    let views = |rows| BinaryViewArray::new(ScalarBuffer::from(vec![view; rows]), vec![buffer.clone()], None);
    let error = plain::<BinaryViewType, BinaryType>(&views(2_048)).unwrap_err();
    assert!(matches!(error, ArrowError::OffsetOverflowError(_)), "{error}");
    assert!(plain::<BinaryViewType, BinaryType>(&views(10)).is_ok());
}

#[test]
fn views_that_use_their_whole_buffers_are_sent_unchanged() {
    let texts = (0..1_000).map(|row| match row % 3 {
        0 => None,
        1 => Some(long(row)),
        _ => Some("short".to_string()),
    });
    let texts = StringViewArray::from_iter(texts).gc();
    let sent = compact(&texts);
    assert_eq!(sent.as_string_view().data_buffers()[0].as_ptr(), texts.data_buffers()[0].as_ptr());
    let slice = compact(&texts.slice(10, 5));
    assert_eq!(slice.as_string_view(), &texts.slice(10, 5));
    assert!(slice.get_buffer_memory_size() < 10_000, "{}", slice.get_buffer_memory_size());
}

#[test]
fn texts_of_dropped_rows_are_not_sent_with_views() {
    let texts = StringViewArray::from_iter_values((0..1_000).map(long)).gc();
    // The last but one row is used twice, so the bytes in use are as many as the bytes of the buffers.
    let rows = UInt32Array::from_iter_values((0..999).chain([998]));
    let array = take(&texts, &rows, None).unwrap();
    assert_eq!(array.as_string_view().data_buffers()[0].len(), array.as_string_view().total_buffer_bytes_used());
    for array in [array, Arc::new(texts.slice(0, 999)) as ArrayRef] {
        let sent = compact(array.as_string_view());
        assert_eq!(&sent, &array);
        let bytes: Vec<u8> = sent.as_string_view().data_buffers().iter().flat_map(|buffer| buffer.to_vec()).collect();
        let hidden = long(999);
        assert!(!bytes.windows(hidden.len()).any(|window| window == hidden.as_bytes()));
    }
}

#[test]
#[ignore = "measures"]
fn how_soon_views_are_plain() {
    const ZONES: usize = 40;
    let shapes: [(&str, &'static [usize], bool); 4] = [
        ("48 bytes in order", &[48], false),
        ("48 bytes at any place", &[48], true),
        ("4 to 60 bytes", &[4, 9, 14, 20, 27, 33, 38, 44, 51, 60], false),
        ("up to 12 bytes", &[0, 2, 5, 8, 12], false),
    ];
    let mut random = Random(7);
    for (name, lengths, is_shuffled) in shapes {
        let shape = Shape { lengths, nulls: 0 };
        let mut zone = || match column(&mut random, &shape, 8_192).gc() {
            zone if is_shuffled => shuffled(&mut random, &zone),
            zone => zone,
        };
        let zones: Vec<StringViewArray> = (0..ZONES).map(|_| zone()).collect();
        let best = |make: &dyn Fn(&StringViewArray) -> ArrayRef| {
            let round = |_| {
                let started = Instant::now();
                zones.iter().for_each(|zone| drop(std::hint::black_box(make(zone))));
                started.elapsed().as_secs_f64()
            };
            (0..20).map(round).fold(f64::INFINITY, f64::min) / ZONES as f64 * 1e6
        };
        let ours = best(&|zone| plain::<StringViewType, Utf8Type>(zone).unwrap());
        let arrows = best(&|zone| cast(zone, &DataType::Utf8).unwrap());
        println!("{name}: a zone in {ours:.1} µs, by arrow's cast in {arrows:.1}");
    }
}
