//! One module with a memory of its own, which one call at a time uses.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow::array::{Array, ArrayData, ArrayRef, StructArray, make_array};
use arrow::datatypes::{DataType, Field, Fields};
use arrow::ffi::FFI_ArrowSchema;
use datafusion::execution::memory_pool::MemoryReservation;
use wasmtime::{InstancePre, Memory, ResourceLimiter, Store, UpdateDeadline, WasmParams, WasmResults};

use super::clock::EpochClock;
use super::error::WasmError;
use super::from_guest;
use super::guest_memory::GuestMemory;
use super::layout::{ALIGNMENT, ARRAY_BYTES, ARRAY_LENGTH};
use super::to_guest::{GuestWriter, size_bytes};
use common::user_functions::FunctionLimits;

/// What a function says of itself is cut here.
const MESSAGE_BYTES_MAX: usize = 4 << 10;
const TABLE_ELEMENTS_MAX: usize = 1 << 16;

/// Whether the call is to be stopped, asked every few milliseconds.
pub type StopCheck = Arc<dyn Fn() -> bool + Send + Sync>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stop {
    Cancelled,
    TimedOut,
}

pub struct CallState {
    limits: FunctionLimits,
    until: Instant,
    is_cancelled: Option<StopCheck>,
    stopped: Option<Stop>,
    has_grown_too_far: bool,
    /// Its memory counts as that of the statement.
    reservation: MemoryReservation,
}

impl ResourceLimiter for CallState {
    fn memory_growing(&mut self, _current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        let is_allowed = desired <= self.limits.memory_bytes && self.reservation.try_resize(desired).is_ok();
        self.has_grown_too_far |= !is_allowed;
        Ok(is_allowed)
    }

    fn table_growing(&mut self, _current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        Ok(desired <= TABLE_ELEMENTS_MAX)
    }
}

pub struct Instance {
    store: Store<CallState>,
    exports: wasmtime::Instance,
    memory: Memory,
    clock: Arc<EpochClock>,
}

impl Instance {
    pub(super) fn new(
        linked: &InstancePre<CallState>,
        clock: Arc<EpochClock>,
        limits: FunctionLimits,
        reservation: MemoryReservation,
    ) -> Result<Instance, WasmError> {
        let until = Instant::now() + Duration::from_millis(limits.time_ms);
        let state = CallState { limits, until, is_cancelled: None, stopped: None, has_grown_too_far: false, reservation };
        let mut store = Store::new(linked.module().engine(), state);
        store.limiter(|state| state);
        store.epoch_deadline_callback(|mut store| {
            let state = store.data_mut();
            if state.is_cancelled.as_ref().is_some_and(|is_cancelled| is_cancelled()) {
                state.stopped = Some(Stop::Cancelled);
            } else if Instant::now() >= state.until {
                state.stopped = Some(Stop::TimedOut);
            }
            Ok(if state.stopped.is_some() { UpdateDeadline::Interrupt } else { UpdateDeadline::Continue(1) })
        });
        store.set_epoch_deadline(1);
        let running = clock.begin();
        let exports = linked.instantiate(&mut store);
        drop(running);
        let exports = exports.map_err(|error| failure(&store, &error))?;
        let missing = |name: &str| WasmError::NoExport(format!("\"{name}\" of the right type"));
        let memory = exports.get_memory(&mut store, "memory").ok_or_else(|| missing("memory"))?;
        Ok(Instance { store, exports, memory, clock })
    }

    /// Before each call: its time runs from here.
    pub fn begin(&mut self, is_cancelled: StopCheck) {
        let state = self.store.data_mut();
        state.until = Instant::now() + Duration::from_millis(state.limits.time_ms);
        state.is_cancelled = Some(is_cancelled);
        self.store.set_epoch_deadline(1);
    }

    /// Calls an export while the clock runs.
    fn run<P: WasmParams, R: WasmResults>(&mut self, export: &str, parameters: P) -> Result<R, WasmError> {
        let function = self.exports.get_typed_func::<P, R>(&mut self.store, export);
        let function = function.map_err(|_| WasmError::NoExport(format!("\"{export}\" of the right type")))?;
        let clock = Arc::clone(&self.clock);
        let _running = clock.begin();
        function.call(&mut self.store, parameters).map_err(|error| failure(&self.store, &error))
    }

