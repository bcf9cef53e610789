//! What lists and searches show of objects beside what the store keeps for them, and functions on groups of them.

mod details;
mod levels;
mod tags_json;

pub use details::describe;
pub use levels::register as register_levels;
pub use tags_json::{tags_json, value_text};
