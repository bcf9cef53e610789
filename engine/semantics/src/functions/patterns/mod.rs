//! PostgreSQL's patterns of `to_char`, `to_date` and `to_timestamp`: `YYYY-MM-DD HH24:MI:SS.MS`. A pattern with % is DataFusion's, of chrono.
//!
//! - [`items`] — what a pattern says, field by field
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
