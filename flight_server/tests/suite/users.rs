//! Authentication: passwords and tokens, and wrong ones.

use std::time::Duration;

use arrow_flight::{Action, Criteria, Empty, FlightData, FlightDescriptor, HandshakeRequest, Ticket};
use engine::EngineOptions;
use flight_server::{LoginOptions, ServerOptions, token_for};
use tonic::{Code, Request, Status};

use crate::helpers::{Client, Served, code, eventually, options, query, shown, status, wait, with};

fn served() -> Served {
    Served::with_users(options(), &["ada", "bob"])
}

fn with_token(served: &Served, token: &str) -> Client {
    let mut client = served.client();
    client.set_token(token.to_string());
    client
}

fn seven(client: &mut Client) -> Result<Vec<String>, Status> {
    match wait(query(client, "SELECT 7", None)) {
        Ok(batches) => Ok(shown(&batches)),
        error => Err(status(error)),
    }
}

#[test]
fn every_call_needs_a_name() {
    let served = served();
    let mut flight = served.flight();
    let none = || futures::stream::empty::<FlightData>();
    let hello = futures::stream::iter([HandshakeRequest::default()]);
    let refused = [
        wait(flight.handshake(hello)).map(|_| ()),
        wait(flight.list_flights(Criteria::default())).map(|_| ()),
        wait(flight.get_flight_info(FlightDescriptor::new_path(vec!["t".into()]))).map(|_| ()),
        wait(flight.poll_flight_info(FlightDescriptor::new_path(vec!["t".into()]))).map(|_| ()),
        wait(flight.get_schema(FlightDescriptor::new_path(vec!["t".into()]))).map(|_| ()),
        wait(flight.do_get(Ticket::new("{}"))).map(|_| ()),
        wait(flight.do_put(none())).map(|_| ()),
        wait(flight.do_action(Action::new("stats", ""))).map(|_| ()),
        wait(flight.list_actions(Empty {})).map(|_| ()),
        wait(flight.do_exchange(none())).map(|_| ()),
    ];
    for (at, answer) in refused.into_iter().enumerate() {
        let refused = answer.unwrap_err();
        assert_eq!(refused.code(), Code::Unauthenticated, "{at}: {refused}");
        assert!(refused.message().contains("log in"), "{at}: {refused}");
    }
}

#[test]
fn a_login_gives_a_token_that_is_good_for_every_call() {
    let served = served();
    assert_eq!(seven(&mut served.client_of("ada")).unwrap(), ["7"]);
    // A login does not begin a session.
    let mut ada = served.client_of("ada");
    assert_eq!(stat(&mut ada, "sessions"), 0);
}

#[test]
fn name_and_password_will_do_on_any_call() {
    let served = served();
    // ada:secret
    let listed = wait(served.flight().list_actions(with(Empty {}, "authorization", "Basic YWRhOnNlY3JldA==")));
    assert!(listed.is_ok());
    let wrong = wait(served.flight().list_actions(with(Empty {}, "authorization", "Basic YWRhOndyb25n")));
    assert_eq!(wrong.map(|_| ()).unwrap_err().code(), Code::Unauthenticated);
}

#[test]
fn a_wrong_password_and_an_unknown_user_are_refused_in_the_same_words() {
    let served = served();
    let wrong = wait(served.client().handshake("ada", "guess")).unwrap_err().to_string();
    let unknown = wait(served.client().handshake("nobody", "guess")).unwrap_err().to_string();
    assert_eq!(wrong, unknown);
    assert!(!wrong.contains("guess"), "{wrong}");
}

#[test]
fn a_token_for_a_program_needs_no_login() {
    let served = served();
    let token = token_for(&served.engine, "bob", Duration::from_secs(60)).unwrap();
    assert_eq!(seven(&mut with_token(&served, &token)).unwrap(), ["7"]);
    assert!(token_for(&served.engine, "nobody", Duration::from_secs(60)).unwrap_err().to_string().contains("\"nobody\""));
}

