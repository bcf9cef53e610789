//! CAST of decimals to DOUBLE and REAL, as constants and as a function in its place.
//!
//! `1.5` is a decimal, so that a DOUBLE that is written with all its digits comes through here; it must be the same DOUBLE.
//!
//! - [`convert`] — arrays and values; [`function`] the same as a function
//! - [`casts`] — the expressions that are changed, and [`rule`] where in plans they are; those that readers of files make are in `optimizer/nearest_floats_of_files.rs`

pub mod casts;
pub mod convert;
pub mod function;
pub mod rule;

pub use convert::{cast_nearest, converted, nearest_f32, nearest_f64, scalar_nearest, with_floats};
pub use function::{cast_operand, is_nearest_floats, nearest_of};
pub use rule::{NearestFloatsOfSubqueries, with_nearest_floats};
