//! Starts the binary and captures its output.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

pub struct Output {
    pub out: String,
    pub err: String,
    pub status: i32,
}

impl Output {
    /// Panics with the output if the process failed.
    pub fn ok(self) -> String {
        assert_eq!(self.status, 0, "stdout: {}\nstderr: {}", self.out, self.err);
        self.out
    }
}

/// A directory per test, with a store that is created on first use.
pub struct Place {
    directory: TempDir,
}

impl Place {
    pub fn new() -> Self {
        Place { directory: tempfile::tempdir().expect("a temporary directory") }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn store(&self) -> String {
        self.path("store").display().to_string()
    }

    pub fn write(&self, name: &str, content: &str) -> String {
        std::fs::write(self.path(name), content).expect("a file can be written");
        self.path(name).display().to_string()
    }

    /// `quiver --store <this one> args…`
    pub fn quiver(&self, args: &[&str]) -> Output {
        let store = self.store();
        let mut all = vec!["--store", &store];
        all.extend(args);
        run_in(self.directory.path(), &all, "")
    }

    pub fn run(&self, args: &[&str]) -> Output {
        run_in(self.directory.path(), args, "")
    }
}

pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_quiver"));
    command.args(args).env_remove("PAGER").env("NO_COLOR", "1");
    command
}

pub fn run(args: &[&str], input: &str) -> Output {
    run_in(Path::new("."), args, input)
}

fn run_in(directory: &Path, args: &[&str], input: &str) -> Output {
    let mut child = command(args)
        .current_dir(directory)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut stdin = child.stdin.take().expect("stdin is a pipe");
    // A program that ends early closes its stdin, which is fine.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().expect("the binary ends");
    Output {
        out: String::from_utf8_lossy(&output.stdout).into_owned(),
        err: String::from_utf8_lossy(&output.stderr).into_owned(),
        status: output.status.code().unwrap_or(-1),
    }
}
