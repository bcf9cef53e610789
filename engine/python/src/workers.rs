//! The processes of a store: those that wait for a next call of their function.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::error::PythonError;
use super::function::Definition;
use super::process::Process;

/// Processes that wait.
const IDLE_MAX: usize = 8;
const IDLE_TIME_MAX: Duration = Duration::from_secs(60);

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

pub struct PythonWorkers {
    options: PythonOptions,
    threads: usize,
    idle: Mutex<Vec<IdleProcess>>,
    /// It has loaded its libraries, which takes a quarter of a second, and has no function yet.
    spare: Arc<Mutex<Option<Process>>>,
}

impl fmt::Debug for PythonWorkers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PythonWorkers").field("options", &self.options).finish_non_exhaustive()
    }
}

impl PythonWorkers {
    /// `threads` is how many the libraries of a function may use.
    pub fn new(options: PythonOptions, threads: usize) -> PythonWorkers {
        PythonWorkers { options, threads, idle: Mutex::default(), spare: Arc::default() }
    }

    /// Lends a process of this function. It is kept for the next call unless it has ended, or was left in the middle of a call.
    pub(super) fn with_process<T>(
        &self,
        definition: &Arc<Definition>,
        is_cancelled: &dyn Fn() -> bool,
        work: impl FnOnce(&mut Process) -> Result<T, PythonError>,
    ) -> Result<T, PythonError> {
        let idle = {
            let mut idle = self.idle.lock();
            let position = idle.iter().position(|idle| idle.definition == *definition);
            position.map(|position| idle.swap_remove(position))
        };
        let mut process = match idle {
            Some(idle) => idle.process,
            None => {
                let mut process = self.new_process()?;
                process.define(definition, &self.options.imports, is_cancelled)?;
                process
            }
        };
        let done = work(&mut process);
        // After its own error a function can be called again.
        if matches!(done, Ok(_) | Err(PythonError::Failed { .. })) && process.trim().is_ok() {
            self.keep(IdleProcess { definition: Arc::clone(definition), process, since: Instant::now() });
        }
        done
    }

    /// The spare one; another one starts beside the call.
    fn new_process(&self) -> Result<Process, PythonError> {
        // The lock ends here.
        let spare = self.spare.lock().take();
        let process = match spare.and_then(|mut process| process.is_alive().then_some(process)) {
            Some(process) => process,
            None => Process::start(&self.options.interpreter, self.threads)?,
        };
        let (spare, interpreter, threads) = (Arc::clone(&self.spare), self.options.interpreter.clone(), self.threads);
        // Without the thread the next function waits for its process.
        let started = thread::Builder::new().name("quiver-python".into()).spawn(move || {
            if let Ok(process) = Process::start(&interpreter, threads) {
                *spare.lock() = Some(process);
            }
        });
        drop(started);
        Ok(process)
    }

    fn keep(&self, process: IdleProcess) {
        let mut idle = self.idle.lock();
        idle.push(process);
        let mut ended: Vec<IdleProcess> = idle.extract_if(.., |idle| idle.since.elapsed() > IDLE_TIME_MAX).collect();
        if idle.len() > IDLE_MAX {
            ended.push(idle.remove(0));
        }
        drop(idle);
        // Each of them is waited for.
        drop(ended);
    }
}
