//! The threads that plan and run statements. Those that serve connections do neither.
//!
//! An executor is a runtime with as many threads as a query keeps busy. Two statements share one only where more of them are open than
//! there are executors. A step of an operator or of the planner cannot be interrupted, and may take seconds; it delays only what shares
//! its executor. Between executors the operating system divides the time of the processors.
//!
//! The threads that serve connections, verify passwords and end statements have a higher priority: they need little, and a new session
//! would otherwise wait for several heavy statements.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use engine::WORKER_STACK_BYTES;
use flight_wire::guarded;
use futures::{FutureExt, Stream, StreamExt};
use parking_lot::Mutex;
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::task::{JoinError, JoinSet};
use tonic::Status;
use tracing::Instrument;

use crate::trace::CallTrace;

/// Of all executors together, about. A thread that has nothing to do keeps some MiB that its allocator holds for it.
const THREADS_MAX: usize = 128;
const EXECUTORS_MIN: usize = 8;
const EXECUTORS_MAX: usize = 16;
/// For calls that end others: they are few and short.
const CONTROL_THREADS: usize = 2;

/// Of one server. Executors begin when they are first needed, and end with it.
pub struct Executors {
    threads: usize,
    executors_max: usize,
    state: Mutex<ExecutorState>,
}

#[derive(Default)]
struct ExecutorState {
    executors: Vec<Executor>,
    /// Never taken by statements that may take long.
    control: Option<Executor>,
    is_over: bool,
}

struct Executor {
    runtime: Runtime,
    leases: Arc<AtomicUsize>,
}

/// An executor for one call or one result, until this is dropped.
pub struct ExecutorLease {
    handle: Handle,
    leases: Arc<AtomicUsize>,
}

impl Executors {
    /// For queries that keep so many threads busy.
    pub fn new(threads: usize) -> Arc<Executors> {
        let threads = threads.max(1);
        let executors_max = (THREADS_MAX / threads).clamp(EXECUTORS_MIN, EXECUTORS_MAX);
        Arc::new(Executors { threads, executors_max, state: Mutex::default() })
    }

    /// For a statement. Where no thread can be started it works on the threads of the caller.
    pub fn lease(&self) -> ExecutorLease {
        let mut state = self.state.lock();
        let is_free = |executor: &&Executor| executor.leases.load(Ordering::Acquire) == 0 && executor.has_idle_thread();
        if let Some(free) = state.executors.iter().find(is_free) {
            return free.lease();
        }
        if state.executors.len() < self.executors_max
            && let Some(executor) = state.start(self.threads, "quiver-query", engine::lower_thread_priority)
        {
            let lease = executor.lease();
            state.executors.push(executor);
            return lease;
        }
        // An idle thread takes up what comes at once, however many results are open there and wait for their readers.
        let load = |executor: &&Executor| (!executor.has_idle_thread(), executor.leases.load(Ordering::Acquire));
        state.executors.iter().min_by_key(load).map_or_else(ExecutorLease::here, Executor::lease)
    }

    /// For what ends other statements: it must not wait for those.
    pub fn control(&self) -> ExecutorLease {
        let mut state = self.state.lock();
        if state.control.is_none() {
            state.control = state.start(CONTROL_THREADS, "quiver-control", || ());
        }
        state.control.as_ref().map_or_else(ExecutorLease::here, Executor::lease)
    }

    /// Ends all threads, those in the middle of something after `patience` at most.
    pub async fn end(&self, patience: Duration) {
        let ended = {
            let mut state = self.state.lock();
            state.is_over = true;
            let control = state.control.take();
            state.executors.drain(..).chain(control).collect::<Vec<_>>()
        };
        let until = Instant::now() + patience;
        // Waiting for threads blocks.
        let waited = tokio::task::spawn_blocking(move || {
            ended.into_iter().for_each(|executor| executor.runtime.shutdown_timeout(until.saturating_duration_since(Instant::now())));
        });
        let _ = waited.await;
    }
}