#[test]
fn a_token_expires() {
    let login = LoginOptions { token_lifetime: Duration::from_secs(1), ..LoginOptions::default() };
    let served = Served::with_users(ServerOptions { login, ..options() }, &["ada"]);
    let mut client = served.client_of("ada");
    eventually("the token expired", || seven(&mut client).is_err());
    let refused = seven(&mut client).unwrap_err();
    assert_eq!((refused.code(), refused.message()), (Code::Unauthenticated, "the token expired: log in again"));
}

#[test]
fn a_forged_token_is_refused() {
    let served = served();
    let good = token_for(&served.engine, "bob", Duration::from_secs(60)).unwrap();
    let other = token_for(&self::served().engine, "bob", Duration::from_secs(60)).unwrap();
    for token in ["", "garbage", "quiver1_AAAA", &good[..good.len() - 2], &other] {
        assert_eq!(seven(&mut with_token(&served, token)).unwrap_err().code(), Code::Unauthenticated, "{token}");
    }
}

#[test]
fn a_new_password_ends_the_tokens_and_sessions_of_before() {
    let served = served();
    let mut bob = served.client_of("bob");
    let transaction = wait(bob.begin_transaction()).unwrap();
    wait(query(&mut bob, "SELECT 1", Some(transaction))).unwrap();
    served.embedded("ALTER USER bob PASSWORD 'another'");
    assert_eq!(seven(&mut bob).unwrap_err().code(), Code::Unauthenticated);
    // A client with a token sends the token and not the password.
    let mut bob = served.client();
    wait(bob.handshake("bob", "secret")).unwrap_err();
    wait(bob.handshake("bob", "another")).unwrap();
    assert_eq!(seven(&mut bob).unwrap(), ["7"]);
    let mut ada = served.client_of("ada");
    eventually("the transaction is forgotten", || stat(&mut ada, "transactions") == 0);
}

fn stat(client: &mut Client, name: &str) -> u64 {
    wait(async {
        let mut request = Request::new(Action::new("stats", ""));
        let token = format!("Bearer {}", client.token().unwrap());
        request.metadata_mut().insert("authorization", token.parse().unwrap());
        let answer = client.inner_mut().do_action(request).await.unwrap().into_inner().message().await.unwrap().unwrap();
        serde_json::from_slice::<serde_json::Value>(&answer.body).unwrap()[name].as_u64().unwrap()
    })
}

#[test]
fn a_dropped_user_has_no_access() {
    let served = served();
    let mut bob = served.client_of("bob");
    served.embedded("DROP USER bob");
    assert_eq!(seven(&mut bob).unwrap_err().code(), Code::Unauthenticated);
    // A new user of the same name is another user.
    served.embedded("CREATE USER bob PASSWORD 'secret'");
    assert_eq!(seven(&mut bob).unwrap_err().code(), Code::Unauthenticated);
}

#[test]
fn without_its_last_user_a_server_still_asks_for_one() {
    let served = Served::with_users(options(), &["ada"]);
    served.embedded("DROP USER ada");
    assert_eq!(code(served.try_rows("SELECT 1")), Code::Unauthenticated);
}

#[test]
fn with_the_first_user_a_server_begins_to_ask() {
    let served = Served::new();
    assert_eq!(served.rows("SELECT 1"), ["1"]);
    served.update("CREATE USER ada PASSWORD 'secret' ADMIN");
    assert_eq!(code(served.try_rows("SELECT 1")), Code::Unauthenticated);
    assert_eq!(seven(&mut served.client_of("ada")).unwrap(), ["7"]);
}

#[test]
fn a_token_outlives_the_server() {
    let served = served();
    let token = served.client_of("bob").token().unwrap().clone();
    let dir = served.end();
    let again = Served::at(dir, options(), EngineOptions::default(), &[]);
    assert_eq!(seven(&mut with_token(&again, &token)).unwrap(), ["7"]);
}

#[test]
fn after_some_wrong_passwords_the_next_has_to_wait() {
    let served = served();
    for _ in 0..5 {
        wait(served.client().handshake("bob", "guess")).unwrap_err();
    }
    let refused = wait(served.client().handshake("bob", "secret")).unwrap_err().to_string();
    assert!(refused.contains("try again in 1 s"), "{refused}");
    // Other users, and tokens, still work.
    assert_eq!(seven(&mut served.client_of("ada")).unwrap(), ["7"]);
    let token = token_for(&served.engine, "bob", Duration::from_secs(60)).unwrap();
    assert_eq!(seven(&mut with_token(&served, &token)).unwrap(), ["7"]);
    eventually("the wait is over", || wait(served.client().handshake("bob", "secret")).is_ok());
}

