//! The processes of a store: those that wait for a next call of their function.

use std::cell::Cell;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};
use tokio::sync::Semaphore;

use super::definition::Definition;
use super::error::PythonError;
use super::process::Process;

/// Processes that wait.
const IDLE_MAX: usize = 8;
const IDLE_TIME_MAX: Duration = Duration::from_secs(60);
const SWEEP_INTERVAL: Duration = Duration::from_secs(5);
/// Calls at once, for each thread of a query. More of them take the processors from queries, and get less done.
const CALLS_PER_THREAD: usize = 2;

/// What functions in Python may have; who runs the engine decides it.
#[derive(Debug, Clone)]
pub struct PythonOptions {
    /// Runs them; it needs the package pyarrow.
    pub interpreter: PathBuf,
    /// The modules that they may import, with all that is in them; `*` is any.
    pub imports: Vec<String>,
}

impl PythonOptions {
    /// Of the standard library what computes, numpy and pyarrow.
    const IMPORTS: [&str; 24] = [
        "array",
        "bisect",
        "cmath",
        "collections",
        "copy",
        "dataclasses",
        "datetime",
        "decimal",
        "enum",
        "fractions",
        "functools",
        "heapq",
        "itertools",
        "json",
        "math",
        "numpy",
        "operator",
        "pyarrow",
        "random",
        "re",
        "statistics",
        "string",
        "typing",
        "zoneinfo",
    ];

    /// `more` are names of modules with commas between them.
    pub fn new(interpreter: PathBuf, more: &str) -> PythonOptions {
        let more = more.split(',').map(str::trim).filter(|name| !name.is_empty());
        PythonOptions { interpreter, imports: PythonOptions::IMPORTS.into_iter().chain(more).map(str::to_string).collect() }
    }
}

struct IdleProcess {
    definition: Arc<Definition>,
    process: Process,
    since: Instant,
}

/// Processes that wait.
#[derive(Default)]
struct Waiting {
    idle: Vec<IdleProcess>,
    /// It has loaded its libraries, which takes a quarter of a second, and has no function yet.
    spare: Option<Process>,
    /// Whether a thread ends those that have waited too long.
    is_swept: bool,
}

pub struct PythonWorkers {
    options: PythonOptions,
    threads: usize,
    waiting: Arc<Mutex<Waiting>>,
    /// Procedures that no other one waits for: as many as calls at once.
    procedures: Arc<Semaphore>,
    /// How many calls run.
    running: Mutex<usize>,
    ended: Condvar,
}

/// A call that runs.
pub(super) struct RunningCall<'a> {
    workers: &'a PythonWorkers,
    is_counted: Cell<bool>,
}

impl RunningCall<'_> {
    /// Does what the call waits for. Meanwhile it is no call that others wait for: these may be what it waits for.
    pub fn while_waiting<T>(
        &self,
        is_cancelled: &dyn Fn() -> bool,
        work: impl FnOnce() -> Result<T, PythonError>,
    ) -> Result<T, PythonError> {
        self.leave();
        let done = work()?;
        self.workers.enter(is_cancelled)?;
        self.is_counted.set(true);
        Ok(done)
    }

    fn leave(&self) {
        if self.is_counted.replace(false) {
            *self.workers.running.lock() -= 1;
            self.workers.ended.notify_one();
        }
    }
}

impl Drop for RunningCall<'_> {
    fn drop(&mut self) {
        self.leave();
    }
}

impl fmt::Debug for PythonWorkers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PythonWorkers").field("options", &self.options).finish_non_exhaustive()
    }
}

impl PythonWorkers {
    /// `threads` is how many the libraries of a function may use.
    pub fn new(options: PythonOptions, threads: usize) -> PythonWorkers {
        let procedures = Arc::new(Semaphore::new(CALLS_PER_THREAD * threads.max(1)));
        PythonWorkers { options, threads, waiting: Arc::default(), procedures, running: Mutex::new(0), ended: Condvar::new() }
    }

    /// What a procedure waits for that no other one waits for.
    pub(super) fn procedure_admission(&self) -> Arc<Semaphore> {
        Arc::clone(&self.procedures)
    }