    /// The same for one that returns 0, or a text that says what is wrong.
    fn run_checked<P: WasmParams>(&mut self, export: &str, parameters: P) -> Result<(), WasmError> {
        let message: u32 = self.run(export, parameters)?;
        match message {
            0 => Ok(()),
            message => Err(WasmError::Failed(GuestMemory(self.memory.data(&self.store)).text(message, MESSAGE_BYTES_MAX)?)),
        }
    }

    fn reset(&mut self) -> Result<(), WasmError> {
        self.run("quiver_reset", ())
    }

    /// Memory until the next `reset`.
    fn alloc(&mut self, bytes: usize) -> Result<(u32, u32), WasmError> {
        let limit_bytes = self.store.data().limits.memory_bytes;
        let bytes = u32::try_from(bytes).map_err(|_| WasmError::OutOfMemory { limit_bytes })?;
        let start: u32 = self.run("quiver_alloc", bytes)?;
        if start == 0 { Err(WasmError::OutOfMemory { limit_bytes }) } else { Ok((start, bytes)) }
    }

    /// Calls a function with the rows of these columns, after `begin`; it returns as many values. After an error the instance must not be used again.
    pub fn call(
        &mut self,
        function: &str,
        fields: &Fields,
        columns: &[ArrayRef],
        rows: usize,
        returns: &DataType,
    ) -> Result<ArrayRef, WasmError> {
        self.reset()?;
        let arguments = StructArray::try_new_with_length(fields.clone(), columns.to_vec(), None, rows)?.into();
        let Written { schema, array, result, .. } = self.write(&arguments, &[])?;
        self.run_checked(function, (schema, array, result))?;
        self.result(result, rows, returns)
    }

    /// Calls a function of tables with a row of these columns, after `begin`. After an error the instance must not be used again.
    pub fn call_table(
        &mut self,
        function: &str,
        fields: &Fields,
        columns: &[ArrayRef],
        returns: &Fields,
    ) -> Result<StructArray, WasmError> {
        self.reset()?;
        let arguments = StructArray::try_new_with_length(fields.clone(), columns.to_vec(), None, 1)?.into();
        let Written { schema, array, result, .. } = self.write(&arguments, &[])?;
        self.run_checked(function, (schema, array, result))?;
        let memory = GuestMemory(self.memory.data(&self.store));
        let table = StructArray::from(from_guest::array(&memory, result, &DataType::Struct(returns.clone()))?);
        match table.null_count() {
            0 => Ok(table),
            _ => Err(WasmError::NoArray("rows of a table cannot be NULL".into())),
        }
    }

    fn result(&self, at: u32, rows: usize, returns: &DataType) -> Result<ArrayRef, WasmError> {
        let memory = GuestMemory(self.memory.data(&self.store));
        let found = memory.i64(at + ARRAY_LENGTH)?;
        if found != rows as i64 {
            return Err(WasmError::WrongLength { expected: rows, found });
        }
        Ok(make_array(from_guest::array(&memory, at, returns)?))
    }

    /// Writes arguments, an empty array for the result, and a piece of bytes.
    fn write(&mut self, arguments: &ArrayData, bytes: &[u8]) -> Result<Written, WasmError> {
        let schema = FFI_ArrowSchema::try_from(&Field::new("", arguments.data_type().clone(), false))?;
        let (start, len) = self.alloc(size_bytes(arguments)? + ARRAY_BYTES as usize + bytes.len() + 4 * ALIGNMENT as usize)?;
        let mut writer = GuestWriter::new(self.memory.data_mut(&mut self.store), start, len)?;
        let (schema, array) = (writer.schema(&schema)?, writer.array(arguments)?);
        Ok(Written { schema, array, result: writer.zeros(ARRAY_BYTES)?, bytes: writer.put(bytes, ALIGNMENT)? })
    }
}

/// The addresses of what was written.
struct Written {
    schema: u32,
    array: u32,
    result: u32,
    bytes: u32,
}

/// The states of an aggregate. Each method that calls the module comes after `begin`.
impl Instance {
    pub fn state_bytes(&mut self, symbol: &str) -> Result<u32, WasmError> {
        self.run(&format!("{symbol}_state_bytes"), ())
    }

