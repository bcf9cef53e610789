//! Authentication: verifies that the caller is the user it claims to be.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use engine::{Engine, ErrorKind, Identity};
use tokio::sync::Semaphore;
use tonic::{Code, Status};

use super::attempts::{Attempt, Attempts};
use super::credentials::{Credentials, Secret};
use super::password_cache::{CachedPassword, PasswordCache};
use super::principal::Principal;
use super::token::Token;
use crate::error::status;
use crate::options::LoginOptions;

pub struct Logins {
    engine: Engine,
    options: LoginOptions,
    key: OnceLock<[u8; 32]>,
    attempts: Attempts,
    remembered: PasswordCache,
    hashing: Arc<Semaphore>,
    /// Stays set when the last user is dropped, so that this does not open the server to everybody.
    had_users: AtomicBool,
}

/// A refused login: the claimed user and the answer.
struct RefusedLogin {
    user: String,
    status: Status,
}

impl RefusedLogin {
    fn of(user: &str, status: Status) -> RefusedLogin {
        RefusedLogin { user: user.to_string(), status }
    }
}

fn needed() -> Status {
    Status::unauthenticated("this server has users: log in with a name and a password, or send a token")
}

/// The limit for a name from outside in a log line.
const NAME_CHARS_MAX: usize = 100;

impl Logins {
    pub fn new(engine: &Engine, options: LoginOptions) -> Logins {
        let hashing = Arc::new(Semaphore::new(options.hashes_max.max(1)));
        let (key, attempts, had_users) = (OnceLock::new(), Attempts::default(), AtomicBool::new(engine.has_users()));
        Logins { engine: engine.clone(), options, key, attempts, remembered: PasswordCache::new(), hashing, had_users }
    }

    /// Whether this server requires a login.
    pub fn are_needed(&self) -> bool {
        if self.engine.has_users() {
            self.had_users.store(true, Ordering::Release);
        }
        self.had_users.load(Ordering::Acquire)
    }

    /// `None` if the server has no users.
    pub async fn identity(&self, credentials: &Credentials) -> Result<Option<Identity>, Status> {
        if !self.are_needed() {
            return Ok(None);
        }
        let peer = credentials.peer.map(|peer| peer.ip().to_canonical());
        let identity = match &credentials.secret {
            Secret::Bearer(token) => self.of_token(token).map_err(|refused| self.refused(refused, peer)),
            Secret::Basic { user, password } => self.of_password(Attempt { user, peer }, password).await,
            // A call without credentials is not a failed login.
            Secret::Nothing if credentials.certificate_user().is_none() => Err(needed()),
            Secret::Nothing => self.of_certificate(credentials).map_err(|refused| self.refused(refused, peer)),
        };
        identity.map(Some)
    }

    /// A token for a user that has just logged in.
    pub fn token(&self, identity: &Identity) -> Result<String, Status> {
        Ok(Token::new(identity, self.options.token_lifetime).signed(self.key()?))
    }

    /// Whether the principal may still call: an anonymous one, or a user whose password is unchanged.
    pub fn is_known(&self, principal: &Principal) -> bool {
        principal.user().is_none_or(|user| Principal::of(self.engine.identity(user).as_ref()) == *principal)
    }

    /// Writes a row into the audit.
    fn refused(&self, RefusedLogin { user, status }: RefusedLogin, peer: Option<IpAddr>) -> Status {
        let peer = peer.map_or_else(|| "an unknown address".to_string(), |peer| peer.to_string());
        // A failure of the server is not a failed login of the user.
        if matches!(status.code(), Code::Unauthenticated | Code::ResourceExhausted) {
            self.engine.audit_refused_login(&user, &peer, status.message());
        }
        status
    }

    fn of_token(&self, text: &str) -> Result<Identity, RefusedLogin> {
        let again = |user: &str, what: &str| RefusedLogin::of(user, Status::unauthenticated(format!("{what}: log in again")));
        let key = self.key().map_err(|status| RefusedLogin::of("", status))?;
        let token = Token::verified(text, key).ok_or_else(|| again("", "the token is none of this server"))?;
        if token.is_expired() {
            return Err(again(&token.user, "the token expired"));
        }
        let identity = self.engine.identity(&token.user).filter(|identity| identity.epoch() == token.epoch);
        identity.ok_or_else(|| again(&token.user, "the token is not good any more, the password or the user was changed since"))
    }

    async fn of_password(&self, attempt: Attempt<'_>, password: &str) -> Result<Identity, Status> {
        let checked = self.checked(attempt, password).await;
        checked.map_err(|status| self.refused(RefusedLogin::of(attempt.user, status), attempt.peer))
    }

