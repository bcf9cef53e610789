//! Authentication: by name and password, by a token of this server, or by a client certificate.
//!
//! - [`credentials`] — the credentials of a call; `certificate` the user in a certificate
//! - [`logins`] — verifies them; `attempts` throttles wrong passwords; `password_cache` remembers correct ones for a moment
//! - [`token`] — signed tokens, which stand for a user until they expire
//! - [`principal`] — the owner of a handle

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
