//! Functions that other systems have under other names, or that a short expression computes: a call becomes that expression. So they are
//! planned, pruned by and sent to other nodes as if the user had written it.
//!
//! [`definitions`] has them, [`definition`] finds the one for a call, and [`expand`] puts it in the place of the call.

mod definition;
mod definitions;
mod expand;

pub use definition::{DefinedFunction, defined_functions, defined_names, is_defined};
pub use expand::{expand, name_defined_item};
