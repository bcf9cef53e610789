//! Counts the objects that clients hold, and drops those that were abandoned.

use std::cell::RefCell;
use std::collections::HashMap;

use super::Service;
use crate::auth::Principal;

/// The number of objects that clients hold.
pub struct Counts {
    pub sessions: usize,
    pub transactions: usize,
    pub prepared_statements: usize,
    pub results_waiting: usize,
    pub results_running: usize,
    pub leases: usize,
    /// The bytes of all results that are made and not read.
    pub unread_bytes: usize,
}

impl Service {
    pub fn counts(&self) -> Counts {
        let (results_waiting, results_running) = self.tickets.counts();
        Counts {
            sessions: self.sessions.count(),
            transactions: self.transactions.count(),
            prepared_statements: self.prepared.count(),
            results_waiting,
            results_running,
            leases: self.leases.count(),
            unread_bytes: self.active_streams.unread_bytes(),
        }
    }

    /// Drops what was idle for too long, and what belonged to dropped users.
    pub fn sweep(&self) {
        let cache = RefCell::new(HashMap::new());
        let keep = |principal: &Principal| *cache.borrow_mut().entry(principal.clone()).or_insert_with(|| self.logins.is_known(principal));
        self.active_streams.retain(keep);
        self.tickets.retain(keep);
        self.leases.retain(keep);
        self.prepared.retain(keep);
        self.transactions.retain(keep);
        self.sessions.retain(keep);
        self.active_streams.sweep();
        self.tickets.sweep();
        self.leases.sweep();
        self.prepared.sweep();
        self.transactions.sweep();
        self.sessions.sweep();
    }
}
