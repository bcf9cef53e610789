//! Which versions of Substrait are read.
//!
//! Substrait is at 0.x: a minor version may change what a field means, or add one. Fields that are not known would be dropped
//! without a word when a plan is decoded. So:
//!
//! - up to the version that the messages here are generated from, every plan is read;
//! - up to [`NEWEST_MINOR`], of which there are plans among the fixtures, a plan is read if it uses no field that is not known here;
//! - what is newer is refused, and the sentence names both versions.

use datafusion_substrait::substrait::version::{SUBSTRAIT_MAJOR_VERSION, SUBSTRAIT_MINOR_VERSION, version_with_producer};
use prost::Message;

use crate::error::PlanError;
use crate::proto::{Plan, Version};

/// The newest minor version that is read. Isthmus writes it.
pub const NEWEST_MINOR: u32 = 87;

/// How plans of ours name their producer.
pub const PRODUCER: &str = "quiver";

/// The version of plans that are written here.
pub fn version() -> Version {
    version_with_producer(PRODUCER)
}

/// `bytes` are those that the plan was decoded from.
pub fn check(plan: &Plan, bytes: &[u8]) -> Result<(), PlanError> {
    // Before 0.17 there was no version in a plan.
    let Some(version) = &plan.version else { return Ok(()) };
    let found = (version.major_number, version.minor_number);
    let why = if found <= (SUBSTRAIT_MAJOR_VERSION, SUBSTRAIT_MINOR_VERSION) {
        return Ok(());
    } else if found > (SUBSTRAIT_MAJOR_VERSION, NEWEST_MINOR) {
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

/// It may be anything: what is shown of it is short.
fn producer(name: &str) -> String {
    let shown: String = name.chars().filter(|letter| !letter.is_control()).take(40).collect();
    if shown.is_empty() { shown } else { format!(" by {shown}") }
}
