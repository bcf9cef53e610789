//! Substrait plans in both directions: runs plans of other engines, and writes our queries as plans that other engines read.
//!
//! This crate has no network and no storage: plans are bytes, and the engine has the tables.

mod consumer;
mod declared;
mod decode;
mod error;
mod format;
mod producer;
pub mod pushdown;
mod quirks;
mod refusal;
mod run;
mod types;
mod user_functions;
mod walk;

pub use consumer::{Parameter, logical_plan, parameters, tables};
pub use datafusion_substrait::substrait::proto;
pub use declared::OUR_FUNCTIONS;
pub use decode::{Limits, NEWEST_MINOR, PRODUCER, decode, encode, encode_with_uris, version};
pub use error::PlanError;
pub use format::{PlanFormat, UnknownFormat, parse, render};
pub use producer::produce;
pub use refusal::Refusal;
pub use run::{VERSION_MIN, describe, format_plan, from_sql, read, run, run_with, version_max};
pub use types::{ARROW_TYPES, OUR_TYPES, TypeAnchors, Unrepresentable, i64_literal, literal, named_struct, names_of, type_of};
