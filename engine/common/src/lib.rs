//! What every other crate of the engine uses: errors, types, names, settings, memory, reports.
//!
//! It knows the errors of the store and of DataFusion, but not tables, sessions or statements.

pub mod cancellable_rules;
pub mod clock;
pub mod count;
pub mod engine_settings;
pub mod error;
pub mod file_directories;
pub mod file_format;
pub mod interval_text;
pub mod masked_values;
pub mod memory;
pub mod messages;
pub mod names;
pub mod privilege;
pub mod report;
pub mod sizes;
pub mod stack;
pub mod tensor_shape;
pub mod tensors;
pub mod trace;
pub mod type_names;
pub mod types;
pub mod user_functions;
