//! Bounds of long strings and bytes are cut.

use std::sync::Arc;

use arrow::array::*;
use arrow::compute::cast;
use arrow::datatypes::DataType;

use super::segment_of;
use crate::helpers::Random;

/// Strings around the cut at 64 bytes: every length, characters of every width, and the greatest ones.
fn long_texts() -> Vec<String> {
    let mut random = Random(3);
    let alphabet = ["a", "é", "字", "😀", "\u{10FFFF}", "\u{D7FF}", "\u{E000}", "\u{7F}"];
    let mut texts: Vec<String> =
        (0..300).map(|length| (0..length % 90).map(|_| alphabet[random.below(alphabet.len())]).collect()).collect();
    texts.extend((60..70).flat_map(|length| alphabet.map(|text| text.repeat(length))));
    texts
}

fn string_column(texts: &[&str], data_type: &DataType) -> ArrayRef {
    let texts: ArrayRef = Arc::new(texts.iter().copied().map(Some).chain([None]).collect::<StringArray>());
    cast(&texts, data_type).unwrap()
}

/// A bound of the first zone as bytes, for any type.
fn bound_bytes(bound: &ArrayRef) -> Option<Vec<u8>> {
    let bound = cast(bound, &DataType::LargeBinary).unwrap();
    bound.is_valid(0).then(|| bound.as_binary::<i64>().value(0).to_vec())
}

#[test]
fn bounds_of_long_strings_are_cut_yet_hold_for_every_value() {
    use DataType::*;
    let texts = long_texts();
    for data_type in [Utf8, LargeUtf8, Utf8View, Binary, LargeBinary, BinaryView] {
        let groups: Vec<Vec<&str>> = texts.chunks(2).map(|pair| pair.iter().map(String::as_str).collect()).collect();
        let segment = segment_of(groups.iter().map(|group| string_column(group, &data_type)).collect());
        for (index, group) in groups.iter().enumerate() {
            let zones = segment.statistics().column(index);
            let (least, greatest) = (group.iter().min().unwrap().as_bytes(), group.iter().max().unwrap().as_bytes());
            let min = bound_bytes(&zones.min).unwrap();
            assert!(min.len() <= 64 && min.as_slice() <= least, "{data_type} {group:?}");
            assert_eq!(zones.min_exact.value(0), min == least);
            assert_eq!(zones.min_exact.value(0), least.len() <= 64);
            // An absent bound holds for every value; the next character may take one more byte.
            let max = bound_bytes(&zones.max);
            assert!(max.as_ref().is_none_or(|max| max.as_slice() >= greatest && max.len() <= 65), "{data_type} {group:?}");
            assert_eq!(zones.max_exact.value(0), max.as_deref() == Some(greatest));
            assert_eq!(zones.max_exact.value(0), greatest.len() <= 64);
        }
    }
}

#[test]
fn a_string_of_only_the_greatest_characters_has_no_upper_bound() {
    let text = "\u{10FFFF}".repeat(17);
    let bytes = BinaryArray::from(vec![[255u8; 65].as_slice(); 2]);
    let segment = segment_of(vec![string_column(&[&text], &DataType::Utf8), Arc::new(bytes)]);
    for index in 0..2 {
        let zones = segment.statistics().column(index);
        assert!(zones.max.is_null(0) && !zones.max_exact.value(0));
        assert!(zones.min.is_valid(0) && !zones.min_exact.value(0));
    }
}
