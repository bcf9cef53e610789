//! Threads for work that keeps a processor busy: it must not run on the runtime's threads, and the query may be cancelled at any time.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use datafusion::common::{DataFusionError, Result};
use parking_lot::Mutex;
use tracing::Span;

use common::error::EngineError;

/// Set when the query is cancelled.
#[derive(Clone, Debug, Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// An error once the flag is set. Nobody sees it, because the waiting task is gone.
    pub fn check(&self) -> Result<()> {
        if self.is_set() { Err(EngineError::Cancelled.into_datafusion()) } else { Ok(()) }
    }

    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

struct StopOnDrop(StopFlag);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// Runs `work` on a thread for blocking work. Dropping the future sets the `StopFlag`; `work` must then end within 20 ms.
pub async fn in_background<R: Send + 'static>(work: impl FnOnce(&StopFlag) -> Result<R> + Send + 'static) -> Result<R> {
    let guard = StopOnDrop(StopFlag::default());
    let (stop, span) = (guard.0.clone(), Span::current());
    let done = tokio::task::spawn_blocking(move || span.in_scope(|| work(&stop))).await;
    done.unwrap_or_else(|error| Err(panic_error(&error.to_string())))
}

/// Runs `f` for each item on up to `threads` threads, including this one; each takes the next item. It ends between two items when
/// `stop` is set, or at the first error, which it returns. A panic in `f` is an error.
pub fn for_each<I: Send>(threads: usize, stop: &StopFlag, items: Vec<I>, f: impl Fn(I) -> Result<()> + Sync) -> Result<()> {
    let helpers = threads.min(items.len()).saturating_sub(1);
    let items = Mutex::new(items.into_iter());
    let failed: Mutex<Option<DataFusionError>> = Mutex::new(None);
    let work = || {
        while !stop.is_set() && failed.lock().is_none() {
            let Some(item) = items.lock().next() else { return };
            let done = catch_unwind(AssertUnwindSafe(|| f(item)));
            if let Err(error) = done.unwrap_or_else(|panic| Err(panic_error(panic_message(panic.as_ref())))) {
                failed.lock().get_or_insert(error);
            }
        }
    };
    let span = Span::current();
    thread::scope(|scope| {
        for _ in 0..helpers {
            let span = span.clone();
            let helper = thread::Builder::new().name("quiver-kernel".into());
            // If no more threads can be started, the existing ones do all the work.
            if helper.spawn_scoped(scope, move || span.in_scope(work)).is_err() {
                break;
            }
        }
        work();
    });
    match failed.into_inner() {
        Some(error) => Err(error),
        None if stop.is_set() => Err(EngineError::Cancelled.into_datafusion()),
        None => Ok(()),
    }
}

fn panic_error(why: &str) -> DataFusionError {
    EngineError::internal(format!("a kernel panicked: {why}")).into_datafusion()
}

fn panic_message(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic without a message")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;
    use std::sync::mpsc;
    use std::time::Duration;

    #[test]
    fn every_item_is_worked_on_once() {
        for (threads, n) in [(0, 3), (1, 0), (1, 5), (2, 1), (3, 1000), (64, 7)] {
            let mut items = vec![0_u32; n];
            for_each(threads, &StopFlag::default(), items.iter_mut().collect(), |item| {
                *item += 1;
                Ok(())
            })
            .unwrap();
            assert!(items.iter().all(|count| *count == 1), "{threads} threads, {n} items");
        }
    }

    #[test]
    fn the_first_error_ends_the_work() {
        let begun = AtomicUsize::new(0);
        let done = for_each(2, &StopFlag::default(), (0..1000).collect(), |item: usize| {
            begun.fetch_add(1, Ordering::Relaxed);
            if item == 3 { Err(DataFusionError::Execution("three".into())) } else { Ok(()) }
        });
        assert!(done.unwrap_err().to_string().contains("three"));
        // The other thread took these before it saw the error.
        assert!(begun.load(Ordering::Relaxed) < 1000);
    }

    #[test]
    fn a_panic_is_an_error_with_its_message() {
        let done = for_each(2, &StopFlag::default(), vec![1, 2, 3], |item| if item == 2 { panic!("item {item}") } else { Ok(()) });
        assert!(done.unwrap_err().to_string().contains("a kernel panicked: item 2"));
    }

    #[test]
    fn no_item_is_begun_after_the_stop() {
        let (stop, begun) = (StopFlag::default(), AtomicUsize::new(0));
        let done = for_each(1, &stop, vec![(); 10], |()| {
            if begun.fetch_add(1, Ordering::Relaxed) == 3 {
                stop.set();
            }
            Ok(())
        });
        assert!(done.unwrap_err().to_string().contains("cancelled"));
        assert_eq!(begun.load(Ordering::Relaxed), 4);
    }

    #[tokio::test]
    async fn work_in_the_background_gives_its_result() {
        assert!(in_background(|stop| Ok(!stop.is_set())).await.unwrap());
        let panicked = in_background(|_| -> Result<()> { panic!("broken") }).await;
        assert!(panicked.unwrap_err().to_string().contains("a kernel panicked"));
    }

    #[tokio::test]
    async fn dropping_the_future_stops_the_work() {
        let (sender, receiver) = mpsc::channel();
        let work = in_background(move |stop| {
            while !stop.is_set() {
                thread::sleep(Duration::from_millis(1));
            }
            let _ = sender.send(());
            Ok(())
        });
        assert!(tokio::time::timeout(Duration::from_millis(20), work).await.is_err());
        let stopped = tokio::task::spawn_blocking(move || receiver.recv_timeout(Duration::from_secs(10))).await.unwrap();
        assert!(stopped.is_ok());
    }
}
