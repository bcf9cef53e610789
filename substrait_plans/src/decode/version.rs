//! Which versions of Substrait are supported.
//!
//! Substrait is at 0.x: a minor version may change the meaning of a field, or add one. Decoding would silently drop unknown fields. So:
//!
//! - up to the version that the messages here are generated from, every plan is read;
//! - up to [`NEWEST_MINOR`], the newest version in the fixtures, a plan is read if it uses no unknown field;
//! - newer plans are refused, and the message names both versions.

use datafusion_substrait::substrait::version::{SUBSTRAIT_MAJOR_VERSION, SUBSTRAIT_MINOR_VERSION, version_with_producer};
use prost::Message;

use crate::error::PlanError;
use crate::proto::{Plan, Version};

/// The newest supported minor version, which Isthmus writes.
pub const NEWEST_MINOR: u32 = 87;

/// The producer in our plans.
pub const PRODUCER: &str = "quiver";

/// The version of our plans.
pub fn version() -> Version {
    version_with_producer(PRODUCER)
}

/// `bytes` are those that the plan was decoded from.
pub fn check(plan: &Plan, bytes: &[u8]) -> Result<(), PlanError> {
    // Plans before 0.17 have no version.
    let Some(version) = &plan.version else { return Ok(()) };
    let version_pair = (version.major_number, version.minor_number);
    let why = if version_pair <= (SUBSTRAIT_MAJOR_VERSION, SUBSTRAIT_MINOR_VERSION) {
        return Ok(());
    } else if version_pair > (SUBSTRAIT_MAJOR_VERSION, NEWEST_MINOR) {
        ""
    } else if plan.encoded_len() != bytes.len() {
        " where they use nothing new, and this plan does"
    } else {
        return Ok(());
    };
    Err(PlanError::NewerVersion {
        found: format!("{}.{}.{}", version.major_number, version.minor_number, version.patch_number),
        producer: producer(&version.producer),
        newest: format!("{SUBSTRAIT_MAJOR_VERSION}.{NEWEST_MINOR}"),
        why,
    })
}

/// A producer name may be anything, so only a short part of it is shown.
fn producer(name: &str) -> String {
    let shown: String = name.chars().filter(|letter| !letter.is_control()).take(40).collect();
    if shown.is_empty() { shown } else { format!(" by {shown}") }
}
