//! The configuration of `quiver serve`: flags, the environment, a file.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::quiver::{Output, Place, command};

/// `quiver serve --print-config` with these variables.
fn printed(args: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut all = vec!["serve", "--print-config"];
    all.extend(args);
    let output = command(&all).envs(variables.iter().copied()).stdin(Stdio::null()).output().expect("the binary runs");
    Output {
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
        status: output.status.code().unwrap_or(-1),
    }
}

fn line(text: &str, start: &str) -> String {
    text.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("{start} in\n{text}")).to_string()
}

#[test]
fn a_flag_comes_before_the_environment_and_that_before_the_file() {
    let place = Place::new();
    let file =
        place.write("quiver.toml", "sessions_max = 1\nprepared_max = 1\ntickets_max = 1\nmemory_limit = \"1GB\"\nmaintenance = true\n");
    let output = printed(
        &["--config", &file, "--sessions-max", "3", "--memory-limit", "3G", "--no-maintenance", "--store", "mine"],
        &[("QUIVER_SESSIONS_MAX", "2"), ("QUIVER_PREPARED_MAX", "2")],
    )
    .ok();
    assert!(line(&output, "sessions_max = 3 ").ends_with("# flag"), "{output}");
    assert!(line(&output, "prepared_max = 2 ").ends_with("# environment"), "{output}");
    assert!(line(&output, "tickets_max = 1 ").ends_with("quiver.toml:3"), "{output}");
    assert!(line(&output, "savepoints_max = 10000 ").ends_with("# default"), "{output}");
    assert!(line(&output, "memory_limit = \"3GiB\" ").ends_with("# flag"), "{output}");
    assert!(line(&output, "maintenance = false ").ends_with("# flag"), "{output}");
    assert!(line(&output, "store = \"mine\" ").ends_with("# flag"), "{output}");
}

#[test]
fn the_file_may_be_named_by_the_environment() {
    let place = Place::new();
    let file = place.write("quiver.toml", "listen = \"127.0.0.1:4711\"\n");
    let output = printed(&[], &[("QUIVER_CONFIG", &file)]).ok();
    assert!(line(&output, "listen = \"127.0.0.1:4711\"").ends_with("quiver.toml:1"), "{output}");
}

#[test]
fn a_wrong_setting_is_an_error_with_its_source() {
    let place = Place::new();
    let file = place.write("quiver.toml", "sessions_max = 1\nlisen = \"127.0.0.1:0\"\n");
    let output = printed(&["--config", &file], &[]);
    assert_eq!(output.status, 1);
    assert!(output.err.contains("quiver.toml:2: there is no setting \"lisen\"; did you mean \"listen\"?"), "{}", output.err);
    assert_eq!(printed(&["--listen", "127.0.0.1:99999"], &[]).status, 2);
    let output = printed(&["--drain", "soon"], &[]);
    assert_eq!(output.status, 2);
    assert!(output.err.contains("--drain: a time such as"), "{}", output.err);
    let output = printed(&[], &[("QUIVER_DRAIN", "soon")]);
    assert_eq!(output.status, 1);
    assert!(output.err.contains("QUIVER_DRAIN: a time such as"), "{}", output.err);
    let output = printed(&["--otlp-endpoint", "127.0.0.1:4317"], &[]);
    assert!(output.err.contains("--otlp-endpoint: a URL such as"), "{}", output.err);
}

#[test]
fn a_variable_with_a_slip_is_a_warning() {
    let output = printed(&[], &[("QUIVER_SESION_IDLE", "1h")]);
    assert_eq!(output.status, 0);
    assert!(output.err.contains("QUIVER_SESION_IDLE, which is no setting; did you mean QUIVER_SESSION_IDLE?"), "{}", output.err);
}

#[test]
fn a_server_begins_as_its_file_says() {
    let place = Place::new();
    let store = place.store();
    let file = place.write("quiver.toml", &format!("store = '{store}'\nlisten = \"127.0.0.1:0\"\nhttp = \"127.0.0.1:0\"\nthreads = 2\n"));
    let mut child = command(&["serve", "--config", &file]).stdout(Stdio::piped()).spawn().expect("the binary starts");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut next = || lines.next().expect("a line").expect("text");
    let (first, second) = (next(), next());
    assert!(first.starts_with("listening on grpc://127.0.0.1:") && first.ends_with(&format!("with the store {store}")), "{first}");
    assert!(second.starts_with("health and metrics on http://127.0.0.1:"), "{second}");
    // SAFETY: kill(2) takes no memory; the process is a child that was not waited for yet. No test can hold it: it ends every test of this file.
    unsafe { libc::kill(i32::try_from(child.id()).expect("a process id"), libc::SIGTERM) };
    assert!(child.wait().expect("it ends").success());
}

#[test]
fn a_server_without_a_store_says_what_is_missing() {
    let place = Place::new();
    let output = place.run(&["serve"]);
    assert_eq!(output.status, 2);
    assert!(output.err.contains("quiver serve needs a store"), "{}", output.err);
}

/// The default build has OTLP. A missing collector does not delay the start.
#[cfg(feature = "otlp")]
#[test]
fn a_server_begins_although_its_collector_is_away() {
    let place = Place::new();
    let mut child = command(&["serve", "--store", &place.store(), "--listen", "127.0.0.1:0", "--otlp-endpoint", "http://127.0.0.1:1"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let first = BufReader::new(child.stdout.take().expect("a pipe")).lines().next().expect("a line").expect("text");
    assert!(first.starts_with("listening on grpc://127.0.0.1:"), "{first}");
    // SAFETY: kill(2) takes no memory; the process is a child that was not waited for yet. No test can hold it: it ends every test of this file.
    unsafe { libc::kill(i32::try_from(child.id()).expect("a process id"), libc::SIGTERM) };
    assert!(child.wait().expect("it ends").success());
}

#[cfg(not(feature = "otlp"))]
#[test]
fn a_build_without_otlp_says_so() {
    let place = Place::new();
    let output = place.run(&["serve", "--store", &place.store(), "--listen", "127.0.0.1:0", "--otlp-endpoint", "http://127.0.0.1:4317"]);
    assert_eq!(output.status, 1);
    assert!(output.err.contains("this build has no OTLP"), "{}", output.err);
}
