//! Ctrl-C and the signals that end a process, in a form that a query can wait for.
//!
//! A separate thread receives signals, so that none is lost between two statements or delayed
//! while all other threads process a batch. In the shell, Ctrl-C cancels the running query;
//! elsewhere it ends the process, even when the main thread is stuck in a write that nobody reads.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// How long the process may take to clean up after a signal (a temporary store, a pager).
const GRACE: Duration = Duration::from_secs(2);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopRequest {
    Interrupt,
    Terminate,
    HangUp,
}

impl StopRequest {
    /// 128 + the number of the signal, as shells report it.
    pub fn exit_status(self) -> u8 {
        match self {
            StopRequest::HangUp => 129,
            StopRequest::Interrupt => 130,
            StopRequest::Terminate => 143,
        }
    }
}

impl fmt::Display for StopRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StopRequest::Interrupt => "cancelled",
            StopRequest::Terminate => "terminated by a signal",
            StopRequest::HangUp => "the terminal was closed",
        })
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Ctrl-C cancels the running statement; only the other signals end the process.
    Shell,
    /// Every signal ends the process.
    Batch,
}

pub struct Interrupts {
    receiver: watch::Receiver<Option<StopRequest>>,
    /// Whether a signal has asked the process to end.
    leave: Arc<OnceLock<StopRequest>>,
    editor_break: Arc<AtomicBool>,
}

impl Interrupts {
    pub fn listen(kind: Kind) -> io::Result<Interrupts> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let inside = runtime.enter();
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut hang_up = signal(SignalKind::hangup())?;
        drop(inside);
        let (sender, receiver) = watch::channel(None);
        let leave = Arc::new(OnceLock::new());
        let editor_break = Arc::new(AtomicBool::new(false));
        let (leaving, breaking) = (Arc::clone(&leave), Arc::clone(&editor_break));
        let listening = async move {
            loop {
                let stop = tokio::select! {
                    _ = interrupt.recv() => StopRequest::Interrupt,
                    _ = terminate.recv() => StopRequest::Terminate,
                    _ = hang_up.recv() => StopRequest::HangUp,
                };
                if kind == Kind::Batch || stop != StopRequest::Interrupt {
                    end_soon(stop, leaving.set(stop).is_err());
                    breaking.store(true, Ordering::SeqCst);
                }
                sender.send_replace(Some(stop));
            }
        };
        let name = "signals".to_string();
        std::thread::Builder::new().name(name).spawn(move || runtime.block_on(listening))?;
        Ok(Interrupts { receiver, leave, editor_break })
    }

    /// Waits for the next signal that was not seen yet.
    pub async fn next(&mut self) -> StopRequest {
        loop {
            if self.receiver.changed().await.is_err() {
                // The thread has ended, so no signal will come.
                std::future::pending::<()>().await;
            }
            if let Some(stop) = *self.receiver.borrow_and_update() {
                return stop;
            }
        }
    }

    /// Discards a Ctrl-C that was meant for a pager or another program.
    pub fn forget(&mut self) {
        if self.must_leave().is_none() {
            self.receiver.mark_unchanged();
        }
    }

    pub fn must_leave(&self) -> Option<StopRequest> {
        self.leave.get().copied()
    }

    /// Set when a signal has asked the process to end. The line editor checks and clears it.
    pub fn editor_break(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.editor_break)
    }
}

/// Ends the process if it does not end in time, or after a second signal.
fn end_soon(stop: StopRequest, again: bool) {
    let status = i32::from(stop.exit_status());
    if again {
        std::process::exit(status);
    }
    std::thread::spawn(move || {
        std::thread::sleep(GRACE);
        std::process::exit(status);
    });
}
