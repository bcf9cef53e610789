//! `quiver user`: users and tokens of a store that no server has open.

use crate::quiver::{Place, command, run};

fn add(place: &Place, name: &str, more: &[&str]) -> crate::quiver::Output {
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
fn a_user_is_added_once_and_only_an_existing_one_is_removed() {
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
fn a_server_on_a_reachable_address_says_what_it_needs() {
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

#[test]
fn a_password_that_will_not_do_makes_no_store() {
    let place = Place::new();
    let store = place.store();
    let refused = run(&["--store", &store, "user", "add", "z", "--password-stdin"], "\n");
    assert_eq!((refused.status, refused.out.as_str()), (1, ""));
    assert!(refused.err.contains("a password must not be empty"), "{}", refused.err);
    assert!(!place.path("store").exists());
}

#[test]
fn the_help_of_commands_on_files_lists_no_server_options() {
    for command in [vec!["user", "--help"], vec!["user", "add", "--help"], vec!["info", "--help"], vec!["serve", "--help"]] {
        let help = run(&command, "").ok();
        assert!(!help.contains("--connect <URI>") && !help.contains("--token-file"), "{command:?}: {help}");
    }
    for command in [vec!["--help"], vec!["import", "--help"]] {
        assert!(run(&command, "").ok().contains("--connect <URI>"), "{command:?}");
    }
}

#[test]
fn a_client_certificate_is_made_as_the_page_says() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/security.md");
    let page = std::fs::read_to_string(page).unwrap();
    let blocks = page.split("```sh\n").skip(1).filter_map(|rest| rest.split("```").next());
    let commands: Vec<&str> = blocks.filter(|block| block.starts_with("openssl")).collect();
    assert_eq!(commands.len(), 2);
    let place = Place::new();
    let sh = |commands: &str| {
        let done = std::process::Command::new("sh").args(["-ec", commands]).current_dir(place.path("")).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    commands.into_iter().for_each(sh);
    // The default of `openssl x509 -req`.
    sh("openssl x509 -req -in ada.csr -CA clients.crt -CAkey clients.key -CAcreateserial -days 90 -out old.crt");
    add(&place, "ada", &["--admin"]).ok();
    let file = |name: &str| place.path(name).display().to_string();
    let store = place.store();
    let (cert, key, clients) = (file("server.crt"), file("server.key"), file("clients.crt"));
    let listen =
        ["serve", "--store", &store, "--listen", "127.0.0.1:0", "--tls-cert", &cert, "--tls-key", &key, "--tls-client-ca", &clients];
    let mut server = command(&listen).stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(server.stdout.take().unwrap()), &mut line).unwrap();
    let port = line.split("127.0.0.1:").nth(1).and_then(|rest| rest.split([' ', '\n']).next()).unwrap().to_string();
    let uri = format!("grpc+tls://localhost:{port}");
    let own = file("ada.key");
    let ask = |certificate: &str| {
        let certificate = file(certificate);
        run(
            &[
                "--connect",
                &uri,
                "--tls-ca",
                &cert,
                "--client-cert",
                &certificate,
                "--client-key",
                &own,
                "--format",
                "csv",
                "-c",
                "SELECT current_user AS who",
            ],
            "",
        )
    };
    let output = ask("ada.crt");
    let old = ask("old.crt");
    let _ = server.kill();
    let _ = server.wait();
    assert_eq!(output.ok(), "who\nada\n");
    assert_eq!(old.status, 1);
    assert!(old.err.contains("old.crt cannot be used: it is of version 1 of X.509") && old.err.contains("docs/security.md"), "{}", old.err);
}
