//! The functions of plans of other nodes.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;

use common::user_functions::PortableFunction;

/// Functions that came with plans, for later plans that have their hashes alone. Those of one user are no other's.
#[derive(Default)]
pub struct PlanFunctions(Mutex<HashMap<(Option<String>, String), Arc<PortableFunction>>>);

/// Of all functions together.
const CACHE_BYTES_MAX: usize = 64 << 20;
/// What an entry takes beside the definition.
const ENTRY_BYTES: usize = 512;
/// Of one function.
pub(super) const PLAN_FUNCTIONS_SIZE_MAX: usize = 4 << 20;

impl PlanFunctions {
    pub(super) fn get(&self, user: &Option<String>, hash: &str) -> Option<Arc<PortableFunction>> {
        self.0.lock().get(&(user.clone(), hash.to_string())).cloned()
    }

    pub(super) fn put(&self, user: Option<String>, function: Arc<PortableFunction>) {
        let mut functions = self.0.lock();
        let size = |function: &PortableFunction| function.size_bytes() + ENTRY_BYTES;
        if functions.values().map(|function| size(function)).sum::<usize>() + size(&function) > CACHE_BYTES_MAX {
            functions.clear();
        }
        functions.insert((user, function.hash.clone()), function);
    }
}

impl fmt::Debug for PlanFunctions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PlanFunctions").finish_non_exhaustive()
    }
}
