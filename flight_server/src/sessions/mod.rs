//! What a client has set. A session is named by a cookie; a call without one has an engine session for itself and
//! its result.
//!
//! - [`open`] — the sessions there are
//! - [`options`] — session options are settings of SQL; [`messages`] what they come and go in

mod messages;
mod open;
mod options;

pub use messages::{CloseSessionResult, SetSessionOptionsRequest};
pub use open::{COOKIE, Caller, Sessions, cookie};
pub use options::{get_options, set_options};
