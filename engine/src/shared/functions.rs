//! What functions of users run in.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use python_functions::{PythonOptions, PythonWorkers};

use crate::options::EngineOptions;
use table::catalog::PlanFunctions;
use wasm_functions::Modules;

#[derive(Debug)]
pub struct FunctionHosts {
    /// Made when the first function of a module is called.
    pub modules: OnceLock<Modules>,
    /// The processes of functions in Python; `None` where there may be none.
    pub python: Option<Arc<PythonWorkers>>,
    /// Functions that came with plans of other nodes.
    pub of_plans: PlanFunctions,
}

impl FunctionHosts {
    pub fn new(options: &EngineOptions, partitions: usize) -> FunctionHosts {
        let workers =
            |interpreter: &PathBuf| PythonWorkers::new(PythonOptions::new(interpreter.clone(), &options.python_imports), partitions);
        let python = options.python.as_ref().map(|interpreter| Arc::new(workers(interpreter)));
        FunctionHosts { modules: OnceLock::new(), python, of_plans: PlanFunctions::default() }
    }
}
