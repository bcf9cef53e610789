//! Users, roles and grants: who may do what, and who sees what.

use engine::{Engine, EngineError, ErrorKind, Session};

use super::helpers::{Db, Ran, run, wait};

mod audit;
mod definers;
mod functions;
mod granting;
mod kinds;
mod objects;
mod owners;
mod passwords;
mod plans;
mod reading;
mod running;
mod sessions;
mod system;
mod transactions;
mod users;
mod writing;

/// A store with an admin and users, each with "pw-" and its name as the password.
fn house(users: &[&str]) -> Db {
    let db = Db::new();
    db.run("CREATE USER root PASSWORD 'pw-root' ADMIN");
    for user in users {
        db.run(&format!("CREATE USER {user} PASSWORD 'pw-{user}'"));
    }
    db
}

fn session_of(engine: &Engine, user: &str) -> Session {
    engine.session_as(&engine.identity(user).unwrap()).unwrap()
}

impl Db {
    fn as_user(&self, user: &str) -> User {
        User { session: session_of(&self.engine, user) }
    }
}

/// What a user runs.
struct User {
    session: Session,
}

impl User {
    fn try_run(&self, sql: &str) -> Result<Ran, EngineError> {
        wait(run(&self.session, sql))
    }

    fn run(&self, sql: &str) -> Ran {
        self.try_run(sql).unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    fn rows(&self, sql: &str) -> Vec<String> {
        self.run(sql).rows()
    }

    fn error(&self, sql: &str) -> EngineError {
        match self.try_run(sql) {
            Err(error) => error,
            Ok(_) => panic!("{sql} was no error"),
        }
    }

    #[track_caller]
    fn denied(&self, sql: &str) -> String {
        let error = self.error(sql);
        assert_eq!(error.kind(), ErrorKind::Denied, "{sql}: {error}");
        format!("{error}; {}", error.hint().unwrap_or_default())
    }

    /// As if there was no such thing.
    #[track_caller]
    fn unseen(&self, sql: &str) -> String {
        let error = self.error(sql);
        assert!(error.to_string().contains("does not exist"), "{sql}: {error}");
        format!("{error}; {}", error.hint().unwrap_or_default())
    }
}
