//! Decodes bytes to a plan, and encodes plans. Plans are not trusted: size, depth and count are bounded before they are decoded.
//!
//! - `wire.rs` counts the fields of a message without knowing its types
//! - `version.rs` checks the version of Substrait
//! - `uris.rs` reads and writes the URIs that named extensions before there were URNs

mod uris;
mod version;
mod wire;

use prost::Message;

use crate::error::PlanError;
use crate::proto::{Plan, plan_rel};

pub use version::{NEWEST_MINOR, PRODUCER, version};

/// The limits of a plan. A typical plan has some thousand fields and about thirty levels of messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    pub size_bytes: usize,
    /// The depth of nested messages. More than 100 are never decoded.
    pub depth: usize,
    /// The fields of all messages together. One may take 250 bytes of memory.
    pub nodes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { size_bytes: 16 << 20, depth: wire::DEPTH_MAX, nodes: 500_000 }
    }
}

/// Decodes a plan of a supported version with one root.
pub fn decode(bytes: &[u8], limits: &Limits) -> Result<Plan, PlanError> {
    if bytes.len() > limits.size_bytes {
        return Err(PlanError::TooLarge { size_bytes: bytes.len(), limit_bytes: limits.size_bytes });
    }
    wire::check(bytes, limits)?;
    let mut plan = Plan::decode(bytes).map_err(|error| malformed(&error, limits))?;
    version::check(&plan, bytes)?;
    uris::take(bytes, &mut plan);
    check_root(&plan)?;
    Ok(plan)
}

/// The plan in its shortest encoding.
pub fn encode(plan: &Plan) -> Vec<u8> {
    plan.encode_to_vec()
}

/// The same with additional URIs for standard extensions, for readers that do not know URNs.
pub fn encode_with_uris(plan: &Plan) -> Vec<u8> {
    uris::encode(plan)
}

fn malformed(error: &prost::DecodeError, limits: &Limits) -> PlanError {
    let text = error.to_string();
    match text.contains("recursion limit") {
        true => PlanError::TooDeep { limit: limits.depth },
        false => PlanError::Malformed { what: text },
    }
}

/// Several trees would be several queries, or parts that refer to each other.
fn check_root(plan: &Plan) -> Result<(), PlanError> {
    match plan.relations.as_slice() {
        [] => Err(PlanError::missing("a root", "relations")),
        [relation] => match &relation.rel_type {
            Some(plan_rel::RelType::Root(root)) if root.input.is_some() => Ok(()),
            Some(plan_rel::RelType::Root(_)) => Err(PlanError::missing("the input", "relations[0].root")),
            Some(plan_rel::RelType::Rel(_)) => Err(PlanError::missing("a root with the names of the columns", "relations[0]")),
            None => Err(PlanError::missing("a root", "relations[0]")),
        },
        several => Err(PlanError::unsupported(format!("a plan of {} relations, where one is run,", several.len()), "relations")),
    }
}
