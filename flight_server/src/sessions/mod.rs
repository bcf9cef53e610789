//! Sessions of clients. A session is named by a cookie; a call without one has an engine session for itself and
//! its result.
//!
//! - [`open`] — the open sessions; [`connection`] one engine session and its lock
//! - [`options`] — session options, which are the settings of SQL

mod connection;
mod open;
mod options;

pub use connection::{Connection, SessionLock};
pub use open::{CallContext, Sessions, cookie};
pub use options::{CATALOG, get_options, set_options};