    /// **Invariant:** no more than `hashes_max` passwords are hashed at once, even if clients leave meanwhile. A cached password is no
    /// way around the wait after wrong ones: a password that is known to be wrong is counted before it is hashed.
    async fn checked(&self, attempt: Attempt<'_>, password: &str) -> Result<Identity, Status> {
        self.check_wait(attempt)?;
        let is_wrong = match self.remembered(attempt, password) {
            (Some(identity), CachedPassword::Right) => {
                self.attempts.succeeded(attempt);
                return Ok(identity);
            }
            (_, guess) => guess == CachedPassword::Wrong,
        };
        if is_wrong {
            self.failed(attempt);
        }
        // Checked after the wait for a permit: of many attempts at once, those after the first few wrong ones are not verified.
        let turn = Arc::clone(&self.hashing).acquire_owned().await.map_err(|_| Status::unavailable("the server ends"))?;
        if !is_wrong {
            self.check_wait(attempt)?;
            // Of many calls at once, the first has already verified the password for all.
            if let (Some(identity), CachedPassword::Right) = self.remembered(attempt, password) {
                self.attempts.succeeded(attempt);
                return Ok(identity);
            }
        }
        // Also for a password known to be wrong, so that the time does not show who is logged in.
        let (engine, user, hashed) = (self.engine.clone(), attempt.user.to_string(), password.to_string());
        let hashed = tokio::task::spawn_blocking(move || {
            let login = engine.login(&user, &hashed);
            drop(turn);
            login
        });
        let login = hashed.await.map_err(|_| Status::internal("looking at the password failed; please report it"))?;
        match &login {
            Ok(identity) => {
                self.attempts.succeeded(attempt);
                self.remembered.keep(identity, password);
            }
            Err(error) if error.kind() == ErrorKind::Unauthenticated && !is_wrong => self.failed(attempt),
            Err(_) => {}
        }
        login.map_err(status)
    }

    /// An error if this attempt has to wait.
    fn check_wait(&self, attempt: Attempt<'_>) -> Result<(), Status> {
        let Some(wait) = self.attempts.wait(attempt) else { return Ok(()) };
        let wait_s = wait.as_secs_f64().ceil();
        Err(Status::resource_exhausted(format!("too many wrong passwords for this user or from this address; try again in {wait_s} s")))
    }

    /// The current state of the user, and whether the cache knows the password to be right or wrong.
    fn remembered(&self, attempt: Attempt<'_>, password: &str) -> (Option<Identity>, CachedPassword) {
        let identity = self.engine.identity(attempt.user);
        let guess = identity.as_ref().map_or(CachedPassword::Unknown, |identity| self.remembered.guess(identity, password));
        (identity, guess)
    }

    fn failed(&self, attempt: Attempt<'_>) {
        self.attempts.failed(attempt);
        let user: String = attempt.user.chars().take(NAME_CHARS_MAX).collect();
        tracing::warn!(?user, peer = ?attempt.peer, "a login failed: no such user, or a wrong password");
    }

    fn of_certificate(&self, credentials: &Credentials) -> Result<Identity, RefusedLogin> {
        let user = credentials.certificate_user().ok_or_else(|| RefusedLogin::of("", needed()))?;
        let user = user.map_err(|status| RefusedLogin::of("", status))?;
        let unknown = || Status::unauthenticated(format!("the client certificate is for \"{user}\", who is no user of this server"));
        self.engine.identity(&user).ok_or_else(|| RefusedLogin::of(&user, unknown()))
    }

    fn key(&self) -> Result<&[u8; 32], Status> {
        if let Some(key) = self.key.get() {
            return Ok(key);
        }
        let key = self.engine.token_key().map_err(status)?;
        Ok(self.key.get_or_init(|| key))
    }
}

#[cfg(test)]
mod tests {
    use engine::EngineOptions;
    use tonic::Request;

    use super::*;

    /// ada, with the password "secret".
    async fn logins() -> (Engine, Logins) {
        let engine = Engine::open_temporary(EngineOptions::default()).unwrap();
        run(&engine, "CREATE USER ada PASSWORD 'secret' ADMIN").await;
        let logins = Logins::new(&engine, LoginOptions::default());
        (engine, logins)
    }

    async fn run(engine: &Engine, sql: &str) {
        engine.session().unwrap().execute(sql).await.unwrap().collect().await.unwrap();
    }

    /// Credentials of a `Basic` header: ada:secret, or ada:wrong.
    async fn login(logins: &Logins, basic: &str) -> Result<Option<Identity>, Code> {
        let mut request = Request::new(());
        request.metadata_mut().insert("authorization", format!("Basic {basic}").parse().unwrap());
        let credentials = Credentials::of(&request).unwrap();
        logins.identity(&credentials).await.map_err(|status| status.code())
    }

    const RIGHT: &str = "YWRhOnNlY3JldA==";
    const WRONG: &str = "YWRhOndyb25n";

    #[tokio::test]
    async fn a_correct_password_is_not_hashed_again() {
        let (engine, logins) = logins().await;
        assert_eq!(login(&logins, WRONG).await.unwrap_err(), Code::Unauthenticated);
        assert_eq!(login(&logins, RIGHT).await.unwrap().unwrap().name(), "ada");
        // From here on nothing can be hashed, so a call that needs a hash fails.
        logins.hashing.close();
        assert_eq!(login(&logins, RIGHT).await.unwrap().unwrap().name(), "ada");
        assert_eq!(login(&logins, WRONG).await.unwrap_err(), Code::Unavailable);
        run(&engine, "ALTER USER ada PASSWORD 'secret'").await;
        assert_eq!(login(&logins, RIGHT).await.unwrap_err(), Code::Unavailable);
    }

    #[tokio::test]
    async fn a_correct_password_clears_the_failures_even_if_it_is_cached() {
        let (_engine, logins) = logins().await;
        assert_eq!(login(&logins, RIGHT).await.unwrap().unwrap().name(), "ada");
        logins.hashing.close();
        for _ in 0..10 {
            assert_eq!(login(&logins, WRONG).await.unwrap_err(), Code::Unavailable);
            assert_eq!(login(&logins, RIGHT).await.unwrap().unwrap().name(), "ada");
        }
    }
}
