//! An aggregate of a module as an aggregate of DataFusion.
//!
//! For a function `f` the module exports `f_state_bytes`, `f_update`, `f_merge` and `f_finish`. The states of all groups are records of the same size,
//! next to each other at the beginning of the module's memory, where they stay between calls; zeros are the state of no rows. Between partitions they
//! travel as bytes.

use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, FixedSizeBinaryArray, UInt32Array};
use arrow::compute::filter;
use arrow::datatypes::{DataType, Field, FieldRef, Fields};
use datafusion::common::{Result, ScalarValue};
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, UnboundedMemoryPool};
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};

use super::WasmError;
use super::instance::{Instance, StopCheck};
use super::module::CompiledModule;
use super::types::{guest_field, guest_type};
use common::memory::StatementMemory;
use common::user_functions::{AggregateKernel, FunctionLimits, UserAggregate, as_type};

/// A state is no place for the rows themselves.
const STATE_BYTES_MAX: u32 = 1 << 20;

/// It is made for one statement.
#[derive(Clone)]
pub struct WasmAggregate {
    name: String,
    /// What the names of the exports begin with.
    symbol: String,
    module: Arc<CompiledModule>,
    guest_parameters: Fields,
    returns: FieldRef,
    guest_returns: DataType,
    limits: FunctionLimits,
    state_bytes: u32,
    memory: Option<StatementMemory>,
}

/// # Errors
///
/// The module does not export the functions, or one of the types cannot be passed.
pub fn aggregate_function(
    name: &str,
    symbol: &str,
    module: Arc<CompiledModule>,
    parameters: &Fields,
    returns: FieldRef,
    limits: FunctionLimits,
    memory: Option<StatementMemory>,
) -> Result<UserAggregate, WasmError> {
    for step in ["state_bytes", "update", "merge", "finish"] {
        module.check(&format!("{symbol}_{step}"))?;
    }
    module.check("quiver_states")?;
    let guest_parameters: Fields = parameters.iter().map(guest_field).collect::<Result<_, WasmError>>()?;
    let guest_returns = guest_type(returns.data_type())?;
    let mut aggregate = WasmAggregate {
        name: name.to_string(),
        symbol: symbol.to_string(),
        module,
        guest_parameters,
        returns: Arc::clone(&returns),
        guest_returns,
        limits,
        state_bytes: 0,
        memory,
    };
    let state_bytes = aggregate.instance()?.state_bytes(symbol)?;
    if !(1..=STATE_BYTES_MAX).contains(&state_bytes) {
        return Err(WasmError::Failed(format!("{symbol}_state_bytes returns {state_bytes}, and a state has 1 to {STATE_BYTES_MAX} bytes")));
    }
    aggregate.state_bytes = state_bytes;
    Ok(UserAggregate::new(name, parameters, returns, Box::new(aggregate)))
}

impl WasmAggregate {
    fn instance(&self) -> Result<Instance, WasmError> {
        let pool = self
            .memory
            .as_ref()
            .map_or_else(|| Arc::new(UnboundedMemoryPool::default()) as Arc<dyn MemoryPool>, |memory| Arc::clone(memory.pool()));
        self.module.instance(self.limits, MemoryConsumer::new(format!("function {}", self.name)).register(&pool))
    }

    fn groups(&self) -> Result<Groups> {
        let instance = self.instance().map_err(|error| error.of(&self.name).into_datafusion())?;
        Ok(Groups { function: self.clone(), instance, count: 0 })
    }
}

/// The states of groups, in an instance of their own.
struct Groups {
    function: WasmAggregate,
    instance: Instance,
    count: usize,
}

impl Groups {
    fn failed(&self, error: WasmError) -> datafusion::common::DataFusionError {
        error.of(&self.function.name).into_datafusion()
    }

    fn stop_check(&self) -> StopCheck {
        let memory = self.function.memory.clone();
        Arc::new(move || memory.as_ref().is_some_and(StatementMemory::has_no_reader))
    }

    fn grow(&mut self, count: usize) -> Result<(), WasmError> {
        let bytes = self.function.state_bytes as usize;
        if count > self.count {
            self.instance.grow_states(self.count * bytes, count * bytes)?;
            self.count = count;
        }
        Ok(())
    }

    fn update(&mut self, values: &[ArrayRef], groups: &[u32], count: usize) -> Result<(), WasmError> {
        let stop = self.stop_check();
        self.instance.begin(stop);
        self.grow(count)?;
        let guest = &self.function.guest_parameters;
        let values = values.iter().zip(guest).map(|(column, field)| as_type(column, field.data_type())).collect::<Result<Vec<_>, _>>()?;
        let export = format!("{}_update", self.function.symbol);
        self.instance.update_states(&export, guest, &values, groups)
    }

    fn merge(&mut self, states: &FixedSizeBinaryArray, groups: &[u32], count: usize) -> Result<(), WasmError> {
        let stop = self.stop_check();
        self.instance.begin(stop);
        self.grow(count)?;
        let bytes = self.function.state_bytes as usize;
        if states.value_length() as usize != bytes || states.null_count() > 0 {
            return Err(WasmError::NoArray("a state has another size than the function says".into()));
        }
        let from = states.offset() * bytes..(states.offset() + states.len()) * bytes;
        self.instance.merge_states(&format!("{}_merge", self.function.symbol), &states.value_data()[from], groups)
    }