impl Drop for Executors {
    fn drop(&mut self) {
        let state = self.state.get_mut();
        state.executors.drain(..).chain(state.control.take()).for_each(|executor| executor.runtime.shutdown_background());
    }
}

impl ExecutorState {
    /// Each thread calls `prepare` first.
    fn start(&self, threads: usize, name: &str, prepare: fn()) -> Option<Executor> {
        if self.is_over {
            return None;
        }
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(threads).thread_stack_size(WORKER_STACK_BYTES).thread_name(name).on_thread_start(prepare).enable_all();
        // tokio panics where the system has no more threads.
        match guarded(|| builder.build()) {
            Ok(Ok(runtime)) => Some(Executor { runtime, leases: Arc::default() }),
            refused => {
                let why = refused.map(|built| built.err().map(|error| error.to_string())).unwrap_or_default();
                tracing::warn!(?why, "no more threads can be started for statements: they share those there are");
                None
            }
        }
    }
}

impl Executor {
    fn lease(&self) -> ExecutorLease {
        self.leases.fetch_add(1, Ordering::AcqRel);
        ExecutorLease { handle: self.runtime.handle().clone(), leases: Arc::clone(&self.leases) }
    }

    fn has_idle_thread(&self) -> bool {
        let metrics = self.runtime.metrics();
        // Odd while the thread sleeps.
        (0..metrics.num_workers()).any(|worker| metrics.worker_park_unpark_count(worker) % 2 == 1)
    }
}

impl ExecutorLease {
    /// The threads of the caller.
    fn here() -> ExecutorLease {
        ExecutorLease { handle: Handle::current(), leases: Arc::new(AtomicUsize::new(1)) }
    }

    /// What `work` gives, which works on the executor. Dropped, it drops `work` there, at its next pause.
    pub async fn run<T: Send + 'static>(self, work: impl Future<Output = Result<T, Status>> + Send + 'static) -> Result<T, Status> {
        let mut task = JoinSet::new();
        self.spawn(&mut task, work);
        match task.join_next().await {
            Some(Ok(done)) => done,
            Some(Err(error)) if error.is_panic() => Err(broken_down(&error)),
            _ => Err(Status::unavailable("the server is ending; run the statement again when it is back")),
        }
    }

    /// Keeps the lease as long as `work`.
    pub fn spawn<T: Send + 'static>(self, task: &mut JoinSet<T>, work: impl Future<Output = T> + Send + 'static) {
        let work = InCallContext::new(Box::pin(work.in_current_span()));
        let handle = self.handle.clone();
        task.spawn_on(
            async move {
                let _lease = self;
                work.await
            },
            &handle,
        );
    }
}