    /// Lends a process of this function. It is kept for the next call unless it has ended, or was left in the middle of a call.
    pub(super) fn with_process<T>(
        &self,
        definition: &Arc<Definition>,
        is_cancelled: &dyn Fn() -> bool,
        work: impl FnOnce(&mut Process, &RunningCall<'_>) -> Result<T, PythonError>,
    ) -> Result<T, PythonError> {
        self.enter(is_cancelled)?;
        let running = RunningCall { workers: self, is_counted: Cell::new(true) };
        let idle = {
            let mut waiting = self.waiting.lock();
            let position = waiting.idle.iter().position(|idle| idle.definition == *definition);
            position.map(|position| waiting.idle.swap_remove(position).process)
        };
        let mut process = match idle.and_then(alive) {
            Some(process) => process,
            None => {
                let mut process = self.new_process()?;
                process.define(definition, &self.options.imports, is_cancelled)?;
                process
            }
        };
        let done = work(&mut process, &running);
        // After its own error a function can be called again.
        if matches!(done, Ok(_) | Err(PythonError::Failed { .. })) && process.trim().is_ok() {
            self.keep(IdleProcess { definition: Arc::clone(definition), process, since: Instant::now() });
        }
        done
    }

    /// Waits while there are as many calls as there may be: each has a process with memory of its own. A call waits for no other one while it
    /// is counted, so this ends.
    fn enter(&self, is_cancelled: &dyn Fn() -> bool) -> Result<(), PythonError> {
        let mut running = self.running.lock();
        while *running >= CALLS_PER_THREAD * self.threads.max(1) {
            self.ended.wait_for(&mut running, Duration::from_millis(10));
            if is_cancelled() {
                return Err(PythonError::Cancelled);
            }
        }
        *running += 1;
        Ok(())
    }

    /// The spare one; another one starts beside the call.
    fn new_process(&self) -> Result<Process, PythonError> {
        // The lock ends here.
        let spare = self.waiting.lock().spare.take();
        let process = match spare.and_then(alive) {
            Some(process) => process,
            None => Process::start(&self.options.interpreter, self.threads)?,
        };
        let (waiting, interpreter, threads) = (Arc::clone(&self.waiting), self.options.interpreter.clone(), self.threads);
        // Without the thread the next function waits for its process.
        let started = thread::Builder::new().name("quiver-python".into()).spawn(move || {
            if let Ok(process) = Process::start(&interpreter, threads) {
                let other = waiting.lock().spare.replace(process);
                drop(other);
            }
        });
        drop(started);
        Ok(process)
    }

    fn keep(&self, process: IdleProcess) {
        let mut waiting = self.waiting.lock();
        waiting.idle.push(process);
        let ended = (waiting.idle.len() > IDLE_MAX).then(|| waiting.idle.remove(0));
        let starts_sweep = !std::mem::replace(&mut waiting.is_swept, true);
        drop(waiting);
        // It is waited for.
        drop(ended);
        if starts_sweep {
            let waiting = Arc::downgrade(&self.waiting);
            let started = thread::Builder::new().name("quiver-python-sweep".into()).spawn(move || sweep(&waiting));
            if started.is_err() {
                self.waiting.lock().is_swept = false;
            }
        }
    }
}

fn alive(mut process: Process) -> Option<Process> {
    process.is_alive().then_some(process)
}

/// Ends processes that have waited too long, and with the last one the spare one.
fn sweep(waiting: &Weak<Mutex<Waiting>>) {
    loop {
        // The engine may end meanwhile.
        thread::sleep(SWEEP_INTERVAL);
        let Some(waiting) = waiting.upgrade() else { return };
        let mut all = waiting.lock();
        let ended: Vec<IdleProcess> = all.idle.extract_if(.., |idle| idle.since.elapsed() > IDLE_TIME_MAX).collect();
        let is_last = all.idle.is_empty();
        let spare = if is_last { all.spare.take() } else { None };
        all.is_swept = !is_last;
        drop(all);
        // Each of them is waited for.
        drop((ended, spare));
        if is_last {
            return;
        }
    }
}
