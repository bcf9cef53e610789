//! Modules, compiled once: in memory for the process, and as native code in a directory for the next one.

use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::execution::memory_pool::MemoryReservation;
use parking_lot::Mutex;
use sha2::{Digest, Sha256};
use wasmtime::{Config, Engine, Linker, Module};

use super::clock::EpochClock;
use super::error::WasmError;
use super::instance::{CallState, Instance};
use common::user_functions::FunctionLimits;

/// The stack of a call; threads of statements have more.
const STACK_BYTES: usize = 512 << 10;
/// Modules in memory.
const MODULES_MAX: usize = 64;
const CHECKSUM_BYTES: usize = 32;

/// SHA-256 of a module, in hexadecimal digits.
pub fn content_hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// All modules of a store.
pub struct Modules {
    engine: Engine,
    clock: Arc<EpochClock>,
    /// `None`: what is compiled is not kept.
    directory: Option<PathBuf>,
    compiled: Mutex<HashMap<String, Arc<CompiledModule>>>,
}

/// A module that can be called.
pub struct CompiledModule {
    pub hash: String,
    linked: wasmtime::InstancePre<CallState>,
    clock: Arc<EpochClock>,
}

impl fmt::Debug for Modules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Modules").field("directory", &self.directory).finish_non_exhaustive()
    }
}

impl Modules {
    /// `directory` is made when it is needed. Whoever may write there may run any code in this process, as with the store itself.
    pub fn new(directory: Option<PathBuf>) -> Result<Modules, WasmError> {
        let mut config = Config::new();
        config.epoch_interruption(true).max_wasm_stack(STACK_BYTES);
        let engine = Engine::new(&config).map_err(|error| WasmError::NoModule(format!("{error:#}")))?;
        let clock = Arc::new(EpochClock::of(&engine));
        Ok(Modules { engine, clock, directory, compiled: Mutex::default() })
    }

    /// The module of these bytes. Its code is kept for the next process if `is_kept`.
    pub fn module(&self, bytes: &[u8], is_kept: bool) -> Result<Arc<CompiledModule>, WasmError> {
        let hash = content_hash(bytes);
        if let Some(module) = self.compiled.lock().get(&hash) {
            return Ok(Arc::clone(module));
        }
        let module = match self.read(&hash) {
            Some(module) => module,
            None => {
                let module = Module::from_binary(&self.engine, bytes).map_err(|error| WasmError::NoModule(format!("{error:#}")))?;
                if let Some(import) = module.imports().next() {
                    let (module, name) = (import.module().to_string(), import.name().to_string());
                    return Err(WasmError::Import { module, name });
                }
                if is_kept {
                    self.write(&hash, &module);
                }
                module
            }
        };
        let linked = Linker::new(&self.engine).instantiate_pre(&module).map_err(|error| WasmError::NoModule(format!("{error:#}")))?;
        let module = Arc::new(CompiledModule { hash: hash.clone(), linked, clock: Arc::clone(&self.clock) });
        let mut compiled = self.compiled.lock();
        if compiled.len() >= MODULES_MAX {
            compiled.clear();
        }
        compiled.insert(hash, Arc::clone(&module));
        Ok(module)
    }

    /// Native code depends on wasmtime's version, its settings and the processor: wasmtime refuses code of another one.
    fn path(&self, hash: &str) -> Option<PathBuf> {
        Some(self.directory.as_ref()?.join(format!("{hash}.cwasm")))
    }

    /// `None` if it was not compiled before, or for another version.
    fn read(&self, hash: &str) -> Option<Module> {
        let file = fs::read(self.path(hash)?).ok()?;
        let (sum, code) = file.split_at_checked(CHECKSUM_BYTES)?;
        if sum != Sha256::digest(code).as_slice() {
            return None;
        }
        // SAFETY: the code was written by `write`, as the checksum shows, in a directory that only those may write to who may write to the
        // store, and so may run any code here. `code_of_a_damaged_file_is_not_run` has the check.
        unsafe { Module::deserialize(&self.engine, code) }.ok()
    }

    /// A failure costs a compilation later.
    fn write(&self, hash: &str, module: &Module) {
        let Some(path) = self.path(hash) else { return };
        let _ = module.serialize().map_err(drop).and_then(|code| write_file(&path, &code).map_err(drop));
    }
}

fn write_file(path: &Path, code: &[u8]) -> std::io::Result<()> {
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    let new = path.with_extension(format!("{}.new", std::process::id()));
    let mut file = Sha256::digest(code).to_vec();
    file.extend_from_slice(code);
    fs::write(&new, file).and_then(|()| fs::rename(&new, path)).inspect_err(|_| drop(fs::remove_file(&new)))
}

impl CompiledModule {
    pub fn instance(&self, limits: FunctionLimits, reservation: MemoryReservation) -> Result<Instance, WasmError> {
        Instance::new(&self.linked, Arc::clone(&self.clock), limits, reservation)
    }

    /// An error unless it exports what every module must, and this function.
    pub fn check(&self, function: &str) -> Result<(), WasmError> {
        let names: Vec<&str> = self.linked.module().exports().map(|export| export.name()).collect();
        let missing = ["memory", "quiver_alloc", "quiver_reset", function].into_iter().find(|name| !names.contains(name));
        missing.map_or(Ok(()), |name| Err(WasmError::NoExport(format!("\"{name}\""))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A module without anything in it.
    const EMPTY: &[u8] = b"\0asm\x01\0\0\0";

    #[test]
    fn code_of_a_damaged_file_is_not_run() {
        let directory = std::env::temp_dir().join(format!("quiver-test-modules-{}", std::process::id()));
        let modules = || Modules::new(Some(directory.clone())).unwrap();
        modules().module(EMPTY, true).unwrap();
        let hash = content_hash(EMPTY);
        let path = modules().path(&hash).unwrap();
        let whole = fs::read(&path).unwrap();
        assert!(modules().read(&hash).is_some());
        for at in [0, CHECKSUM_BYTES, whole.len() / 2, whole.len() - 1] {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            fs::write(&path, damaged).unwrap();
            assert!(modules().read(&hash).is_none(), "{at}");
        }
        fs::write(&path, &whole[..whole.len() - 1]).unwrap();
        assert!(modules().read(&hash).is_none());
        modules().module(EMPTY, true).unwrap();
        assert!(modules().read(&hash).is_some(), "it was compiled again");
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn what_is_no_module_is_an_error() {
        let modules = Modules::new(None).unwrap();
        for bytes in [&b""[..], b"text", &EMPTY[..7], b"(module)"] {
            assert!(matches!(modules.module(bytes, false), Err(WasmError::NoModule(_))), "{bytes:?}");
        }
        let empty = modules.module(EMPTY, false).unwrap();
        assert!(matches!(empty.check("f"), Err(WasmError::NoExport(_))));
    }
}
