//! `quiver user`: users and tokens of a store that no server has open.

use crate::quiver::{Place, command, run};

fn add(place: &Place, name: &str, more: &[&str]) -> crate::quiver::Said {
    let store = place.store();
    let mut args = vec!["--store", &store, "user", "add", name, "--password-stdin"];
    args.extend(more);
    run(&args, "a long password\n")
}

#[test]
fn users_are_added_listed_and_removed() {
    let place = Place::new();
    assert_eq!(add(&place, "ada", &["--admin"]).ok(), "user ada may log in\n");
    add(&place, "O'Hara \"x\"", &[]).ok();
    let listed = place.quiver(&["user", "list"]).ok();
    assert!(listed.contains("ada") && listed.contains("O'Hara \"x\""), "{listed}");
    place.quiver(&["user", "remove", "O'Hara \"x\""]).ok();
    let listed = place.quiver(&["user", "list"]).ok();
    assert!(listed.contains("ada") && !listed.contains("O'Hara"), "{listed}");
}

#[test]
fn a_user_is_added_once_and_only_who_is_there_is_removed() {
    let place = Place::new();
    add(&place, "ada", &["--admin"]).ok();
    let again = add(&place, "ada", &[]);
    assert_eq!(again.status, 1);
    assert!(again.err.contains("ada") && !again.err.contains("a long password"), "{}", again.err);
    assert_eq!(place.quiver(&["user", "remove", "bob"]).status, 1);
}

#[test]
fn a_token_is_printed_for_a_user_alone() {
    let place = Place::new();
    add(&place, "ada", &["--admin"]).ok();
    let token = place.quiver(&["user", "token", "ada", "--expires", "1h"]).ok();
    assert!(token.starts_with("quiver1_") && token.ends_with('\n') && token.trim().len() > 60, "{token}");
    let nobody = place.quiver(&["user", "token", "bob"]);
    assert_eq!((nobody.status, nobody.out.as_str()), (1, ""));
    assert!(nobody.err.contains("there is no user \"bob\""), "{}", nobody.err);
    assert_eq!(place.quiver(&["user", "token", "ada", "--expires", "soon"]).status, 2);
}

#[test]
fn a_store_that_another_process_writes_to_is_not_changed() {
    let place = Place::new();
    let store = place.store();
    add(&place, "ada", &["--admin"]).ok();
    let mut shell = command(&["--store", &store]).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped()).spawn().unwrap();
    std::io::Write::write_all(shell.stdin.as_mut().unwrap(), b"SELECT 1;\n").unwrap();
    let mut first = [0; 1];
    std::io::Read::read_exact(shell.stdout.as_mut().unwrap(), &mut first).unwrap();
    let refused = add(&place, "bob", &[]);
    assert_eq!(refused.status, 1);
    assert!(refused.err.contains("CREATE USER name PASSWORD"), "{}", refused.err);
    drop(shell.stdin.take());
    shell.wait().unwrap();
}

#[test]
fn a_server_that_others_could_reach_says_what_it_needs() {
    let place = Place::new();
    let refused = place.quiver(&["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!(refused.status, 1);
    for words in ["--tls-cert FILE", "quiver user add NAME --admin", "--insecure"] {
        assert!(refused.err.contains(words), "{}", refused.err);
    }
    let half = place.quiver(&["serve", "--tls-cert", "server.crt"]);
    assert!(half.err.contains("--tls-key FILE"), "{}", half.err);
    let missing = place.quiver(&["serve", "--tls-cert", "server.crt", "--tls-key", "server.key", "--listen", "127.0.0.1:0"]);
    assert_eq!(missing.status, 1);
    assert!(missing.err.contains("server.crt cannot be read"), "{}", missing.err);
}
