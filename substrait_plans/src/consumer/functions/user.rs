//! Functions of users, which plans of our own engines name by their hashes.

use std::collections::HashMap;

use engine::{PlanContext, PlanFunction};

use crate::declared::{Declared, Origin};
use crate::error::PlanError;
use crate::proto::Plan;
use crate::user_functions::{FUNCTIONS_MAX, SentFunctions, hash_of, name_of};

/// By the anchors of their declarations.
pub type UserFunctions = HashMap<u32, PlanFunction>;

/// The functions of users that the plan declares, without those that are not known here.
pub async fn find_user_functions(plan: &Plan, declared: &Declared, context: &PlanContext) -> Result<UserFunctions, PlanError> {
    let mut sent = SentFunctions::of(plan)?;
    let users: Vec<_> = declared.functions.iter().filter(|(_, name)| name.origin() == Origin::User).collect();
    if users.len() > FUNCTIONS_MAX {
        return Err(PlanError::TooMany { what: "functions of users", limit: FUNCTIONS_MAX });
    }
    let mut found = UserFunctions::new();
    for (anchor, name) in users {
        let hash = hash_of(name);
        if let Some(function) = context.function(name_of(name), hash, sent.take(hash)).await? {
            found.insert(*anchor, function);
        }
    }
    match sent.is_empty() {
        true => Ok(found),
        false => Err(PlanError::invalid("a definition of a function that the plan does not declare", "advanced_extensions")),
    }
}
