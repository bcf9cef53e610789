//! What a client has set. A session is named by a cookie; a call without one has an engine session for itself and
//! its result.
//!
//! - [`open`] — the sessions there are; [`connection`] one engine session and its turns
//! - [`options`] — session options are settings of SQL

mod connection;
mod open;
mod options;

pub use connection::{Connection, SessionLock};
pub use open::{CallContext, Sessions, cookie};
pub use options::{CATALOG, get_options, set_options};