    fn taken(&mut self, emit: EmitTo) -> usize {
        match emit {
            EmitTo::All => self.count,
            EmitTo::First(count) => count.min(self.count),
        }
    }

    /// Removes the first states.
    fn forget(&mut self, taken: usize) -> Result<(), WasmError> {
        let bytes = self.function.state_bytes as usize;
        self.instance.drop_states(taken * bytes, self.count * bytes)?;
        self.count -= taken;
        Ok(())
    }

    fn states(&mut self, taken: usize) -> Result<ArrayRef, WasmError> {
        let bytes = self.function.state_bytes as usize;
        let states = self.instance.states(taken * bytes)?;
        Ok(Arc::new(FixedSizeBinaryArray::try_new(bytes as i32, states.into(), None)?))
    }

    fn results(&mut self, taken: usize) -> Result<ArrayRef, WasmError> {
        let stop = self.stop_check();
        self.instance.begin(stop);
        // A group without rows may be asked for before any row came.
        self.grow(taken)?;
        let export = format!("{}_finish", self.function.symbol);
        let results = self.instance.finish_states(&export, taken, &self.function.guest_returns)?;
        Ok(as_type(&results, self.function.returns.data_type())?)
    }
}

/// Rows and their groups, without those that a filter excludes.
fn filtered(values: &[ArrayRef], groups: &[usize], condition: Option<&BooleanArray>) -> Result<(Vec<ArrayRef>, Vec<u32>)> {
    let groups = groups.iter().map(|group| *group as u32);
    let Some(condition) = condition else { return Ok((values.to_vec(), groups.collect())) };
    let values = values.iter().map(|column| filter(column, condition)).collect::<Result<Vec<_>, _>>()?;
    let groups = filter(&UInt32Array::from_iter_values(groups), condition)?;
    Ok((values, groups.as_primitive::<arrow::datatypes::UInt32Type>().values().to_vec()))
}

impl GroupsAccumulator for Groups {
    fn update_batch(&mut self, values: &[ArrayRef], groups: &[usize], condition: Option<&BooleanArray>, count: usize) -> Result<()> {
        let (values, groups) = filtered(values, groups, condition)?;
        self.update(&values, &groups, count).map_err(|error| self.failed(error))
    }

    fn merge_batch(&mut self, values: &[ArrayRef], groups: &[usize], count: usize) -> Result<()> {
        let groups: Vec<u32> = groups.iter().map(|group| *group as u32).collect();
        self.merge(values[0].as_fixed_size_binary(), &groups, count).map_err(|error| self.failed(error))
    }

    /// Each row as a group of its own.
    fn convert_to_state(&self, values: &[ArrayRef], condition: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        let rows = values.first().map_or(0, |column| column.len());
        let mut each = self.function.groups()?;
        let (values, groups) = filtered(values, &(0..rows).collect::<Vec<_>>(), condition)?;
        let states = each.update(&values, &groups, rows).and_then(|()| each.states(rows));
        states.map(|states| vec![states]).map_err(|error| self.failed(error))
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        let taken = self.taken(emit);
        let states = self.states(taken).and_then(|states| self.forget(taken).map(|()| states));
        states.map(|states| vec![states]).map_err(|error| self.failed(error))
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let taken = self.taken(emit);
        let results = self.results(taken).and_then(|results| self.forget(taken).map(|()| results));
        results.map_err(|error| self.failed(error))
    }

    /// The memory of the module is reserved as it grows.
    fn size(&self) -> usize {
        size_of::<Groups>()
    }
}

/// All rows as one group.
struct OneGroup(Groups);

impl fmt::Debug for OneGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("OneGroup").field(&self.0.function.name).finish()
    }
}

impl Accumulator for OneGroup {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let rows = values.first().map_or(0, |column| column.len());
        self.0.update(values, &vec![0; rows], 1).map_err(|error| self.0.failed(error))
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let states = states[0].as_fixed_size_binary();
        self.0.merge(states, &vec![0; states.len()], 1).map_err(|error| self.0.failed(error))
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let states = self.0.grow(1).and_then(|()| self.0.states(1)).map_err(|error| self.0.failed(error))?;
        Ok(vec![ScalarValue::try_from_array(&states, 0)?])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let results = self.0.results(1).map_err(|error| self.0.failed(error))?;
        ScalarValue::try_from_array(&results, 0)
    }

    fn size(&self) -> usize {
        size_of::<OneGroup>()
    }
}

impl AggregateKernel for WasmAggregate {
    fn identity(&self) -> String {
        format!("{} {} {:?}", self.module.hash, self.symbol, self.limits)
    }

    fn state_fields(&self, name: &str) -> Vec<FieldRef> {
        vec![Arc::new(Field::new(format!("{name}[state]"), DataType::FixedSizeBinary(self.state_bytes as i32), true))]
    }

    fn accumulator(&self) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(OneGroup(self.groups()?)))
    }

    fn groups_accumulator(&self) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(self.groups()?))
    }
}
