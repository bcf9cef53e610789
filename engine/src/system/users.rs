//! `system.users` and `system.roles`: who can log in, and the roles that can be granted.

use std::sync::Arc;

use arrow::array::RecordBatch;
use datafusion::common::Result;
use pmem_store::{Access, PrincipalRecord};

use super::build::{REQUIRED, batch, booleans, instants, lists, texts};
use super::source::Source;

/// Admins see everybody, other users see themselves and their roles.
fn principals(source: Option<&Source<'_>>, is_user: bool) -> Vec<Arc<PrincipalRecord>> {
    let Some(source) = source else { return Vec::new() };
    let access = source.engine.store.access();
    let is_known = |record: &&Arc<PrincipalRecord>| record.is_user() == is_user && source.knows(&record.name);
    access.principals().filter(is_known).cloned().collect()
}

pub fn users(source: Option<&Source<'_>>) -> Result<RecordBatch> {
    let users = principals(source, true);
    let roles: Vec<Vec<String>> = users.iter().map(|user| user.member_of.iter().cloned().collect()).collect();
    batch(vec![
        ("user_name", texts(users.iter().map(|user| Some(&user.name))), REQUIRED),
        ("is_admin", booleans(users.iter().map(|user| Some(user.is_admin))), REQUIRED),
        ("roles", lists(roles.iter().map(Vec::as_slice)), REQUIRED),
        ("created_at", instants(users.iter().map(|user| Some(user.created_at_ms))), REQUIRED),
    ])
}

pub fn roles(source: Option<&Source<'_>>) -> Result<RecordBatch> {
    let roles = principals(source, false);
    let access = source.map(|source| source.engine.store.access()).unwrap_or_default();
    let memberships: Vec<Vec<String>> = roles.iter().map(|role| role.member_of.iter().cloned().collect()).collect();
    let members: Vec<Vec<String>> = roles.iter().map(|role| members_of(source, &access, &role.name)).collect();
    batch(vec![
        ("role_name", texts(roles.iter().map(|role| Some(&role.name))), REQUIRED),
        ("roles", lists(memberships.iter().map(Vec::as_slice)), REQUIRED),
        ("members", lists(members.iter().map(Vec::as_slice)), REQUIRED),
        ("created_at", instants(roles.iter().map(|role| Some(role.created_at_ms))), REQUIRED),
    ])
}

fn members_of(source: Option<&Source<'_>>, access: &Access, role: &str) -> Vec<String> {
    let is_known = |name: &str| source.is_some_and(|source| source.knows(name));
    let members = access.principals().filter(|record| record.member_of.contains(role) && is_known(&record.name));
    members.map(|record| record.name.clone()).collect()
}
