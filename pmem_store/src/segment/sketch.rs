//! A distinct-count sketch: HyperLogLog with 2^12 registers (standard error 1.6 %), Flajolet et al.
//! 2007, with linear counting for small cardinalities as in Heule et al. 2013.

use arrow::array::{ArrayRef, AsArray, downcast_primitive_array};
use arrow::datatypes::{DataType, ToByteSlice};

use crate::checksum::xxh3;

const PRECISION: u32 = 12;
const REGISTERS: usize = 1 << PRECISION;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DistinctSketch {
    registers: Box<[u8; REGISTERS]>,
}

impl Default for DistinctSketch {
    fn default() -> Self {
        DistinctSketch { registers: Box::new([0; REGISTERS]) }
    }
}

impl DistinctSketch {
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let registers: Box<[u8; REGISTERS]> = bytes.to_vec().into_boxed_slice().try_into().ok()?;
        Some(DistinctSketch { registers })
    }

    pub fn as_bytes(&self) -> &[u8] {
        self.registers.as_slice()
    }

    #[inline]
    fn insert(&mut self, hash: u64) {
        let index = (hash >> (64 - PRECISION)) as usize;
        let rank = ((hash << PRECISION) | (1 << (PRECISION - 1))).leading_zeros() as u8 + 1;
        let register = &mut self.registers[index];
        if rank > *register {
            *register = rank;
        }
    }

    pub fn merge(&mut self, other: &DistinctSketch) {
        for (mine, theirs) in self.registers.iter_mut().zip(other.registers.iter()) {
            *mine = (*mine).max(*theirs);
        }
    }

    /// The estimated number of distinct values inserted.
    pub fn estimate(&self) -> u64 {
        let m = REGISTERS as f64;
        let zeros = self.registers.iter().filter(|register| **register == 0).count();
        let harmonic: f64 = self.registers.iter().map(|register| 2f64.powi(-i32::from(*register))).sum();
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
        let array = array.as_ref();
        downcast_primitive_array!(
            array => {
                for value in array.iter().flatten() {
                    self.insert(hash_native(value));
                }
            }
            DataType::Boolean => array.as_boolean().iter().flatten().for_each(|value| self.insert(mix(u64::from(value)))),
            DataType::Utf8 => array.as_string::<i32>().iter().flatten().for_each(|value| self.insert(xxh3(value.as_bytes()))),
            DataType::LargeUtf8 => array.as_string::<i64>().iter().flatten().for_each(|value| self.insert(xxh3(value.as_bytes()))),
            DataType::Utf8View => array.as_string_view().iter().flatten().for_each(|value| self.insert(xxh3(value.as_bytes()))),
            DataType::Binary => array.as_binary::<i32>().iter().flatten().for_each(|value| self.insert(xxh3(value))),
            DataType::LargeBinary => array.as_binary::<i64>().iter().flatten().for_each(|value| self.insert(xxh3(value))),
            DataType::BinaryView => array.as_binary_view().iter().flatten().for_each(|value| self.insert(xxh3(value))),
            DataType::FixedSizeBinary(_) => array.as_fixed_size_binary().iter().flatten().for_each(|value| self.insert(xxh3(value))),
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
