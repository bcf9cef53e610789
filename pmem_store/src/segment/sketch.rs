//! A distinct-count sketch: HyperLogLog with 2^12 registers (standard error 1.6 %), Flajolet et al.
//! 2007, with linear counting for small cardinalities as in Heule et al. 2013.

use std::borrow::Cow;

use arrow::array::{ArrayRef, AsArray, downcast_primitive_array};
use arrow::datatypes::{DataType, ToByteSlice};

use crate::checksum::xxh3;

const PRECISION: u32 = 12;
/// Each is a byte.
pub(super) const REGISTERS: usize = 1 << PRECISION;

/// A stored sketch with at most this many registers that are not 0 is kept as those registers alone.
const FEW_MAX: usize = REGISTERS / 8;

/// There is one for each column of each open segment with few columns, so a sketch of few values takes few bytes.
#[derive(Debug, Clone, Default)]
pub struct DistinctSketch {
    /// Registers that are not 0, with their indices; they count while there is no `all`.
    few: Box<[(u16, u8)]>,
    all: Option<Box<[u8; REGISTERS]>>,
}

impl PartialEq for DistinctSketch {
    fn eq(&self, other: &DistinctSketch) -> bool {
        self.to_bytes() == other.to_bytes()
    }
}

impl Eq for DistinctSketch {}

fn expanded(few: &[(u16, u8)]) -> Box<[u8; REGISTERS]> {
    let mut all = Box::new([0; REGISTERS]);
    few.iter().for_each(|(index, register)| all[usize::from(*index)] = *register);
    all
}

fn merge_all(mine: &mut [u8; REGISTERS], theirs: &[u8; REGISTERS]) {
    mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine = (*mine).max(*theirs));
}

#[inline]
fn insert(registers: &mut [u8; REGISTERS], hash: u64) {
    let index = (hash >> (64 - PRECISION)) as usize;
    let rank = ((hash << PRECISION) | (1 << (PRECISION - 1))).leading_zeros() as u8 + 1;
    let register = &mut registers[index];
    if rank > *register {
        *register = rank;
    }
}

impl DistinctSketch {
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let all: &[u8; REGISTERS] = bytes.try_into().ok()?;
        // One step for each register would be a fifth of the time that it takes to open a segment.
        let (pieces, _) = all.as_chunks::<128>();
        let counts = pieces.iter().map(|piece| piece.iter().map(|register| u8::from(*register != 0)).sum::<u8>());
        if counts.map(usize::from).sum::<usize>() > FEW_MAX {
            return Some(DistinctSketch { few: Box::default(), all: Some(Box::new(*all)) });
        }
        let (words, _) = all.as_chunks::<8>();
        let words = (0..).step_by(8).zip(words).filter(|(_, word)| **word != [0; 8]);
        let few = words.flat_map(|(first, word)| (first..).zip(*word)).filter(|(_, register)| *register != 0);
        Some(DistinctSketch { few: few.collect(), all: None })
    }

    /// All registers.
    pub fn to_bytes(&self) -> Cow<'_, [u8]> {
        match &self.all {
            Some(all) => Cow::Borrowed(all.as_slice()),
            None => Cow::Owned(expanded(&self.few).to_vec()),
        }
    }

    fn all_mut(&mut self) -> &mut [u8; REGISTERS] {
        self.all.get_or_insert_with(|| expanded(&self.few))
    }

    pub fn merge(&mut self, other: &DistinctSketch) {
        let mine = self.all_mut();
        match &other.all {
            Some(all) => merge_all(mine, all),
            None => other.few.iter().for_each(|(index, theirs)| {
                let mine = &mut mine[usize::from(*index)];
                *mine = (*mine).max(*theirs);
            }),
        }
    }

    /// Merges the registers of a stored sketch, where they lie; returns false if these are no registers.
    pub(super) fn merge_stored(&mut self, bytes: &[u8]) -> bool {
        let Ok(all): Result<&[u8; REGISTERS], _> = bytes.try_into() else { return false };
        merge_all(self.all_mut(), all);
        true
    }

    /// The estimated number of distinct values inserted.
    pub fn estimate(&self) -> u64 {
        let m = REGISTERS as f64;
        let registers = self.to_bytes();
        let zeros = registers.iter().filter(|register| **register == 0).count();
        let harmonic: f64 = registers.iter().map(|register| 2f64.powi(-i32::from(*register))).sum();
        let raw = 0.7213 / (1.0 + 1.079 / m) * m * m / harmonic;
        if raw <= 2.5 * m && zeros > 0 {
            return (m * (m / zeros as f64).ln()).round() as u64;
        }
        raw.round() as u64
    }

    /// Whether values of this type are counted.
    pub fn supports(data_type: &DataType) -> bool {
        use DataType::*;
        data_type.is_primitive()
            || matches!(data_type, Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary | BinaryView | FixedSizeBinary(_) | Boolean)
    }

    /// Inserts every value of `array` that is not NULL.
    pub fn insert_array(&mut self, array: &ArrayRef) {
        let (array, registers) = (array.as_ref(), self.all_mut());
        downcast_primitive_array!(
            array => {
                for value in array.iter().flatten() {
                    insert(registers, hash_native(value));
                }
            }
            DataType::Boolean => array.as_boolean().iter().flatten().for_each(|value| insert(registers, mix(u64::from(value)))),
            DataType::Utf8 => array.as_string::<i32>().iter().flatten().for_each(|value| insert(registers, xxh3(value.as_bytes()))),
            DataType::LargeUtf8 => array.as_string::<i64>().iter().flatten().for_each(|value| insert(registers, xxh3(value.as_bytes()))),
            DataType::Utf8View => array.as_string_view().iter().flatten().for_each(|value| insert(registers, xxh3(value.as_bytes()))),
            DataType::Binary => array.as_binary::<i32>().iter().flatten().for_each(|value| insert(registers, xxh3(value))),
            DataType::LargeBinary => array.as_binary::<i64>().iter().flatten().for_each(|value| insert(registers, xxh3(value))),
            DataType::BinaryView => array.as_binary_view().iter().flatten().for_each(|value| insert(registers, xxh3(value))),
            DataType::FixedSizeBinary(_) => array.as_fixed_size_binary().iter().flatten().for_each(|value| insert(registers, xxh3(value))),
            _ => {}
        )
    }
}

#[inline]
fn hash_native<T: ToByteSlice>(value: T) -> u64 {
    let bytes = value.to_byte_slice();
    if bytes.len() <= 8 {
        let mut word = [0u8; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        return mix(u64::from_le_bytes(word));
    }
    xxh3(bytes)
}

/// The finaliser of SplitMix64 (Steele et al. 2014): every input bit changes every output bit.
#[inline]
fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}
