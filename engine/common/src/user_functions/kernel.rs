//! The code of a function beside what DataFusion compares of it.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::portable::PortableFunction;

/// Equal to another one if both have the same identity: code itself cannot be compared.
pub struct Kernel<K: ?Sized> {
    identity: String,
    /// For engines of other nodes.
    pub portable: Option<Arc<PortableFunction>>,
    pub code: Box<K>,
}

impl<K: ?Sized> Kernel<K> {
    pub fn new(identity: String, code: Box<K>) -> Kernel<K> {
        Kernel { identity, portable: None, code }
    }
}

impl<K: ?Sized> fmt::Debug for Kernel<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kernel").finish_non_exhaustive()
    }
}

impl<K: ?Sized> PartialEq for Kernel<K> {
    fn eq(&self, other: &Kernel<K>) -> bool {
        self.identity == other.identity
    }
}

impl<K: ?Sized> Eq for Kernel<K> {}

impl<K: ?Sized> Hash for Kernel<K> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity.hash(state);
    }
}
