//! A pseudo terminal that runs the binary, as a person would see it.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Long enough for a loaded machine; a test that passes never waits for it.
const PATIENCE: Duration = Duration::from_secs(30);

pub struct Terminal {
    child: Child,
    keyboard: File,
    screen: Arc<Mutex<String>>,
    position: usize,
    /// The directory of the history.
    _state: TempDir,
}

impl Terminal {
    pub fn open(args: &[&str]) -> Self {
        Self::open_with(args, &[])
    }

    pub fn open_with(args: &[&str], environment: &[(&str, &str)]) -> Self {
        let (master, slave) = pseudo_terminal();
        let state = tempfile::tempdir().expect("a temporary directory");
        let mut command = crate::quiver::command(args);
        let duplicate = || Stdio::from(slave.try_clone().expect("a second handle"));
        command
            .stdin(duplicate())
            .stdout(duplicate())
            .stderr(duplicate())
            .env("TERM", "xterm-256color")
            .env("XDG_STATE_HOME", state.path())
            .envs(environment.iter().copied());
        // SAFETY: between fork and exec only setsid(2) and ioctl(2) are called, which are
        // async-signal-safe and touch no memory. Held by: every test in `shell.rs`.
        unsafe {
            command.pre_exec(|| {
                libc::setsid();
                libc::ioctl(0, libc::TIOCSCTTY, 0);
                Ok(())
            });
        }
        let child = command.spawn().expect("the binary starts");
        drop(slave);
        let keyboard = File::from(master);
        let screen = Arc::new(Mutex::new(String::new()));
        watch(keyboard.try_clone().expect("a second handle"), Arc::clone(&screen));
        Terminal { child, keyboard, screen, position: 0, _state: state }
    }

    pub fn state_directory(&self) -> &std::path::Path {
        self._state.path()
    }

    pub fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("keys can be pressed");
    }

    /// Waits until `text` appears after the previously awaited text, and returns the output until
    /// then.
    pub fn wait_for(&mut self, text: &str) -> String {
        let start = Instant::now();
        loop {
            {
                let screen = self.screen.lock().expect("the screen");
                if let Some(at) = screen[self.position..].find(text) {
                    let end = self.position + at + text.len();
                    let shown = screen[self.position..end].to_string();
                    drop(screen);
                    self.position = end;
                    return shown;
                }
                assert!(start.elapsed() < PATIENCE, "waited for {text:?}, saw {:?}", &screen[self.position..]);
            }
            thread::sleep(Duration::from_millis(10));
        }
    }

    /// Sends SIGTERM, as a system that shuts down does.
    pub fn terminate(&self) {
        // SAFETY: kill(2) with the id of a child that was not waited for touches no memory.
        // Held by: the test that calls this, which waits afterwards.
        let sent = unsafe { libc::kill(self.child.id() as libc::pid_t, libc::SIGTERM) };
        assert_eq!(sent, 0);
    }

    /// The exit status, once the process has ended.
    pub fn ended(mut self) -> i32 {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if let Some(status) = self.child.try_wait().expect("a child") {
                return status.code().unwrap_or(-1);
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("still running, screen: {:?}", self.screen.lock().expect("the screen"));
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Collects the screen and answers the editor's question where the cursor is, as terminals do.
fn watch(mut master: File, screen: Arc<Mutex<String>>) {
    thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(length @ 1..) = master.read(&mut buffer) {
            let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
            for _ in text.matches("\u{1b}[6n") {
                let _ = master.write_all(b"\x1b[1;1R");
            }
            screen.lock().expect("the screen").push_str(&text);
        }
    });
}

fn pseudo_terminal() -> (OwnedFd, OwnedFd) {
    let (mut master, mut slave) = (0, 0);
    let size = libc::winsize { ws_row: 30, ws_col: 100, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: all pointers are to live locals or null, which openpty(3) allows for the name and
    // the settings; on success both descriptors are new and owned by nobody else. Held by: every
    // test in `shell.rs`.
    unsafe {
        let failed = libc::openpty(&mut master, &mut slave, std::ptr::null_mut(), std::ptr::null_mut(), &size);
        assert_eq!(failed, 0, "{}", std::io::Error::last_os_error());
        (OwnedFd::from_raw_fd(master), OwnedFd::from_raw_fd(slave))
    }
}