impl Drop for ExecutorLease {
    fn drop(&mut self) {
        self.leases.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Polled and dropped as a part of the call, whichever thread does it.
pub struct InCallContext<T> {
    work: Option<T>,
    call: CallTrace,
}

impl<T> InCallContext<T> {
    pub fn new(work: T) -> InCallContext<T> {
        InCallContext { work: Some(work), call: CallTrace::current() }
    }
}

impl<T: Future + Unpin> Future for InCallContext<T> {
    type Output = T::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T::Output> {
        let InCallContext { work, call } = &mut *self;
        match work {
            Some(work) => call.within(|| work.poll_unpin(context)),
            None => Poll::Pending,
        }
    }
}

impl<T: Stream + Unpin> Stream for InCallContext<T> {
    type Item = T::Item;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T::Item>> {
        let InCallContext { work, call } = &mut *self;
        match work {
            Some(work) => call.within(|| work.poll_next_unpin(context)),
            None => Poll::Ready(None),
        }
    }
}

impl<T> Unpin for InCallContext<T> {}

impl<T> Drop for InCallContext<T> {
    fn drop(&mut self) {
        let work = self.work.take();
        self.call.within(|| drop(work));
    }
}

fn broken_down(error: &JoinError) -> Status {
    tracing::error!("a call broke down: {error}");
    Status::internal("the server broke down over this call; please report it")
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    /// Blocks all threads of an executor until the sender is dropped.
    fn blocking(executors: &Executors, task: &mut JoinSet<()>) -> Sender<()> {
        let (end, ended) = channel::<()>();
        let (ended, (begin, begun)) = (Arc::new(Mutex::new(ended)), channel());
        let block = || {
            let (ended, begin): (Arc<Mutex<Receiver<()>>>, _) = (Arc::clone(&ended), begin.clone());
            async move {
                begin.send(()).unwrap();
                let _ = ended.lock().recv();
            }
        };
        let lease = executors.lease();
        (1..executors.threads).for_each(|_| drop(task.spawn_on(block(), &lease.handle)));
        lease.spawn(task, block());
        (0..executors.threads).for_each(|_| begun.recv().unwrap());
        end
    }

    #[tokio::test]
    async fn statements_that_never_pause_keep_no_other_waiting_while_there_are_executors() {
        let executors = Executors::new(2);
        let mut tasks = JoinSet::new();
        let mut ends: Vec<_> = (1..executors.executors_max).map(|_| blocking(&executors, &mut tasks)).collect();
        assert_eq!(executors.lease().run(async { Ok(7) }).await.unwrap(), 7);
        ends.push(blocking(&executors, &mut tasks));
        assert_eq!(executors.control().run(async { Ok(8) }).await.unwrap(), 8);
        drop(ends);
        tasks.join_all().await;
        executors.end(Duration::from_secs(10)).await;
    }

    /// Of the calling thread.
    fn nice() -> i32 {
        let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
        let (_, behind_name) = stat.rsplit_once(')').unwrap();
        behind_name.split_whitespace().nth(16).unwrap().parse().unwrap()
    }

    #[tokio::test]
    async fn threads_of_statements_have_a_lower_priority_than_those_of_connections_and_of_control() {
        let executors = Executors::new(1);
        let behind = (nice() + 2).min(19);
        let nice_of_both = async { Ok((nice(), tokio::task::spawn_blocking(nice).await.unwrap())) };
        assert_eq!(executors.lease().run(nice_of_both).await.unwrap(), (behind, behind));
        assert_eq!(executors.control().run(async { Ok(nice()) }).await.unwrap(), nice());
        executors.end(Duration::from_secs(10)).await;
    }

    #[tokio::test]
    async fn an_executor_is_used_again() {
        let executors = Executors::new(1);
        for _ in 0..100 {
            executors.lease().run(async { Ok(()) }).await.unwrap();
            // Its thread goes to sleep soon after the result has come.
            while !executors.state.lock().executors[0].has_idle_thread() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
        assert_eq!(executors.state.lock().executors.len(), 1);
        executors.end(Duration::from_secs(10)).await;
        assert!(executors.lease().run(async { Ok(()) }).await.is_ok(), "what comes late still runs, on the caller's threads");
    }

    #[tokio::test]
    async fn a_call_that_is_dropped_is_dropped_there_and_gives_its_executor_back() {
        let executors = Executors::new(1);
        let guard = Arc::new(());
        let of_work = Arc::clone(&guard);
        let mut call = Box::pin(executors.lease().run(async move {
            let _guard = of_work;
            std::future::pending::<Result<(), Status>>().await
        }));
        assert!(futures::poll!(&mut call).is_pending());
        drop(call);
        let release = async {
            while Arc::strong_count(&guard) > 1 || executors.state.lock().executors[0].leases.load(Ordering::Acquire) > 0 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), release).await.expect("the work is dropped with its caller");
    }

    #[tokio::test]
    async fn a_panic_is_an_error_of_its_call_only() {
        let executors = Executors::new(1);
        let failed = executors.lease().run(async { if true { panic!("a bug") } else { Ok(()) } }).await;
        assert_eq!(failed.unwrap_err().code(), tonic::Code::Internal);
        assert!(executors.lease().run(async { Ok(()) }).await.is_ok());
    }
}
