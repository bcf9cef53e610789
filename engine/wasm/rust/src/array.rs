//! Arguments: arrays in [Arrow's C data interface](https://arrow.apache.org/docs/format/CDataInterface.html), and their values in Rust.

use std::ffi::CStr;
use std::marker::PhantomData;
use std::os::raw::{c_char, c_void};

#[repr(C)]
pub struct ArrowSchema {
    format: *const c_char,
    name: *const c_char,
    metadata: *const c_char,
    flags: i64,
    n_children: i64,
    children: *const *const ArrowSchema,
    dictionary: *const ArrowSchema,
    release: *const c_void,
    private_data: *const c_void,
}

#[repr(C)]
pub struct ArrowArray {
    pub(crate) length: i64,
    pub(crate) null_count: i64,
    pub(crate) offset: i64,
    pub(crate) n_buffers: i64,
    pub(crate) n_children: i64,
    pub(crate) buffers: *const *const u8,
    pub(crate) children: *const *const ArrowArray,
    pub(crate) dictionary: *const ArrowArray,
    pub(crate) release: *const c_void,
    pub(crate) private_data: *const c_void,
}

/// An array of values that are `T` in Rust.
pub struct Column<'a, T> {
    validity: *const u8,
    /// Values, bits or offsets.
    values: *const u8,
    /// Those of texts.
    bytes: *const u8,
    of: PhantomData<(&'a ArrowArray, T)>,
}

impl<'a, T> Column<'a, T> {
    fn of(array: &'a ArrowArray) -> Column<'a, T> {
        // SAFETY: there are so many buffers.
        let buffer = |at: usize| if (at as i64) < array.n_buffers { unsafe { *array.buffers.add(at) } } else { std::ptr::null() };
        Column { validity: buffer(0), values: buffer(1), bytes: buffer(2), of: PhantomData }
    }

    #[inline(always)]
    fn is_valid(&self, row: usize) -> bool {
        // SAFETY: there is a bit for each row.
        self.validity.is_null() || unsafe { *self.validity.add(row / 8) } >> (row % 8) & 1 != 0
    }

    #[inline(always)]
    fn bytes(&self, row: usize) -> &'a [u8] {
        let offsets: *const i32 = self.values.cast();
        // SAFETY: there is one offset more than rows, and they lie within the bytes.
        unsafe {
            let (start, end) = (*offsets.add(row) as usize, *offsets.add(row + 1) as usize);
            match end - start {
                0 => &[],
                length => std::slice::from_raw_parts(self.bytes.add(start), length),
            }
        }
    }
}

/// A type of a parameter: `bool`, integers, `f32`, `f64`, `&str`, `&[u8]`, and `Option` of these. Dates are `i32` days, times and timestamps `i64` in
/// their unit.
pub trait Argument<'a>: Sized {
    /// The column's type in Rust.
    type Of;

    /// Whether it can hold the values of a type with this format of Arrow.
    fn fits(format: &str) -> bool;
    /// `None` if the function is not to be called.
    fn value(column: &Column<'a, Self::Of>, row: usize) -> Option<Self>;
}

macro_rules! plain_argument {
    ($($type:ty: $($format:literal)|+;)*) => {$(
        impl<'a> Argument<'a> for $type {
            type Of = $type;

            fn fits(format: &str) -> bool {
                [$($format),+].iter().any(|known| format == *known || known.len() > 1 && format.starts_with(known))
            }

            #[inline(always)]
            fn value(column: &Column<'a, $type>, row: usize) -> Option<$type> {
                // SAFETY: there is a value for each row.
                column.is_valid(row).then(|| unsafe { *column.values.cast::<$type>().add(row) })
            }
        }
    )*};
}

plain_argument! {
    i8: "c";
    u8: "C";
    i16: "s";
    u16: "S";
    i32: "i" | "tdD" | "tts" | "ttm";
    u32: "I";
    i64: "l" | "tss" | "tsm" | "tsu" | "tsn" | "ttu" | "ttn" | "tdm";
    u64: "L";
    f32: "f";
    f64: "g";
}

impl<'a> Argument<'a> for bool {
    type Of = bool;

    fn fits(format: &str) -> bool {
        format == "b"
    }

    #[inline(always)]
    fn value(column: &Column<'a, bool>, row: usize) -> Option<bool> {
        // SAFETY: there is a bit for each row.
        column.is_valid(row).then(|| unsafe { *column.values.add(row / 8) } >> (row % 8) & 1 != 0)
    }
}

impl<'a> Argument<'a> for &'a str {
    type Of = &'a str;

    fn fits(format: &str) -> bool {
        format == "u"
    }

    #[inline(always)]
    fn value(column: &Column<'a, &'a str>, row: usize) -> Option<&'a str> {
        // SAFETY: texts of the engine are UTF-8.
        column.is_valid(row).then(|| unsafe { std::str::from_utf8_unchecked(column.bytes(row)) })
    }
}

impl<'a> Argument<'a> for &'a [u8] {
    type Of = &'a [u8];

    fn fits(format: &str) -> bool {
        format == "z"
    }

    #[inline(always)]
    fn value(column: &Column<'a, &'a [u8]>, row: usize) -> Option<&'a [u8]> {
        column.is_valid(row).then(|| column.bytes(row))
    }
}

impl<'a, T: Argument<'a>> Argument<'a> for Option<T> {
    type Of = T::Of;

    fn fits(format: &str) -> bool {
        T::fits(format)
    }

    #[inline(always)]
    fn value(column: &Column<'a, T::Of>, row: usize) -> Option<Option<T>> {
        Some(T::value(column, row))
    }
}

/// The columns of a batch, one after the other.
pub struct Arguments<'a> {
    schema: &'a ArrowSchema,
    array: &'a ArrowArray,
    next: usize,
}

impl<'a> Arguments<'a> {
    /// # Safety
    /// Both describe the same struct array of the C data interface, with offsets of 0, and live for `'a`.
    pub unsafe fn new(schema: *const ArrowSchema, array: *const ArrowArray) -> Arguments<'a> {
        // SAFETY: promised.
        unsafe { Arguments { schema: &*schema, array: &*array, next: 0 } }
    }

    pub fn next<T: Argument<'a>>(&mut self) -> Result<Column<'a, T::Of>, String> {
        let at = self.next;
        if at as i64 >= self.array.n_children {
            return Err(format!("the function in Rust has more than {} parameters", at));
        }
        self.next += 1;
        // SAFETY: there are so many children.
        let (schema, array) = unsafe { (&**self.schema.children.add(at), &**self.array.children.add(at)) };
        // SAFETY: a schema has a format.
        let format = unsafe { CStr::from_ptr(schema.format) }.to_string_lossy();
        match T::fits(&format) && schema.dictionary.is_null() {
            true => Ok(Column::of(array)),
            false => {
                let rust = std::any::type_name::<T>();
                Err(format!("parameter {} is {} in Rust, which is not the declared type (Arrow's \"{}\")", at + 1, rust, format))
            }
        }
    }

    /// The number of rows; an error if there are more columns.
    pub fn finish(self) -> Result<usize, String> {
        match self.next as i64 == self.array.n_children {
            true => Ok(self.array.length as usize),
            false => Err(format!("the function in Rust has {} parameters, and is given {}", self.next, self.array.n_children)),
        }
    }
}
