//! Arguments: arrays in [Arrow's C data interface](https://arrow.apache.org/docs/format/CDataInterface.html), and their values in Rust.

use std::borrow::Cow;
use std::ffi::CStr;
use std::marker::PhantomData;
use std::ops::Range;
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

impl ArrowSchema {
    fn format(&self) -> Cow<'_, str> {
        // SAFETY: a schema has a format.
        unsafe { CStr::from_ptr(self.format) }.to_string_lossy()
    }

    pub(crate) fn is_struct(&self) -> bool {
        self.format() == "+s"
    }

    /// Of the children of a struct.
    pub(crate) fn names(&self) -> impl Iterator<Item = &CStr> {
        // SAFETY: a field of a struct has a name.
        (0..self.n_children as usize).map(move |at| unsafe { CStr::from_ptr(self.child(at).name) })
    }

    pub(crate) fn child(&self, at: usize) -> &ArrowSchema {
        assert!((at as i64) < self.n_children);
        // SAFETY: there are so many children.
        unsafe { &**self.children.add(at) }
    }
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

impl ArrowArray {
    pub(crate) fn child(&self, at: usize) -> &ArrowArray {
        assert!((at as i64) < self.n_children);
        // SAFETY: there are so many children.
        unsafe { &**self.children.add(at) }
    }
}

/// An array of values that are `T` in Rust.
pub struct Column<'a, T> {
    validity: *const u8,
    /// Values, bits or offsets.
    values: *const u8,
    /// Those of texts.
    bytes: *const u8,
    pub(crate) schema: &'a ArrowSchema,
    pub(crate) array: &'a ArrowArray,
    of: PhantomData<T>,
}

impl<'a, T> Column<'a, T> {
    pub(crate) fn of(schema: &'a ArrowSchema, array: &'a ArrowArray) -> Column<'a, T> {
        // SAFETY: there are so many buffers.
        let buffer = |at: usize| if (at as i64) < array.n_buffers { unsafe { *array.buffers.add(at) } } else { std::ptr::null() };
        Column { validity: buffer(0), values: buffer(1), bytes: buffer(2), schema, array, of: PhantomData }
    }

    #[inline(always)]
    pub(crate) fn is_valid(&self, row: usize) -> bool {
        // SAFETY: there is a bit for each row.
        self.validity.is_null() || unsafe { *self.validity.add(row / 8) } >> (row % 8) & 1 != 0
    }

    /// Where the value of a row lies, in bytes or in the items of a list.
    #[inline(always)]
    pub(crate) fn range(&self, row: usize) -> Range<usize> {
        let offsets: *const i32 = self.values.cast();
        // SAFETY: there is one offset more than rows.
        unsafe { *offsets.add(row) as usize..*offsets.add(row + 1) as usize }
    }

    #[inline(always)]
    fn bytes(&self, row: usize) -> &'a [u8] {
        let range = self.range(row);
        match range.len() {
            0 => &[],
            // SAFETY: offsets lie within the bytes.
            length => unsafe { std::slice::from_raw_parts(self.bytes.add(range.start), length) },
        }
    }
}

/// A type of a parameter: `bool`, integers, `f32`, `f64`, `&str`, `&[u8]`, `Option` of these, and [`Table`](crate::Table). Dates are `i32` days,
/// times and timestamps `i64` in their unit.
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

/// An error, without its subject, if the array has another type.
pub(crate) fn column<'a, T: Argument<'a>>(schema: &'a ArrowSchema, array: &'a ArrowArray) -> Result<Column<'a, T::Of>, String> {
    let format = schema.format();
    match T::fits(&format) && schema.dictionary.is_null() {
        true => Ok(Column::of(schema, array)),
        false => Err(format!("is {} in Rust, which is not the declared type (Arrow's \"{}\")", std::any::type_name::<T>(), format)),
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
    /// Both describe the same struct array of the C data interface, with offsets of 0, and live as long as `_call`.
    pub unsafe fn new(schema: *const ArrowSchema, array: *const ArrowArray, _call: &'a ()) -> Arguments<'a> {
        // SAFETY: promised.
        unsafe { Arguments { schema: &*schema, array: &*array, next: 0 } }
    }

    pub fn next<T: Argument<'a>>(&mut self) -> Result<Column<'a, T::Of>, String> {
        let at = self.next;
        if at as i64 >= self.array.n_children {
            return Err(format!("the function in Rust has more than {} parameters", at));
        }
        self.next += 1;
        let (schema, array) = (self.schema.child(at), self.array.child(at));
        column::<T>(schema, array).map_err(|refused| format!("parameter {} {}", at + 1, refused))
    }

    /// The number of rows; an error if there are more columns.
    pub fn finish(self) -> Result<usize, String> {
        match self.next as i64 == self.array.n_children {
            true => Ok(self.array.length as usize),
            false => Err(format!("the function in Rust has {} parameters, and is given {}", self.next, self.array.n_children)),
        }
    }
}
