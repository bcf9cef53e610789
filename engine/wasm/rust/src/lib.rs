//! Functions of Quiver in Rust, for WebAssembly.
//!
//! ```
//! #[quiver::function]
//! fn area(w: f64, h: f64) -> f64 {
//!     w * h
//! }
//!
//! #[quiver::function]
//! fn initial(name: &str) -> Result<Option<String>, String> {
//!     Ok(name.chars().next().map(|first| first.to_uppercase().to_string()))
//! }
//! ```
//!
//! A **function of tables** returns rows:
//!
//! ```
//! #[quiver::table_function]
//! fn at_least(t: quiver::Table, least: f64) -> Result<Vec<(i64, Option<f64>)>, String> {
//!     let values = t.column::<f64>("x")?;
//!     Ok((0..).zip(values.iter()).filter(|(_, x)| x.map_or(false, |x| x >= least)).collect())
//! }
//! ```
//!
//! The crate that uses it is a `cdylib`, compiled with `cargo build --release --target wasm32-unknown-unknown`.
//!
//! **NULL**: a parameter of type `Option<T>` gets `None`. With others the function is not called for a row with NULL, and the result is NULL,
//! or no rows.
//! **Errors**: what `Err` holds is the error of the statement. A panic is one too, without its message.
//! The types of parameters are compared with those of `CREATE FUNCTION` at each call. That of the result has to be the declared one.

#![deny(unsafe_op_in_unsafe_fn)]

mod aggregate;
mod array;
mod memory;
mod returned;
mod table;
mod values;

pub use aggregate::Aggregate;
pub use array::{Argument, ArrowArray, ArrowSchema};
pub use quiver_macros::{function, table_function};
pub use returned::Returned;
pub use table::{Captures, ReturnedRows, Row, Table, TableColumn};
pub use values::Value;

#[doc(hidden)]
pub mod export {
    pub use crate::aggregate::{finish, merge, update};
    pub use crate::array::Arguments;
    pub use crate::returned::{call, results};
    pub use crate::table::table_results;
}

#[doc(hidden)]
#[macro_export]
macro_rules! __export_function {
    ($function:ident, $name:literal, $results:ident, $($parameter:ty),* $(,)?) => {
        const _: () = {
            #[export_name = $name]
            unsafe extern "C" fn exported(
                schema: *const $crate::ArrowSchema,
                arguments: *const $crate::ArrowArray,
                result: *mut $crate::ArrowArray,
            ) -> *const u8 {
                // SAFETY: the engine calls it with a batch and room for a result.
                unsafe {
                    $crate::export::call(|| {
                        // What a function gets cannot be kept longer than the call.
                        let call = ();
                        let mut arguments = $crate::export::Arguments::new(schema, arguments, &call);
                        let columns = ($(arguments.next::<$parameter>()?,)*);
                        let rows = arguments.finish()?;
                        $crate::__export_function!(@rows $results, $function, columns, rows, result, $($parameter),*)
                    })
                }
            }
        };
    };
    (@rows $results:ident, $function:ident, $columns:ident, $rows:ident, $result:ident, ) => {
        { let () = $columns; $crate::export::$results($rows, $result, |_| Some($function())) }
    };
    (@rows $results:ident, $function:ident, $columns:ident, $rows:ident, $result:ident, $a:ty) => {
        $crate::__export_function!(@call $results, $function, $columns, $rows, $result, (a: $a))
    };
    (@rows $results:ident, $function:ident, $columns:ident, $rows:ident, $result:ident, $a:ty, $b:ty) => {
        $crate::__export_function!(@call $results, $function, $columns, $rows, $result, (a: $a) (b: $b))
    };
    (@rows $results:ident, $function:ident, $columns:ident, $rows:ident, $result:ident, $a:ty, $b:ty, $c:ty) => {
        $crate::__export_function!(@call $results, $function, $columns, $rows, $result, (a: $a) (b: $b) (c: $c))
    };
    (@rows $results:ident, $function:ident, $columns:ident, $rows:ident, $result:ident, $a:ty, $b:ty, $c:ty, $d:ty) => {
        $crate::__export_function!(@call $results, $function, $columns, $rows, $result, (a: $a) (b: $b) (c: $c) (d: $d))
    };
    (@rows $results:ident, $function:ident, $columns:ident, $rows:ident, $result:ident, $a:ty, $b:ty, $c:ty, $d:ty, $e:ty) => {
        $crate::__export_function!(@call $results, $function, $columns, $rows, $result, (a: $a) (b: $b) (c: $c) (d: $d) (e: $e))
    };
    (@rows $results:ident, $function:ident, $columns:ident, $rows:ident, $result:ident, $a:ty, $b:ty, $c:ty, $d:ty, $e:ty, $f:ty) => {
        $crate::__export_function!(@call $results, $function, $columns, $rows, $result, (a: $a) (b: $b) (c: $c) (d: $d) (e: $e) (f: $f))
    };
    (@rows $($rest:tt)*) => {
        compile_error!("a function of Quiver has at most six parameters")
    };
    (@call $results:ident, $function:ident, $columns:ident, $rows:ident, $result:ident, $(($name:ident: $parameter:ty))+) => {{
        let ($($name,)+) = $columns;
        $crate::export::$results($rows, $result, |row| {
            Some($function($(<$parameter as $crate::Argument>::value(&$name, row)?),+))
        })
    }};
}
