//! What lists and searches show of objects beside what the store keeps for them.

mod details;
mod tags_json;

pub use details::describe;
pub use tags_json::{tags_json, value_text};
