//! The temporary tables of a session.

use super::Session;

impl Session {
    /// No temporary table can be created from here on, because the session lives for one statement only. `why` says so, and what to do
    /// instead.
    pub fn refuse_temporary_tables(&self, why: &'static str) {
        self.catalog.temporary().refuse(why);
    }
}
