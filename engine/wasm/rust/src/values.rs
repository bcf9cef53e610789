//! Results: values in Rust become an array.

use crate::array::ArrowArray;
use crate::memory::{allocate, Values};

/// A type of a result: `bool`, integers, `f32`, `f64`, `String`, `&str`, `Vec<u8>`.
pub trait Value: Sized {
    type Builder: Builder<Self>;
}

pub trait Builder<V>: Sized {
    fn with_rows(rows: usize) -> Result<Self, String>;

    /// # Safety
    /// There are fewer values than rows.
    unsafe fn push(&mut self, value: V) -> Result<(), String>;

    /// A value that nobody reads.
    ///
    /// # Safety
    /// As that of `push`.
    unsafe fn push_nothing(&mut self) -> Result<(), String>;

    /// The buffers behind the validity.
    fn buffers(&self) -> [Option<*const u8>; 2];
}

impl<T: Copy + Default> Builder<T> for Values<T> {
    fn with_rows(rows: usize) -> Result<Self, String> {
        Values::with_capacity(rows)
    }

    #[inline(always)]
    unsafe fn push(&mut self, value: T) -> Result<(), String> {
        // SAFETY: promised.
        unsafe { Values::push(self, value) };
        Ok(())
    }

    #[inline(always)]
    unsafe fn push_nothing(&mut self) -> Result<(), String> {
        // SAFETY: promised.
        unsafe { Builder::push(self, T::default()) }
    }

    fn buffers(&self) -> [Option<*const u8>; 2] {
        [Some(self.as_ptr()), None]
    }
}

macro_rules! plain_value {
    ($($type:ty)*) => {$(
        impl Value for $type {
            type Builder = Values<$type>;
        }
    )*};
}

plain_value! { i8 u8 i16 u16 i32 u32 i64 u64 f32 f64 }

/// A bit for each row.
pub struct Bits {
    bytes: Values<u8>,
    rows: usize,
}

impl Bits {
    pub fn all(value: bool, rows: usize) -> Result<Bits, String> {
        Ok(Bits { bytes: Values::filled(if value { 0xff } else { 0 }, rows / 8 + 1)?, rows: 0 })
    }

    pub fn set(&mut self, row: usize, value: bool) {
        let byte = &mut self.bytes.as_mut_slice()[row / 8];
        *byte = *byte & !(1 << (row % 8)) | u8::from(value) << (row % 8);
    }

    pub fn as_ptr(&self) -> *const u8 {
        self.bytes.as_ptr()
    }
}

impl Value for bool {
    type Builder = Bits;
}

impl Builder<bool> for Bits {
    fn with_rows(rows: usize) -> Result<Self, String> {
        Bits::all(false, rows)
    }

    unsafe fn push(&mut self, value: bool) -> Result<(), String> {
        self.set(self.rows, value);
        self.rows += 1;
        Ok(())
    }

    unsafe fn push_nothing(&mut self) -> Result<(), String> {
        // SAFETY: promised.
        unsafe { self.push(false) }
    }

    fn buffers(&self) -> [Option<*const u8>; 2] {
        [Some(self.as_ptr()), None]
    }
}

/// Texts, or bytes.
pub struct Bytes {
    offsets: Values<i32>,
    bytes: Values<u8>,
}

impl<V: AsRef<[u8]>> Builder<V> for Bytes {
    fn with_rows(rows: usize) -> Result<Self, String> {
        let mut offsets = Values::with_capacity(rows + 1)?;
        // SAFETY: there is room for one more than rows.
        unsafe { offsets.push(0) };
        Ok(Bytes { offsets, bytes: Values::with_capacity(rows * 8)? })
    }

    unsafe fn push(&mut self, value: V) -> Result<(), String> {
        self.bytes.extend(value.as_ref())?;
        let end = i32::try_from(self.bytes.len()).map_err(|_| "the texts of a batch have more than 2 GiB")?;
        // SAFETY: promised.
        unsafe { self.offsets.push(end) };
        Ok(())
    }

    unsafe fn push_nothing(&mut self) -> Result<(), String> {
        // SAFETY: promised.
        unsafe { self.offsets.push(self.bytes.len() as i32) };
        Ok(())
    }

    fn buffers(&self) -> [Option<*const u8>; 2] {
        [Some(self.offsets.as_ptr()), Some(self.bytes.as_ptr())]
    }
}

macro_rules! value_of_bytes {
    ($($(in $life:lifetime:)? $type:ty;)*) => {$(
        impl$(<$life>)? Value for $type {
            type Builder = Bytes;
        }
    )*};
}

value_of_bytes! { String; Vec<u8>; in 'a: &'a str; in 'a: &'a [u8]; }

/// Makes `result` an array of these.
pub fn fill(result: &mut ArrowArray, rows: usize, validity: Option<&Bits>, others: [Option<*const u8>; 2]) -> Result<(), String> {
    let buffers: *mut *const u8 = allocate(3 * std::mem::size_of::<*const u8>()).cast();
    if buffers.is_null() {
        return Err("there is no memory for the result".into());
    }
    let all = [Some(validity.map_or(std::ptr::null(), Bits::as_ptr)), others[0], others[1]];
    let mut count = 0;
    for buffer in all.into_iter().flatten() {
        // SAFETY: there is room for three.
        unsafe { buffers.add(count).write(buffer) };
        count += 1;
    }
    result.length = rows as i64;
    result.null_count = if validity.is_some() { -1 } else { 0 };
    result.n_buffers = count as i64;
    result.buffers = buffers;
    Ok(())
}
