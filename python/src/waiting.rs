//! Waits for work of the runtime without holding the interpreter's lock, and handles signals meanwhile.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

use pyo3::{PyResult, Python};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::errors;

/// The maximum delay until a signal is handled.
pub const TICK: Duration = Duration::from_millis(50);

struct ParkedThread(Thread);

impl Wake for ParkedThread {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits with this thread's own timeout: timers of the runtime are late if queries keep all of its threads busy.
pub fn wait_for<T>(mut work: Pin<&mut impl Future<Output = T>>, time: Duration) -> Option<T> {
    let waker = Waker::from(Arc::new(ParkedThread(std::thread::current())));
    let end = Instant::now() + time;
    loop {
        if let Poll::Ready(done) = work.as_mut().poll(&mut Context::from_waker(&waker)) {
            return Some(done);
        }
        let rest = end.saturating_duration_since(Instant::now());
        if rest.is_zero() {
            return None;
        }
        std::thread::park_timeout(rest);
    }
}

/// Work that is aborted when this is dropped.
struct Task<T>(JoinHandle<T>);

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Runs `work` on the threads of the runtime. A signal that Python has a handler for is handled while it runs; if the
/// handler raises, as Ctrl-C's does, the work stops and that is the error.
pub fn wait<T: Send + 'static>(py: Python<'_>, runtime: &Handle, work: impl Future<Output = T> + Send + 'static) -> PyResult<T> {
    wait_and(py, runtime, work, || Ok(()))
}

/// Like `wait`, and calls `look` repeatedly.
pub fn wait_and<T: Send + 'static>(
    py: Python<'_>,
    runtime: &Handle,
    work: impl Future<Output = T> + Send + 'static,
    mut look: impl FnMut() -> PyResult<()>,
) -> PyResult<T> {
    let mut task = Task(runtime.spawn(work));
    loop {
        let step = py.detach(|| wait_for(Pin::new(&mut task.0), TICK));
        match step {
            Some(Ok(done)) => return Ok(done),
            Some(Err(stopped)) if stopped.is_cancelled() => return Err(errors::closed()),
            Some(Err(stopped)) => return Err(errors::internal(&format!("the statement stopped unexpectedly ({stopped})"))),
            None => {
                py.check_signals()?;
                look()?;
            }
        }
    }
}
