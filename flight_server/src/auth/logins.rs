//! Whether who calls is who he says.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use engine::{Engine, ErrorKind, Identity};
use tokio::sync::Semaphore;
use tonic::Status;

use super::attempts::{Attempt, Attempts};
use super::credentials::{Credentials, Secret};
use super::owner::Owner;
use super::token::Token;
use crate::error::status;

#[derive(Debug, Clone)]
pub struct LoginOptions {
    /// How long the token of a handshake is good.
    pub token_lifetime: Duration,
    /// Passwords that are looked at in the same moment: each takes about 20 MiB and most of a core.
    pub hashes_max: usize,
}

impl Default for LoginOptions {
    fn default() -> Self {
        LoginOptions { token_lifetime: Duration::from_secs(12 * 3600), hashes_max: 4 }
    }
}

pub struct Logins {
    engine: Engine,
    options: LoginOptions,
    key: OnceLock<[u8; 32]>,
    attempts: Attempts,
    hashing: Arc<Semaphore>,
    /// Stays set when the last user goes: nobody gets in without a name because of that.
    had_users: AtomicBool,
}

/// Of a name from outside, in a log line.
const NAME_CHARS_MAX: usize = 100;

impl Logins {
    pub fn new(engine: &Engine, options: LoginOptions) -> Logins {
        let hashing = Arc::new(Semaphore::new(options.hashes_max.max(1)));
        let (key, attempts, had_users) = (OnceLock::new(), Attempts::default(), AtomicBool::new(engine.has_users()));
        Logins { engine: engine.clone(), options, key, attempts, hashing, had_users }
    }

    /// Whether this server asks who calls.
    pub fn are_needed(&self) -> bool {
        if self.engine.has_users() {
            self.had_users.store(true, Ordering::Release);
        }
        self.had_users.load(Ordering::Acquire)
    }

    /// None where the server has no users.
    pub async fn identity(&self, credentials: &Credentials) -> Result<Option<Identity>, Status> {
        if !self.are_needed() {
            return Ok(None);
        }
        let identity = match &credentials.secret {
            Secret::Bearer(token) => self.of_token(token)?,
            Secret::Basic { user, password } => {
                let peer = credentials.peer.map(|peer| peer.ip().to_canonical());
                self.of_password(Attempt { user, peer }, password).await?
            }
            Secret::Nothing => self.of_certificate(credentials)?,
        };
        Ok(Some(identity))
    }

    /// For who has just logged in.
    pub fn token(&self, identity: &Identity) -> Result<String, Status> {
        Ok(Token::new(identity, self.options.token_lifetime).signed(self.key()?))
    }

    /// Whether this is somebody who may call still: nobody in particular, or a user with the same password.
    pub fn is_known(&self, owner: &Owner) -> bool {
        owner.user().is_none_or(|user| Owner::of(self.engine.identity(user).as_ref()) == *owner)
    }

    fn of_token(&self, text: &str) -> Result<Identity, Status> {
        let again = |what: &str| Status::unauthenticated(format!("{what}: log in again"));
        let token = Token::verified(text, self.key()?).ok_or_else(|| again("the token is none of this server"))?;
        if token.is_expired() {
            return Err(again("the token expired"));
        }
        let identity = self.engine.identity(&token.user).filter(|identity| identity.epoch() == token.epoch);
        identity.ok_or_else(|| again("the token is not good any more, the password or the user was changed since"))
    }

    /// **Invariant:** no more than `hashes_max` passwords are hashed at once, also when clients leave meanwhile.
    async fn of_password(&self, attempt: Attempt<'_>, password: &str) -> Result<Identity, Status> {
        // After the wait for a turn: of many at once, those after the first few wrong ones are not looked at.
        let turn = Arc::clone(&self.hashing).acquire_owned().await.map_err(|_| Status::unavailable("the server ends"))?;
        if let Some(wait) = self.attempts.wait(attempt) {
            let wait_s = wait.as_secs_f64().ceil();
            return Err(Status::resource_exhausted(format!("too many wrong passwords for this user or from this address; try again in {wait_s} s")));
        }
        let (engine, user, password) = (self.engine.clone(), attempt.user.to_string(), password.to_string());
        let hashed = tokio::task::spawn_blocking(move || {
            let login = engine.login(&user, &password);
            drop(turn);
            login
        });
        let login = hashed.await.map_err(|_| Status::internal("looking at the password failed; please report it"))?;
        match &login {
            Ok(_) => self.attempts.succeeded(attempt),
            Err(error) if error.kind() == ErrorKind::Unauthenticated => {
                self.attempts.failed(attempt);
                let user: String = attempt.user.chars().take(NAME_CHARS_MAX).collect();
                tracing::warn!(?user, peer = ?attempt.peer, "a login failed: no such user, or a wrong password");
            }
            Err(_) => {}
        }
        login.map_err(status)
    }

    fn of_certificate(&self, credentials: &Credentials) -> Result<Identity, Status> {
        let missing = || Status::unauthenticated("this server has users: log in with a name and a password, or send a token");
        let user = credentials.certificate_user().ok_or_else(missing)??;
        let unknown = || Status::unauthenticated(format!("the client certificate is for \"{user}\", who is no user of this server"));
        self.engine.identity(&user).ok_or_else(unknown)
    }

    fn key(&self) -> Result<&[u8; 32], Status> {
        if let Some(key) = self.key.get() {
            return Ok(key);
        }
        let key = self.engine.token_key().map_err(status)?;
        Ok(self.key.get_or_init(|| key))
    }
}
