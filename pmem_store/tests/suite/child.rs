//! Parts of tests that need their own process: signals, limits, the environment, locks.

use std::process::{Command, ExitStatus, Stdio};

const CHILD: &str = "QUIVER_TEST_CHILD";

/// Whether [`rerun`] has started this process for the part of a test that needs its own
/// process.
pub fn in_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// A command that runs one test of this binary (named "module::function") in its own process.
pub fn child(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("own path"));
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(CHILD, "1");
    command
}

/// Makes a write beyond so many bytes of a file fail in this process, which must be a child.
pub fn limit_file_size(size_bytes: u64) {
    let limit = libc::rlimit { rlim_cur: size_bytes, rlim_max: size_bytes };
    // SAFETY: valid arguments; only this child process is concerned.
    unsafe {
        libc::signal(libc::SIGXFSZ, libc::SIG_IGN);
        libc::setrlimit(libc::RLIMIT_FSIZE, &limit);
    }
}

/// Runs [`child`] to its end; shows its output only if it fails.
pub fn rerun(test: &str, environment: &[(&str, &str)]) -> ExitStatus {
    let output = child(test).envs(environment.iter().copied()).stdin(Stdio::null()).output().expect("the test binary starts again");
    let stdout = String::from_utf8_lossy(&output.stdout);
    if output.status.code() == Some(101) {
        eprintln!("{test} in a child: {stdout}{}", String::from_utf8_lossy(&output.stderr));
    }
    assert!(stdout.contains("running 1 test"), "there is no test {test}");
    output.status
}
