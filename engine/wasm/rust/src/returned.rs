//! What a function returns, and what the engine gets.

use std::fmt::Display;

use crate::array::ArrowArray;
use crate::memory::allocate;
use crate::values::{fill, Bits, Builder, Value};

/// A result of a function: a [`Value`], an `Option` of one, or a `Result` of these.
pub trait Returned {
    type Value: Value;

    /// `None` is NULL.
    fn value(self) -> Result<Option<Self::Value>, String>;
}

macro_rules! returned {
    ($($(in $life:lifetime:)? $type:ty;)*) => {$(
        impl$(<$life>)? Returned for $type {
            type Value = $type;

            #[inline(always)]
            fn value(self) -> Result<Option<$type>, String> {
                Ok(Some(self))
            }
        }
    )*};
}

returned! { bool; i8; u8; i16; u16; i32; u32; i64; u64; f32; f64; String; Vec<u8>; in 'a: &'a str; in 'a: &'a [u8]; }

impl<V: Value> Returned for Option<V> {
    type Value = V;

    #[inline(always)]
    fn value(self) -> Result<Option<V>, String> {
        Ok(self)
    }
}

impl<R: Returned, E: Display> Returned for Result<R, E> {
    type Value = R::Value;

    #[inline(always)]
    fn value(self) -> Result<Option<R::Value>, String> {
        match self {
            Ok(returned) => returned.value(),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Fills `result` with what `function` returns for each row; NULL where that is `None`.
///
/// # Safety
/// `result` may be written.
#[inline(always)]
pub unsafe fn results<R: Returned>(
    rows: usize,
    result: *mut ArrowArray,
    mut function: impl FnMut(usize) -> Option<R>,
) -> Result<(), String> {
    let mut builder = <R::Value as Value>::Builder::with_rows(rows)?;
    let mut validity: Option<Bits> = None;
    for row in 0..rows {
        let value = match function(row) {
            Some(returned) => returned.value()?,
            None => None,
        };
        match value {
            // SAFETY: there is room for a value for each row.
            Some(value) => unsafe { builder.push(value)? },
            None => {
                if validity.is_none() {
                    validity = Some(Bits::all(true, rows)?);
                }
                validity.as_mut().unwrap().set(row, false);
                // SAFETY: the same.
                unsafe { builder.push_nothing()? };
            }
        }
    }
    // SAFETY: promised.
    fill(unsafe { &mut *result }, rows, validity.as_ref(), builder.buffers())
}

/// Null, or the message of an error as a text of C.
pub fn call(work: impl FnOnce() -> Result<(), String>) -> *const u8 {
    let message = match work() {
        Ok(()) => return std::ptr::null(),
        Err(message) => message.replace('\0', " "),
    };
    let start = allocate(message.len() + 1);
    if start.is_null() {
        return b"there is no memory\0".as_ptr();
    }
    // SAFETY: there is room for the text and a zero.
    unsafe {
        std::ptr::copy_nonoverlapping(message.as_ptr(), start, message.len());
        start.add(message.len()).write(0);
    }
    start
}
