//! A server with a temporary store, and the binary connected to it.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use crate::quiver::{Output, Place, command, run};

pub struct Served {
    pub uri: String,
    child: Child,
    pub place: Place,
}

impl Served {
    pub fn new() -> Self {
        Self::on(Place::new(), "127.0.0.1:0")
    }

    pub fn on(place: Place, address: &str) -> Self {
        let mut child = command(&["serve", "--no-maintenance", "--store", &place.store(), "--listen", address])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("stdout is a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        let uri = line.split(' ').find(|word| word.starts_with("grpc://"));
        let uri = uri.unwrap_or_else(|| panic!("no address in {line:?}")).to_string();
        Served { uri, child, place }
    }

    /// `quiver --connect <this one> args…`
    pub fn quiver(&self, args: &[&str]) -> Output {
        self.quiver_with(args, "")
    }

    pub fn quiver_with(&self, args: &[&str], input: &str) -> Output {
        let mut all = vec!["--connect", &self.uri];
        all.extend(args);
        run(&all, input)
    }

    /// Kills the server, as if the machine had failed. Commits stay.
    pub fn killed(mut self) -> (Place, String) {
        self.child.kill().expect("a child");
        self.child.wait().expect("a child");
        let address = self.uri.trim_start_matches("grpc://").to_string();
        (std::mem::replace(&mut self.place, Place::new()), address)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
