//! PostgreSQL's patterns for `to_char`, `to_date` and `to_timestamp`: `YYYY-MM-DD HH24:MI:SS.MS`. A pattern with % is passed to
//! DataFusion, which uses chrono.
//!
//! - [`items`] — parses a pattern into fields
//! - [`civil`] — days and seconds as year, month, hour
//! - [`read`] and [`write`] — texts to times and back

mod civil;
mod items;
mod read;
mod write;

pub use civil::{Civil, days_of};
pub use items::{Item, items};
pub use read::read;
pub use write::write;
