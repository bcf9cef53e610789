//! Functions of tables: rows that they get, and rows that they return.

use std::fmt::Display;
use std::marker::PhantomData;
use std::mem::size_of;
use std::ops::Range;
use std::ptr;

use crate::array::{column, Argument, ArrowArray, ArrowSchema, Column};
use crate::memory::Values;
use crate::returned::{results, Returned};

/// A parameter of type `TABLE`, or a list of structs.
#[derive(Clone, Copy)]
pub struct Table<'a> {
    schema: &'a ArrowSchema,
    array: &'a ArrowArray,
    start: usize,
    rows: usize,
}

impl<'a> Table<'a> {
    pub(crate) fn new(schema: &'a ArrowSchema, array: &'a ArrowArray, range: Range<usize>) -> Table<'a> {
        Table { schema, array, start: range.start, rows: range.len() }
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    /// A column by its name. `T` is a type of a parameter.
    ///
    /// # Errors
    /// There is no such column, or it has another type.
    pub fn column<T: Argument<'a>>(&self, name: &str) -> Result<TableColumn<'a, T>, String> {
        if !self.schema.is_struct() {
            return Err("a list of other values than structs is no table".into());
        }
        let at = match self.schema.names().position(|known| known.to_bytes() == name.as_bytes()) {
            Some(at) => at,
            None => {
                let names: Vec<_> = self.schema.names().map(|known| known.to_string_lossy()).collect();
                return Err(format!("the table has no column \"{}\", but {}", name, names.join(", ")));
            }
        };
        let values =
            column::<T>(self.schema.child(at), self.array.child(at)).map_err(|refused| format!("column \"{}\" {}", name, refused))?;
        Ok(TableColumn { structs: Column::of(self.schema, self.array), values, start: self.start, rows: self.rows, of: PhantomData })
    }
}

impl<'a> Argument<'a> for Table<'a> {
    type Of = Table<'a>;

    fn fits(format: &str) -> bool {
        format == "+l"
    }

    #[inline(always)]
    fn value(column: &Column<'a, Table<'a>>, row: usize) -> Option<Table<'a>> {
        column.is_valid(row).then(|| Table::new(column.schema.child(0), column.array.child(0), column.range(row)))
    }
}

/// A column of a [`Table`].
pub struct TableColumn<'a, T: Argument<'a>> {
    /// The rows. A list may have NULL for one, and then its values mean nothing.
    structs: Column<'a, ()>,
    values: Column<'a, T::Of>,
    start: usize,
    rows: usize,
    of: PhantomData<T>,
}

impl<'a, T: Argument<'a>> TableColumn<'a, T> {
    /// The value of a row; `None` is NULL. Panics if there are not so many rows.
    #[inline(always)]
    pub fn get(&self, row: usize) -> Option<T> {
        assert!(row < self.rows, "the table has {} rows", self.rows);
        self.value(self.start + row)
    }

    #[inline(always)]
    fn value(&self, row: usize) -> Option<T> {
        if self.structs.is_valid(row) {
            T::value(&self.values, row)
        } else {
            None
        }
    }

    /// The values of all rows; `None` is NULL.
    pub fn iter<'s>(&'s self) -> impl Iterator<Item = Option<T>> + Captures<'a> + 's {
        (self.start..self.start + self.rows).map(move |row| self.value(row))
    }
}

/// Says that a type has this lifetime in it. Rust before 1.82 wants to be told.
pub trait Captures<'a> {}

impl<T: ?Sized> Captures<'_> for T {}

/// A row of a result: a tuple with a value for each column. `(T,)` is a row with one.
pub trait Row: Sized {
    /// Makes `result` a table of these.
    ///
    /// # Safety
    /// `result` may be written.
    unsafe fn fill(rows: Vec<Self>, result: *mut ArrowArray) -> Result<(), String>;
}

macro_rules! rows_of {
    ($columns:literal: $($name:ident $at:tt),+) => {
        impl<$($name: Returned),+> Row for ($($name,)+) {
            unsafe fn fill(rows: Vec<Self>, result: *mut ArrowArray) -> Result<(), String> {
                let length = rows.len();
                let mut columns: ($(Vec<$name>,)+) = ($(Vec::<$name>::with_capacity(length),)+);
                for row in rows {
                    $(columns.$at.push(row.$at);)+
                }
                // SAFETY: promised.
                let arrays = unsafe { struct_of(length, $columns, result)? };
                $(
                    let mut values = columns.$at.into_iter();
                    // SAFETY: there are so many arrays.
                    unsafe { results(length, arrays.add($at), |_| values.next())? };
                )+
                Ok(())
            }
        }
    };
}

rows_of! { 1: A 0 }
rows_of! { 2: A 0, B 1 }
rows_of! { 3: A 0, B 1, C 2 }
rows_of! { 4: A 0, B 1, C 2, D 3 }
rows_of! { 5: A 0, B 1, C 2, D 3, E 4 }
rows_of! { 6: A 0, B 1, C 2, D 3, E 4, F 5 }
rows_of! { 7: A 0, B 1, C 2, D 3, E 4, F 5, G 6 }
rows_of! { 8: A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7 }

/// Makes `result` a struct array without NULL, and returns its children, which are to be filled.
///
/// # Safety
/// `result` may be written.
unsafe fn struct_of(rows: usize, columns: usize, result: *mut ArrowArray) -> Result<*mut ArrowArray, String> {
    let buffers = Values::<*const u8>::filled(ptr::null(), 1)?;
    // The engine reads no pointers of an array that is not filled, and those of zeros are null.
    let arrays = Values::<u8>::filled(0, columns * size_of::<ArrowArray>())?.as_ptr() as *mut ArrowArray;
    let mut children = Values::<*const ArrowArray>::with_capacity(columns)?;
    for at in 0..columns {
        // SAFETY: there are so many arrays, and there is room for as many pointers.
        unsafe { children.push(arrays.add(at)) };
    }
    // SAFETY: promised.
    let result = unsafe { &mut *result };
    result.length = rows as i64;
    result.n_buffers = 1;
    result.buffers = buffers.as_ptr().cast();
    result.n_children = columns as i64;
    result.children = children.as_ptr().cast();
    Ok(arrays)
}

/// A result of a function of tables: rows, or a `Result` of them.
pub trait ReturnedRows {
    type Row: Row;

    fn rows(self) -> Result<Vec<Self::Row>, String>;
}

impl<R: Row> ReturnedRows for Vec<R> {
    type Row = R;

    fn rows(self) -> Result<Vec<R>, String> {
        Ok(self)
    }
}

impl<R: ReturnedRows, E: Display> ReturnedRows for Result<R, E> {
    type Row = R::Row;

    fn rows(self) -> Result<Vec<R::Row>, String> {
        self.map_err(|error| error.to_string())?.rows()
    }
}

/// Fills `result` with the rows that `function` returns for the only row of its arguments; with none where that is `None`.
///
/// # Safety
/// `result` may be written.
pub unsafe fn table_results<R: ReturnedRows>(
    rows: usize,
    result: *mut ArrowArray,
    function: impl Fn(usize) -> Option<R>,
) -> Result<(), String> {
    if rows != 1 {
        return Err(format!("a function of tables is called with {} rows", rows));
    }
    let rows = function(0).map_or_else(|| Ok(Vec::new()), ReturnedRows::rows)?;
    // SAFETY: promised.
    unsafe { R::Row::fill(rows, result) }
}
