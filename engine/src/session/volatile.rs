//! The volatile tables of a session.

use super::Session;

impl Session {
    /// From here on no volatile table can be made: for who has the session for one statement and would not see it again. `why` says
    /// so, and what to do instead.
    pub fn refuse_volatile_tables(&self, why: &'static str) {
        self.catalog.volatile().refuse(why);
    }
}
