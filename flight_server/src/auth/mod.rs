//! Who calls: a name and password, a token of ours, or a client certificate.
//!
//! - [`credentials`] — what a call shows of itself; `certificate` the name in a certificate
//! - [`logins`] — whether that is true; `attempts` how often it may be wrong; `password_cache` what was right a moment ago
//! - [`token`] — signed words that stand for a user for a while
//! - [`principal`] — whose a handle is

mod attempts;
mod certificate;
mod credentials;
mod logins;
mod password_cache;
mod principal;
mod token;

pub use credentials::{Credentials, Secret};
pub use logins::Logins;
pub use principal::Principal;
pub use token::{TokenError, token_for};
