//! Tokens: the user and the period of validity, signed with the key of the store. The server keeps no state for one, so a token
//! outlives a restart of the server. The epoch in it makes it invalid when the user's password changes.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use engine::{Engine, EngineError, Identity};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The prefix of a token, so that people and secret scanners recognize one.
const PREFIX: &str = "quiver1_";
/// Separates these signatures from any other use of the key.
const DOMAIN: &[u8] = b"quiver bearer token 1";
const MAC_BYTES: usize = 32;
/// The bytes of the epoch, the time of issue and the expiry.
const NUMBERS_BYTES: usize = 24;
/// A name and the numbers fit in easily; a longer token is not verified.
const TEXT_BYTES_MAX: usize = 4_096;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub user: String,
    pub epoch: u64,
    pub issued_s: u64,
    pub expires_s: u64,
}

#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    #[error("there is no user \"{0}\"; list them with SELECT * FROM system.users")]
    NoUser(String),
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// A token for a program, which logs in as `user` with it until it expires or the user's password changes.
pub fn token_for(engine: &Engine, user: &str, lifetime: Duration) -> Result<String, TokenError> {
    let identity = engine.identity(user).ok_or_else(|| TokenError::NoUser(user.to_string()))?;
    Ok(Token::new(&identity, lifetime).signed(&engine.token_key()?))
}

impl Token {
    pub fn new(identity: &Identity, lifetime: Duration) -> Token {
        let issued_s = now_s();
        let expires_s = issued_s.saturating_add(lifetime.as_secs());
        Token { user: identity.name().to_string(), epoch: identity.epoch(), issued_s, expires_s }
    }

    pub fn signed(&self, key: &[u8; 32]) -> String {
        let mut bytes = Vec::with_capacity(NUMBERS_BYTES + self.user.len() + MAC_BYTES);
        for number in [self.epoch, self.issued_s, self.expires_s] {
            bytes.extend_from_slice(&number.to_be_bytes());
        }
        bytes.extend_from_slice(self.user.as_bytes());
        let mac = mac(key, &bytes).finalize().into_bytes();
        bytes.extend_from_slice(&mac);
        format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(&bytes))
    }

    /// `None` if it was not signed with this key. The signatures are compared in constant time.
    pub fn verified(text: &str, key: &[u8; 32]) -> Option<Token> {
        let text = text.strip_prefix(PREFIX).filter(|text| text.len() <= TEXT_BYTES_MAX)?;
        let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (bytes, signature) = bytes.split_at_checked(bytes.len().checked_sub(MAC_BYTES)?)?;
        mac(key, bytes).verify_slice(signature).ok()?;
        let (numbers, user) = bytes.split_at_checked(NUMBERS_BYTES)?;
        let number = |at: usize| numbers.get(at..at + 8)?.try_into().ok().map(u64::from_be_bytes);
        let user = String::from_utf8(user.to_vec()).ok()?;
        Some(Token { user, epoch: number(0)?, issued_s: number(8)?, expires_s: number(16)? })
    }

    pub fn is_expired(&self) -> bool {
        self.expires_s <= now_s()
    }
}

fn mac(key: &[u8; 32], bytes: &[u8]) -> Hmac<Sha256> {
    let Ok(mac) = Hmac::<Sha256>::new_from_slice(key) else { unreachable!("a key of any length will do for HMAC") };
    mac.chain_update(DOMAIN).chain_update(bytes)
}

/// Wall-clock time, because a token outlives the process.
fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: [u8; 32] = [7; 32];

    fn token() -> Token {
        Token { user: "ada @ müller".into(), epoch: 3, issued_s: 100, expires_s: u64::MAX }
    }

    #[test]
    fn a_signed_token_is_verified() {
        let text = token().signed(&KEY);
        assert_eq!(Token::verified(&text, &KEY).unwrap(), token());
        assert!(text.is_ascii() && !text.contains(['=', '+', '/', ' ']), "{text}");
        assert!(!token().is_expired());
        assert!(Token { expires_s: now_s(), ..token() }.is_expired());
    }

    #[test]
    fn a_token_with_any_changed_byte_is_refused() {
        let text = token().signed(&KEY);
        for at in 0..text.len() {
            let mut changed = text.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert!(Token::verified(&changed, &KEY).is_none(), "{at}");
        }
    }

    #[test]
    fn a_token_of_another_key_or_no_token_is_refused() {
        let text = token().signed(&KEY);
        assert!(Token::verified(&text, &[8; 32]).is_none());
        for text in ["", PREFIX, "quiver1_AAAA", "quiver1_%", "garbage", &text[..text.len() - 4], &text[1..]] {
            assert!(Token::verified(text, &KEY).is_none(), "{text}");
        }
    }
}
