//! The statements about arrays, and slices in brackets. The parser knows neither:
//!
//! ```text
//! CREATE [OR REPLACE] ARRAY [IF NOT EXISTS] a (x 4096 [UNIT 'm'], z UNLIMITED, …) OF type [CHUNK (64, …)] [FILL n]
//!     [WITH (tier = 'disk', …)] [WITH TAGS (k = v, …)]
//! UPDATE ARRAY a SET REGION [0:64, 10, ...] = …
//! ALTER ARRAY a RENAME TO b;  ALTER ARRAY a SET (read_only = true|false)
//! DROP ARRAY [IF EXISTS] a
//! SELECT … FROM region('a', [0:64, 10, ...])
//! ```

mod parse;
mod region_calls;
mod slices;
mod statement;

pub use parse::parse_arrays;
pub use region_calls::select_region;
pub use slices::quote_slices;
pub use statement::{ArrayChange, ArrayStatement, NewArray, NewArrayDimension};