/// A caller that sends a name and a password with each call.
fn listed(served: &Served, user: &str, password: &str) -> Code {
    let basic = format!("Basic {}", encoded(&format!("{user}:{password}")));
    let listed = wait(served.flight().list_actions(with(Empty {}, "authorization", &basic)));
    listed.map_or_else(|status| status.code(), |_| Code::Ok)
}

/// Base64.
fn encoded(text: &str) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let sextets = |chunk: &[u8]| {
        let bits = chunk.iter().fold(0u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        (0..4).map(move |at| (bits >> (18 - 6 * at) & 63) as usize).take(chunk.len() + 1).collect::<Vec<_>>()
    };
    let letters: String = text.as_bytes().chunks(3).flat_map(sextets).map(|at| char::from(LETTERS[at])).collect();
    let padding = "=".repeat((4 - letters.len() % 4) % 4);
    letters + &padding
}

#[test]
fn a_password_that_is_remembered_ends_with_the_password_and_with_the_user() {
    let served = served();
    assert_eq!((listed(&served, "bob", "secret"), listed(&served, "bob", "secret")), (Code::Ok, Code::Ok));
    served.embedded("ALTER USER bob PASSWORD 'another'");
    assert_eq!(listed(&served, "bob", "secret"), Code::Unauthenticated);
    assert_eq!((listed(&served, "bob", "another"), listed(&served, "bob", "another")), (Code::Ok, Code::Ok));
    served.embedded("DROP USER bob");
    assert_eq!(listed(&served, "bob", "another"), Code::Unauthenticated);
    served.embedded("CREATE USER bob PASSWORD 'a third one'");
    assert_eq!(listed(&served, "bob", "another"), Code::Unauthenticated);
    assert_eq!(listed(&served, "bob", "a third one"), Code::Ok);
}

#[test]
fn guessing_at_a_password_that_is_remembered_has_to_wait_as_well() {
    let served = served();
    assert_eq!(listed(&served, "bob", "secret"), Code::Ok);
    for _ in 0..5 {
        assert_eq!(listed(&served, "bob", "guess"), Code::Unauthenticated);
    }
    // The right password waits too: otherwise an attacker could try all passwords meanwhile.
    assert_eq!(listed(&served, "bob", "secret"), Code::ResourceExhausted);
    eventually("the wait is over", || listed(&served, "bob", "secret") == Code::Ok);
}

#[test]
fn a_login_that_is_refused_leaves_a_row_in_the_audit() {
    let served = served();
    let expired = token_for(&served.engine, "ada", Duration::ZERO).unwrap();
    wait(served.client().handshake("bob", "guess")).unwrap_err();
    wait(served.client().handshake("nobody", "guess")).unwrap_err();
    seven(&mut with_token(&served, &expired)).unwrap_err();
    seven(&mut with_token(&served, "garbage")).unwrap_err();
    // These calls give no name, and they are valid.
    seven(&mut served.client()).unwrap_err();
    assert_eq!((listed(&served, "bob", "secret"), listed(&served, "bob", "secret")), (Code::Ok, Code::Ok));
    let rows = || {
        let batch = served.embedded("SELECT user_name, outcome, message FROM system.audit WHERE kind = 'login' ORDER BY user_name");
        shown(&[batch])
    };
    eventually("all rows are there", || rows().len() == 4);
    let rows = rows();
    assert!(rows[0].starts_with(" unauthenticated the token is none of this server"), "{rows:?}");
    assert!(rows[1].starts_with("ada unauthenticated the token expired"), "{rows:?}");
    assert!(rows[2].starts_with("bob unauthenticated the user name or the password is wrong"), "{rows:?}");
    assert!(rows[3].starts_with("nobody unauthenticated the user name or the password is wrong"), "{rows:?}");
    assert!(rows.iter().all(|row| row.contains("from 127.0.0.1") && !row.contains("guess")), "{rows:?}");
}
