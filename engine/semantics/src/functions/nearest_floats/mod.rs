//! CAST of decimals to DOUBLE and REAL: constants are converted, and a function replaces the other casts.
//!
//! `1.5` is a decimal, so a DOUBLE that is written with all its digits is converted here. It must become the same DOUBLE.
//!
//! - [`convert`] — arrays and values; [`function`] does the same as a function
//! - [`casts`] — the rewrite of one cast, and [`rule`] finds the casts in plans

pub mod casts;
pub mod convert;
pub mod function;
pub mod rule;

pub use convert::{cast_nearest, converted, nearest_f32, nearest_f64, scalar_nearest, with_floats};
pub use function::{cast_operand, is_nearest_floats, nearest_of};
pub use rule::{NearestFloatsOfSubqueries, with_nearest_floats};