    /// Where the states begin; room for so many bytes of them is made.
    fn reserve_states(&mut self, bytes: usize) -> Result<usize, WasmError> {
        let limit_bytes = self.store.data().limits.memory_bytes;
        let bytes = u32::try_from(bytes).map_err(|_| WasmError::OutOfMemory { limit_bytes })?;
        let start: u32 = self.run("quiver_states", bytes)?;
        GuestMemory(self.memory.data(&self.store)).bytes(start, bytes as usize)?;
        if start == 0 { Err(WasmError::OutOfMemory { limit_bytes }) } else { Ok(start as usize) }
    }

    /// New states are zeros.
    pub fn grow_states(&mut self, from_bytes: usize, to_bytes: usize) -> Result<(), WasmError> {
        let start = self.reserve_states(to_bytes)?;
        self.memory.data_mut(&mut self.store)[start + from_bytes..start + to_bytes].fill(0);
        Ok(())
    }

    pub fn update_states(&mut self, export: &str, fields: &Fields, columns: &[ArrayRef], groups: &[u32]) -> Result<(), WasmError> {
        self.reset()?;
        let arguments = StructArray::try_new_with_length(fields.clone(), columns.to_vec(), None, groups.len())?.into();
        let groups: Vec<u8> = groups.iter().flat_map(|group| group.to_le_bytes()).collect();
        let Written { schema, array, bytes, .. } = self.write(&arguments, &groups)?;
        let states: u32 = self.states_start()?;
        self.run_checked(export, (schema, array, bytes, states))
    }

    /// `from` are states, the first of which belongs to the first of the groups.
    pub fn merge_states(&mut self, export: &str, from: &[u8], groups: &[u32]) -> Result<(), WasmError> {
        self.reset()?;
        let (start, len) = self.alloc(from.len() + 4 * groups.len() + 2 * ALIGNMENT as usize)?;
        let mut writer = GuestWriter::new(self.memory.data_mut(&mut self.store), start, len)?;
        let from = writer.put(from, ALIGNMENT)?;
        let numbers: Vec<u8> = groups.iter().flat_map(|group| group.to_le_bytes()).collect();
        let numbers = writer.put(&numbers, ALIGNMENT)?;
        let states = self.states_start()?;
        self.run_checked(export, (from, numbers, groups.len() as u32, states))
    }

    pub fn finish_states(&mut self, export: &str, count: usize, returns: &DataType) -> Result<ArrayRef, WasmError> {
        self.reset()?;
        let (result, _) = self.alloc(ARRAY_BYTES as usize)?;
        GuestMemory(self.memory.data(&self.store)).bytes(result, ARRAY_BYTES as usize)?;
        self.memory.data_mut(&mut self.store)[result as usize..][..ARRAY_BYTES as usize].fill(0);
        let states = self.states_start()?;
        self.run_checked(export, (states, count as u32, result))?;
        self.result(result, count, returns)
    }

    /// The first bytes of the states.
    pub fn states(&mut self, bytes: usize) -> Result<Vec<u8>, WasmError> {
        let start = self.states_start()?;
        Ok(GuestMemory(self.memory.data(&self.store)).bytes(start, bytes)?.to_vec())
    }

    /// Removes the first `taken` of `all` bytes.
    pub fn drop_states(&mut self, taken: usize, all: usize) -> Result<(), WasmError> {
        let start = self.states_start()?;
        GuestMemory(self.memory.data(&self.store)).bytes(start, all)?;
        let start = start as usize;
        self.memory.data_mut(&mut self.store).copy_within(start + taken..start + all, start);
        Ok(())
    }

    fn states_start(&mut self) -> Result<u32, WasmError> {
        self.run("quiver_states_start", ())
    }
}

fn failure(store: &Store<CallState>, error: &wasmtime::Error) -> WasmError {
    let CallState { limits, stopped, has_grown_too_far, .. } = store.data();
    match stopped {
        Some(Stop::Cancelled) => WasmError::Cancelled,
        Some(Stop::TimedOut) => WasmError::TimedOut { limit_ms: limits.time_ms },
        // A module that gets no memory usually crashes.
        None if *has_grown_too_far => WasmError::OutOfMemory { limit_bytes: limits.memory_bytes },
        None => match error.downcast_ref::<wasmtime::Trap>() {
            Some(trap) => WasmError::Trap(trap.to_string()),
            None => WasmError::Trap(format!("{error:#}")),
        },
    }
}
