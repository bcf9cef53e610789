//! A parsed statement becomes a logical plan.

pub mod explain_error;
pub mod key_groups;
pub mod plan;
pub mod views;
pub mod volatile_names;
pub mod wildcards;
pub mod wrong_part;
